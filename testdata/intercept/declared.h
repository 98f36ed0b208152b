/* Types that the library which reads headers leaves to others, or has no values of. */
typedef double twice __attribute__((vector_size(16)));
struct __attribute__((packed)) before { char c; int i; };
struct behind { char c; int i; } __attribute__((packed));
#pragma pack(push, 1)
struct pushed { char c; int i; };
#pragma pack(pop)
#pragma pack(2)
struct two { char c; int i; };
#pragma pack()
struct plain { char c; int i; };
struct __attribute__((packed)) unsaid { char c; int b : 7; int k; };
struct rooms { unsigned a : 3, b : 5; int : 0; int c : 7; int : 4; int d : 5; unsigned long e : 40; };
/* VALUE: complexes(k=6, z={re=1, im=2}, w={re=3, im=4}, y=5.5) = {re=1, im=2} */
double _Complex complexes(int k, double _Complex z, _Complex float w, double y);
/* VALUE: integers(z={re=3, im=4}, k=5) = {re=3, im=4} */
_Complex int integers(_Complex int z, int k);
/* VALUE: vectors(v={1,2}, y=4.5, k=6) = {1,2} */
twice vectors(twice v, double y, int k);
/* VALUE: packs(a={c='k', i=77}, b={c='l', i=78}, c={c='m', i=79}, d=&{c='n', i=80}, e=&{c='o', i=81}, k=7) = 7 */
int packs(struct before a, struct behind b, struct pushed c, struct two *d, struct plain *e, int k);
/* VALUE: holes(r=&{a=5, b=17, c=-9, d=-7, e=549755813888}, k=8) = 8 */
int holes(struct rooms *r, int k);
/* VALUE: unknown(a=1, b=?, k=?) = 9 */
int unknown(int a, struct unsaid b, int k);
/* VALUE: made(a=?) returned */
struct unsaid made(int a);
