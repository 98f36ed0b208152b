/* expect stdout: 42
   Functions with other conventions, which clang states, one without a prototype, and one with an argument that is large. */
#include <stdio.h>

#define NOINLINE __attribute__((noinline, optnone))
struct large { char c[300000]; int last; };

NOINLINE __attribute__((vectorcall)) double vector(int a, double b) { return b; }
NOINLINE __attribute__((swiftcall)) int swift(int a, void *b) { return a; }
NOINLINE __attribute__((preserve_most)) void keeps(int a, long b) {}
NOINLINE int old(k, d, c) int k; float d; char c; { return k + (int)(d * 10) + c; }
NOINLINE int large(struct large b, int k) { return k; }

int main(void)
{
	static struct large l;
	vector(1, 2.5);
	swift(5, 0);
	keeps(1, 2);
	old(1, 2.5, -3);
	large(l, 4);
	puts("42");
	return 0;
}
