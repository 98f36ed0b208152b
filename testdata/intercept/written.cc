/* expect stdout: 42
   Functions whose parameters a configuration has words for, and such that it has none for, between them. The comments spell what is captured with what alleria new writes. */
#include <complex.h>
#include <cstdio>
#include <string>

#define NOINLINE __attribute__((noinline, noclone, noipa))

union both { int i; float f; };
union longer { long double l; int i; };
struct bits { int a : 3; unsigned b : 5; float c; };
struct __attribute__((packed)) packed { char a; int b; double c; };
struct holds { int i; union { int j; float f; }; };
struct empty {};
struct pair { long x; double y; };
struct sees { int a; unsigned b : 3; union both u; struct packed *p; };
typedef int vec __attribute__((vector_size(16)));

extern "C" {
/* VALUE: unions(a=1, last=4) = 4 */
NOINLINE int unions(int a, union both b, union longer c, int last) { return last; }
/* VALUE: records(p={x=1, y=2.5}, last=5) = 5 */
NOINLINE int records(struct bits b, struct packed k, struct holds h, struct pair p, int last) { return last; }
/* VALUE: numbers(d=1.5, last=6) = 6 */
NOINLINE int numbers(__int128 a, vec v, __float128 q, double d, int last) { return last; }
/* VALUE: classes(last=7) = 7 */
NOINLINE int classes(std::string s, struct empty e, int last) { return last; }
/* VALUE: returns(last=8) returned */
NOINLINE union longer returns(int last) { union longer l; l.l = last; return l; }
/* VALUE: pointers(s=&{a=1, p=&{a='k', b=-7}}, u=0xabc, last=9) = 9 */
NOINLINE int pointers(const struct sees *s, const union both *u, int last) { return last; }
}

int main()
{
	struct packed k = {'k', -7, 2.5};
	struct sees s = {1, 2, {3}, &k};
	unions(1, {2}, {3}, 4);
	records({1, 2, 3.5f}, k, {3, {4}}, {1, 2.5}, 5);
	numbers(-1, (vec){1, 2, 3, 4}, 2.5, 1.5, 6);
	classes("text", {}, 7);
	returns(8);
	pointers(&s, (union both *)0xabc, 9);
	puts("42");
}
