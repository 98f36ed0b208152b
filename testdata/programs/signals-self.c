/* Signals to oneself and between threads, with what comes along. */
/* expect stdout: ok */
#include "check.h"
static volatile sig_atomic_t n, bad;
static volatile pid_t sender;
static void h(int s, siginfo_t *i, void *uc) {
	if (s != SIGUSR1 || i->si_signo != SIGUSR1 || i->si_pid != getpid() || i->si_uid != getuid()) bad = 1;
	if (rip(uc) >> 47) bad = 2; /* no address that a program could have */
	n++;
}
static volatile int value;
static void q(int s, siginfo_t *i, void *uc) { (void)s, (void)uc; value = i->si_value.sival_int; CHECK(i->si_code == SI_QUEUE); }
static volatile int stop;
static void *spin(void *p) { while (!stop) idle(); return p; }
int main(void) {
	on(SIGUSR1, h, 0);
	on(SIGRTMIN + 1, q, 0);
	for (int i = 0; i < 200; i++) {
		CHECK(kill(getpid(), SIGUSR1) == 0);
		CHECK(n == 2 * i + 1);
		CHECK(raise(SIGUSR1) == 0);
		CHECK(n == 2 * i + 2 && !bad);
	}
	union sigval v = {.sival_int = 4711};
	CHECK(sigqueue(getpid(), SIGRTMIN + 1, v) == 0 && value == 4711);
	pthread_t t;
	pthread_create(&t, 0, spin, 0);
	int before = n;
	for (int i = 0; i < 100; i++) {
		int was = n;
		CHECK(pthread_kill(t, SIGUSR1) == 0);
		while (n == was) idle();
	}
	CHECK(n == before + 100 && !bad);
	stop = 1;
	CHECK(pthread_join(t, 0) == 0);
	return OK();
}
