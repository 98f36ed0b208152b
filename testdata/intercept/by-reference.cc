/* expect stdout: 42
   Classes of C++ that are passed and returned by value: those that cannot be copied byte for byte travel by the address of a copy, others in registers or on the stack. Which
   is which GCC's debug information does not state. The comments spell calls as alleria intercepts prints them. */
#include <cstdio>

#define NOINLINE __attribute__((noinline, noclone, noipa))

struct destroyed { int a; destroyed(int x) : a(x) {} destroyed(const destroyed &) = default; ~destroyed() {} };
struct copied { int a, b; copied(int x) : a(x), b(x + 1) {} copied(const copied &o) : a(o.a), b(o.b) {} };
struct moved { int a; moved(int x) : a(x) {} moved(moved &&o) : a(o.a) { o.a = -1; } };
struct copied_twice { int a; copied_twice(int x) : a(x) {} copied_twice(const copied_twice &) = default; copied_twice(copied_twice &o) : a(o.a) {} };
struct later { int a; later(int x) : a(x) {} later(const later &); };
later::later(const later &) = default; /* not where the class is: somebody has provided it */
struct virtual_one { int a; virtual int get() { return a; } };
struct base { int a; };
struct virtual_base : virtual base { int b; };
struct member { int z; copied c; };
struct derived : copied { char d; derived(int x) : copied(x), d('d') {} };
struct many { moved m[2]; };
template <class T> struct holds { T t; int after; holds(T x, int n) : t(x), after(n) {} ~holds() {} };
union choice { int i; copied c; choice(int x) { __builtin_memset((void *)this, 0, sizeof *this), i = x; } choice(const choice &o) { __builtin_memcpy((void *)this, &o, sizeof o); } ~choice() {} };
struct never { int a; never(int x) : a(x) {} never(const never &) = delete; }; /* results alone: it is made where it is wanted */
struct owner { int *p; owner(int *x) : p(x) {} owner(owner &&o) : p(o.p) { o.p = nullptr; } owner(const owner &) = delete; ~owner() { p = nullptr; } };

struct plain { int a, b; plain() = default; plain(int x, int y) : a(x), b(y) {} int get() const { return a; } };
struct defaulted { int a; defaulted(int x) : a(x) {} defaulted(const defaulted &) = delete; defaulted(defaulted &&) = default; ~defaulted() = default; };
struct assigned { int a; assigned &operator=(const assigned &o) { a = o.a; return *this; } };
struct converting { int a; converting(int x) : a(x) {} template <class U> converting(const U &u) : a(u.a) {} };
struct two_of { int a; two_of(int x) : a(x) {} two_of(const two_of &o, int n) : a(o.a + n) {} };
struct from_base : base { int b; };
struct counted { static copied one; int a; };
copied counted::one(1);

/* VALUE: f1(d={a=3}, k=1) = {a=4} */
NOINLINE destroyed f1(destroyed d, int k) { d.a += k; return d; }
/* VALUE: f2(c={a=4, b=5}, k=2) = {a=6, b=5} */
NOINLINE copied f2(copied c, int k) { c.a += k; return c; }
/* VALUE: f3(m={a=5}, k=3) = {a=8} */
NOINLINE moved f3(moved m, int k) { return moved(m.a + k); }
/* VALUE: f4(v={a=6}, k=4) = {a=10} */
NOINLINE copied_twice f4(copied_twice v, int k) { v.a += k; return v; }
/* VALUE: f5(l={a=7}, k=5) = {a=12} */
NOINLINE later f5(later l, int k) { l.a += k; return l; }
/* VALUE: f6(v={a=8}, k=6) = 14 */
NOINLINE int f6(virtual_one v, int k) { return v.get() + k; }
/* VALUE: f7(v={b=9}, k=7) = 16 */
NOINLINE int f7(virtual_base v, int k) { return v.b + k; }
/* VALUE: f8(m={z=1, c={a=2, b=3}}, k=8) = {z=9, c={a=2, b=3}} */
NOINLINE member f8(member m, int k) { m.z += k; return m; }
/* VALUE: f9(d={a=3, b=4, d='d'}, k=9) = {a=12, b=4, d='d'} */
NOINLINE derived f9(derived d, int k) { d.a += k; return d; }
/* VALUE: f10(m={m={{a=1},{a=2}}}, k=10) = 12 */
NOINLINE int f10(many m, int k) { return m.m[1].a + k; }
/* VALUE: f11(h={t=1.5, after=2}, k=11) = 13 */
NOINLINE int f11(holds<double> h, int k) { return h.after + k; }
/* VALUE: f12(c={i=5, c={a=5, b=0}}, k=12) = 17 */
NOINLINE int f12(choice c, int k) { return c.i + k; }
/* VALUE: f13(k=13) = {a=13} */
NOINLINE never f13(int k) { return never(k); }
/* VALUE: f14(o={p=&21}, k=14) = 35 */
NOINLINE int f14(owner o, int k) { return *o.p + k; }
/* VALUE: f15(p={a=1, b=2}, k=15) = {a=16, b=2} */
NOINLINE plain f15(plain p, int k) { p.a = p.get() + k; return p; }
/* VALUE: f16(d={a=2}, k=16) = {a=18} */
NOINLINE defaulted f16(defaulted d, int k) { return defaulted(d.a + k); }
/* VALUE: f17(a={a=3}, k=17) = {a=20} */
NOINLINE assigned f17(assigned a, int k) { a.a += k; return a; }
/* VALUE: f18(c={a=4}, k=18) = {a=22} */
NOINLINE converting f18(converting c, int k) { c.a += k; return c; }
/* VALUE: f19(t={a=5}, k=19) = {a=24} */
NOINLINE two_of f19(two_of t, int k) { t.a += k; return t; }
/* VALUE: f20(f={a=6, b=7}, k=20) = {a=26, b=7} */
NOINLINE from_base f20(from_base f, int k) { f.a += k; return f; }
/* VALUE: f21(c={a=7}, k=21) = {a=28} */
NOINLINE counted f21(counted c, int k) { c.a += k; return c; }
/* VALUE: f22(x={a=1}, a=2, b=3, c=4, d=5, e=6, y={a=7}, f=8) = 16 */
NOINLINE int f22(destroyed x, int a, int b, int c, int d, int e, destroyed y, int f) { return x.a + y.a + f; }

int main()
{
	f1(destroyed(3), 1), f2(copied(4), 2), f3(moved(5), 3), f4(copied_twice(6), 4), f5(later(7), 5);
	virtual_one v;
	v.a = 8;
	f6(v, 6);
	virtual_base vb;
	vb.b = 9;
	f7(vb, 7);
	f8({1, copied(2)}, 8), f9(derived(3), 9), f10({{moved(1), moved(2)}}, 10), f11({1.5, 2}, 11);
	choice c(5);
	c.c.b = 0;
	f12(c, 12), f13(13);
	int n = 21;
	f14(owner(&n), 14), f15(plain(1, 2), 15), f16(defaulted(2), 16), f17({3}, 17), f18(converting(4), 18), f19(two_of(5), 19);
	from_base fb;
	fb.a = 6, fb.b = 7;
	f20(fb, 20);
	f21({7}, 21);
	f22(destroyed(1), 2, 3, 4, 5, 6, destroyed(7), 8);
	puts("42");
}
