/* expect stdout: 42
   Functions of C++ whose arguments and results the comments spell as alleria intercepts prints them, from debug
   information alone. */
#include <cstdio>

#define NOINLINE __attribute__((noinline, noclone, noipa))

struct left { int a; short b; };
struct right { double c; };
struct nothing {};
struct both : left, nothing, right { char d; };
struct deeper : both { static int shared; int e; };
struct trait { virtual ~trait() {} };
struct shape : trait { int sides; shape() : sides(6) {} };
struct refers { int &to; const int *from; };
struct alignas(32) wide { long w; };
struct holder { char c; wide w; };
struct __attribute__((packed)) tight { char c; int i; both b; };

/* VALUE: bases(b={a=1, b=-2, c=2.5, d='d'}) = {c=4.5} */
NOINLINE right bases(both b) { return {b.c + 2}; }
/* VALUE: below(p=&{a=3, b=4, c=5.5, d='e', e=6}, after=7) = 13 */
NOINLINE int below(const deeper *p, int after) { return p->e + after; }
/* VALUE: virtuals(s=&{sides=6}) = 6 */
NOINLINE int virtuals(const shape *s) { return s->sides; }
typedef short left::*datum;
typedef int (shape::*method)();
/* VALUE: members(data=4, m={ptr=NULL, adj=0}, after=9) = 4 */
NOINLINE datum members(datum data, method m, int after) { (void)m, (void)after; return data; }
/* VALUE: refer(r={to=&8, from=&9}) = 17 */
NOINLINE int refer(const refers r) { return r.to + *r.from; }
/* VALUE: aligned(n=1, w={w=2}, after=3, h={c='h', w={w=4}}, last={w=5}) = 15 */
NOINLINE int aligned(int n, wide w, int after, holder h, wide last) { return n + w.w + after + h.w.w + last.w; }
/* VALUE: packed(t={c='t', i=-1, b={a=1, b=2, c=3, d='4'}}, n=5) = 4 */
NOINLINE int packed(tight t, int n) { return n + t.i; }

int deeper::shared = 1;

struct alignas(128) vacant { nothing in[2]; };
/* What has nothing in it is not passed. */
/* VALUE: empties(a=0, b=1, c=2, d=3, e=4, f=5, g=6, v=?, n=?, h=7, i=8) = 36 */
NOINLINE int empties(int a, int b, int c, int d, int e, int f, int g, vacant v, nothing n, int h, int i) { return 36; }

int main()
{
	both b;
	b.a = 1, b.b = -2, b.c = 2.5, b.d = 'd';
	bases(b);
	deeper d;
	d.a = 3, d.b = 4, d.c = 5.5, d.d = 'e', d.e = 6;
	below(&d, 7);
	shape s;
	virtuals(&s);
	members(&left::b, nullptr, 9);
	int to = 8, from = 9;
	refer({to, &from});
	wide two = {2}, four = {4}, five = {5};
	aligned(1, two, 3, {'h', four}, five);
	tight t = {'t', -1, {}};
	t.b.a = 1, t.b.b = 2, t.b.c = 3, t.b.d = '4';
	packed(t, 5);
	empties(0, 1, 2, 3, 4, 5, 6, vacant(), nothing(), 7, 8);
	puts("42");
}
