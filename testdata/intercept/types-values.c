/* expect stdout: 42
   Functions whose arguments and results the comments spell as alleria intercepts prints them, from debug
   information alone. */
#include <complex.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

enum color { RED, GREEN = 4, BLUE = 8 };
struct bits { int a : 3; unsigned b : 5, c : 12; signed long d : 40; unsigned char e; };
struct pair { long x; double y; };
struct floats { float x, y, z; };
struct big { long a[3]; const char *name; };
struct list { int value; struct list *next; };
union number { int i; float f; };
typedef int vec __attribute__((vector_size(16)));
typedef float wide __attribute__((vector_size(32)));
union part { wide all; float first; };
union mixed { wide all; int first; };

/* VALUE: integers(a=-1, b=200, c=-300, d=65535, e=-70000, f=4000000000, g=-5000000000, h=18446744073709551615) = -1 */
NOINLINE signed char integers(signed char a, unsigned char b, short c, unsigned short d, int e, unsigned f, long g, unsigned long h) { return a; }
/* VALUE: floats(a=1.5, b=-0.25, c=3.5, d='x', e=true) = 2.5 */
NOINLINE float floats(float a, double b, long double c, char d, _Bool e) { return 2.5f; }
/* VALUE: longdouble(a=0.1) = 0.2 */
NOINLINE double longdouble(double a) { return a * 2; }
/* VALUE: extended(i=3) = 1.125 */
NOINLINE long double extended(int i) { return i * 0.375L; }
/* VALUE: colors(one=GREEN, two=GREEN|BLUE, three=77) = BLUE */
NOINLINE enum color colors(enum color one, enum color two, enum color three) { return BLUE; }
/* VALUE: fields(b={a=-2, b=21, c=4000, d=-7, e=255}) = {a=3, b=1, c=2, d=100000000000, e=0} */
NOINLINE struct bits fields(struct bits b) { struct bits r = {3, 1, 2, 100000000000, 0}; return r; }
/* VALUE: pairs(i=9, p={x=-5, y=2.5}, f={x=1, y=2, z=3}) = {x=-4, y=5} */
NOINLINE struct pair pairs(int i, struct pair p, struct floats f) { struct pair r = {p.x + 1, p.y * 2}; return r; }
/* VALUE: bigs(b={a={1,2,3}, name="in"}, after=7) = {a={3,2,1}, name="out"} */
NOINLINE struct big bigs(struct big b, int after) { struct big r = {{b.a[2], b.a[1], b.a[0]}, "out"}; return r; }
/* VALUE: strings(a="say \"hi\"\n\001", b=NULL, c="") = "say \"hi\"\n\001" */
NOINLINE const char *strings(const char *a, const char *b, const char *c) { return a; }
/* VALUE: lists(l=&{value=1, next=&{value=2, next=NULL}}) = 3 */
NOINLINE int lists(const struct list *l) { return l->value + l->next->value; }
/* VALUE: unions(u={i=1069547520, f=1.5}) returned */
NOINLINE void unions(union number u) {}
/* VALUE: changes(n=&5, p=&{x=1, y=2}) = 0, n=&6, p=&{x=1, y=4} */
NOINLINE int changes(int *n, struct pair *p) { ++*n; p->y *= 2; return 0; }
/* VALUE: stack(a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=-8, i=9.5) = 36 */
NOINLINE int stack(int a, int b, int c, int d, int e, int f, int g, signed char h, double i) { return 36; }
/* VALUE: vectors(a={1,2,3,4}, b={1,2,3,4,5,6,7,8}) = {4,3,2,1} */
NOINLINE vec vectors(vec a, wide b) { return (vec){4, 3, 2, 1}; }
/* VALUE: parts(u={all={1,2,3,4,5,6,7,8}, first=1}, m={all={8,7,6,5,4,3,2,1}, first=1090519040}, w={2,2,2,2,2,2,2,2}) = {all={1,2,3,4,5,6,7,8}, first=1} */
NOINLINE union part parts(union part u, union mixed m, wide w) { return u; }
/* VALUE: whole(a=1, b=2, c=3, d=4, e=5, z={re=6, im=-7}, s={re=-8, im=9}, n=10) = {re=6, im=-7} */
NOINLINE _Complex long whole(int a, int b, int c, int d, int e, _Complex long z, _Complex short s, int n) { return z; }
/* VALUE: complexes(z={re=1, im=2}, w={re=0.5, im=-0.5}) = {re=2, im=4} */
NOINLINE double complex complexes(double complex z, float complex w) { return z * 2; }
/* VALUE: arrays(m=&{{1,2},{3,4}}) = 4 */
NOINLINE int arrays(const int (*m)[2][2]) { return (*m)[1][1]; }
/* VALUE: huge(x=0x00000000000000010000000000000002) = 0x00000000000000010000000000000003 */
NOINLINE __int128 huge(__int128 x) { return x + 1; }
/* VALUE: variadic(n=2) = 3 */
NOINLINE int variadic(int n, ...) {
	va_list l;
	va_start(l, n);
	int sum = 0;
	while (n--) sum += va_arg(l, int);
	va_end(l);
	return sum;
}

int main(void)
{
	integers(-1, 200, -300, 65535, -70000, 4000000000u, -5000000000l, -1ul);
	floats(1.5f, -0.25, 3.5L, 'x', 1);
	longdouble(0.1);
	extended(3);
	colors(GREEN, GREEN | BLUE, 77);
	fields((struct bits){-2, 21, 4000, -7, 255});
	pairs(9, (struct pair){-5, 2.5}, (struct floats){1, 2, 3});
	bigs((struct big){{1, 2, 3}, "in"}, 7);
	strings("say \"hi\"\n\001", 0, "");
	struct list two = {2, 0}, one = {1, &two};
	lists(&one);
	unions((union number){.f = 1.5f});
	int n = 5;
	struct pair p = {1, 2};
	changes(&n, &p);
	stack(1, 2, 3, 4, 5, 6, 7, -8, 9.5);
	vectors((vec){1, 2, 3, 4}, (wide){1, 2, 3, 4, 5, 6, 7, 8});
	wide up = {1, 2, 3, 4, 5, 6, 7, 8}, down = {8, 7, 6, 5, 4, 3, 2, 1};
	parts((union part){up}, (union mixed){down}, (wide){2, 2, 2, 2, 2, 2, 2, 2});
	_Complex long z;
	_Complex short s;
	__real__ z = 6, __imag__ z = -7;
	__real__ s = -8, __imag__ s = 9;
	whole(1, 2, 3, 4, 5, z, s, 10);
	complexes(1 + 2 * I, 0.5f - 0.5f * I);
	int m[2][2] = {{1, 2}, {3, 4}};
	arrays(&m);
	huge(((__int128)1 << 64) + 2);
	variadic(2, 1, 2);
	puts("42");
	return 0;
}
