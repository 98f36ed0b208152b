/* A handler for SIGTRAP that is installed, and the signal blocked, while the program runs in the code cache, where its calls are not heard of. Natively the next breakpoint would
 * lose it: the program waits until it runs natively. */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
static volatile int got;
static volatile unsigned sum;
static void h(int s, siginfo_t *i, void *u) { got++; }
static void take(int how) {
	sigset_t m;
	sigemptyset(&m), sigaddset(&m, SIGTRAP);
	if (how == SIG_BLOCK) on(SIGTRAP, h, SA_NODEFER);
	CHECK(pthread_sigmask(how, &m, 0) == 0);
}
__attribute__((noinline)) static void work(int n) {
	for (unsigned i = 0; i < 100; i++) sum = sum * 5 + i;
	if (n == 1) take(SIG_BLOCK);
}
int main(void) {
	struct sigaction a;
	sigset_t m;
	for (int n = 1; n < 5; n++) { work(n); if (n == 1) for (int k = 0; k < 20; k++) usleep(100000); }
	CHECK(sigaction(SIGTRAP, 0, &a) == 0 && a.sa_sigaction == h && (a.sa_flags & ~0x4000000) == (SA_SIGINFO | SA_NODEFER));
	CHECK(pthread_sigmask(SIG_SETMASK, 0, &m) == 0 && sigismember(&m, SIGTRAP));
	raise(SIGTRAP);
	work(5);
	CHECK(got == 0);
	take(SIG_UNBLOCK);
	CHECK(got == 1);
	return OK();
}
