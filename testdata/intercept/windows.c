/* Functions with the Windows convention, which clang states in its debug information. What each call looks like stands in front of it. */
#include <stdio.h>

#define WINDOWS __attribute__((ms_abi, noinline, optnone))
typedef float four __attribute__((vector_size(16)));
struct pair { int a, b; };
struct three { char c[3]; };
struct large { long a, b, c; };
struct one { double d; };

/* VALUE: mixed(a=1, b=2.5, c=-3, d="d", e=5, f=6.5, g=7, h=8.5) = 29 */
WINDOWS long mixed(long a, double b, int c, const char *d, long e, double f, short g, float h) { return a + (long)b + c + (d[0] == 'd') + e + (long)f + g + (long)h + 2; }
/* VALUE: records(p={a=1, b=2}, t={c="abc"}, l={a=3, b=4, c=5}, o={d=1.5}, s={c="xyz"}) = 18 */
WINDOWS int records(struct pair p, struct three t, struct large l, struct one o, struct three s) { return p.a + p.b + (t.c[2] == 'c') + l.a + l.b + l.c + (int)o.d + (s.c[0] == 'x'); }
/* VALUE: half(x=5) = 2.5 */
WINDOWS double half(double x) { return x / 2; }
/* VALUE: twice(n=3, l={a=1, b=2, c=3}) = {a=2, b=4, c=6} */
WINDOWS struct large twice(int n, struct large l) { return (struct large){2 * l.a, 2 * l.b, 2 * l.c}; }
/* VALUE: swap(p={a=8, b=9}) = {a=9, b=8} */
WINDOWS struct pair swap(struct pair p) { return (struct pair){p.b, p.a}; }
/* VALUE: vector(n=1, v={1,2,3,4}) = {2,3,4,5} */
WINDOWS four vector(int n, four v) { return v + (float)n; }
/* VALUE: extended(n=1, x=1.25) = 2.25 */
WINDOWS long double extended(int n, long double x) { return x + n; }
/* VALUE: ordinary(a=1, b=2) = 3 */
__attribute__((noinline, optnone)) long ordinary(long a, int b) { return a + b; }

int main(void)
{
	long n = mixed(1, 2.5, -3, "d", 5, 6.5, 7, 8.5f);
	n += records((struct pair){1, 2}, (struct three){"abc"}, (struct large){3, 4, 5}, (struct one){1.5}, (struct three){"xyz"});
	n += (long)half(5) + twice(3, (struct large){1, 2, 3}).c + swap((struct pair){8, 9}).a;
	n += (long)vector(1, (four){1, 2, 3, 4})[3] + (long)extended(1, 1.25L) + ordinary(1, 2);
	printf("%ld\n", n - 32);
	return 0;
}
