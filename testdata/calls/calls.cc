// Calls of every kind, in numbers that are known: recursion, pointers, tail calls, exceptions
// through frames with destructors, longjmp, and a signal handler on another stack.
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#define NOINLINE extern "C" __attribute__((noinline, noclone))
static volatile int n;
static jmp_buf env;
NOINLINE int leaf(int x) { return x + n; }
NOINLINE int tail(int x) { n++; return leaf(x); }
NOINLINE int even(int x);
NOINLINE int odd(int x) { n++; return x == 0 ? 0 : even(x - 1); }
NOINLINE int even(int x) { n++; return x == 0 ? 1 : odd(x - 1); }
NOINLINE int fib(int x) { return x < 2 ? x : fib(x - 1) + fib(x - 2); }
NOINLINE void thrower(int d) {
	struct D { ~D() { n++; } } local;
	if (d == 0)
		throw 1;
	thrower(d - 1);
	n++;
}
NOINLINE int catcher(int d) {
	try {
		thrower(d);
	} catch (int v) {
		return leaf(v);
	}
	return 0;
}
NOINLINE void jumper(int d) {
	if (d == 0)
		longjmp(env, 1);
	jumper(d - 1);
	n++;
}
NOINLINE int lander(int d) {
	if (setjmp(env) == 0)
		jumper(d);
	return leaf(d);
}
NOINLINE void handler(int) { leaf(1); n++; }
NOINLINE int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
NOINLINE int through(int (*f)(int), int x) { return f(x) + 1; }
int main() {
	static char stack[32768];
	stack_t ss = {};
	ss.ss_sp = stack, ss.ss_size = sizeof stack;
	sigaltstack(&ss, nullptr);
	struct sigaction sa = {};
	sa.sa_handler = handler, sa.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &sa, nullptr);
	int a[64];
	for (int i = 0; i < 64; i++)
		a[i] = i * 37 % 64;
	for (int i = 0; i < 10; i++) {
		tail(i), even(i), fib(8), catcher(i), lander(i), through(leaf, i), through(tail, i);
		raise(SIGUSR1);
	}
	qsort(a, 64, sizeof a[0], compare);
	return n == 0;
}
