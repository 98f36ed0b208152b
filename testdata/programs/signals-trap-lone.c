/* A SIGTRAP that is blocked with all other signals and pending, in a program that does nothing about it: it stays pending whatever functions are watched. */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
static volatile unsigned sum;
__attribute__((noinline)) static void work(unsigned n) { for (unsigned i = 0; i < n; i++) sum = sum * 5 + i; }
static int pending(void) {
	sigset_t p;
	CHECK(sigpending(&p) == 0);
	return sigismember(&p, SIGTRAP);
}
static void *other(void *u) {
	for (int i = 0; i < 20; i++) work(10);
	return u;
}
int main(void) {
	sigset_t m, all;
	siginfo_t i;
	sigemptyset(&m), sigaddset(&m, SIGTRAP), sigfillset(&all);
	work(1);
	CHECK(pthread_sigmask(SIG_BLOCK, &all, 0) == 0);
	for (int k = 0; k < 3; k++) {
		union sigval v = {.sival_int = 40 + k};
		work(2);
		CHECK(k == 1 ? sigqueue(getpid(), SIGTRAP, v) == 0 : k == 2 ? kill(getpid(), SIGTRAP) == 0 : raise(SIGTRAP) == 0);
		for (int n = 0; n < 20; n++) work(10);
		CHECK(pending());
		pthread_t t;
		CHECK(pthread_create(&t, 0, other, 0) == 0 && pthread_join(t, 0) == 0 && pending());
		CHECK(sigwaitinfo(&m, &i) == SIGTRAP && i.si_pid == getpid() && !pending());
		CHECK(k == 1 ? i.si_code == SI_QUEUE && i.si_value.sival_int == 41 : i.si_code == SI_USER); /* the C library tells raise so */
	}
	raise(SIGTRAP);
	CHECK(pending());
	signal(SIGTRAP, SIG_IGN); /* takes it away */
	CHECK(!pending());
	work(3);
	CHECK(pthread_sigmask(SIG_UNBLOCK, &all, 0) == 0);
	return OK();
}
