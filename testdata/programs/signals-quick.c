/* Real-time signals that a timer sends every 300 µs: the program gets on between them, and each finds its handler. */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
#ifndef PERIOD
#define PERIOD 300000
#endif
static volatile int hits;
static void tick(int sig, siginfo_t *si, void *uc) {
	CHECK(si->si_code == SI_TIMER && si->si_value.sival_int == 42);
	hits++;
}
__attribute__((noinline)) int work(int n) { return n + 1; }
int main(void) {
	on(SIGRTMIN + 3, tick, SA_RESTART);
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3, .sigev_value.sival_int = 42};
	timer_t id;
	CHECK(timer_create(CLOCK_MONOTONIC, &ev, &id) == 0);
	struct itimerspec every = {{0, PERIOD}, {0, PERIOD}};
	CHECK(timer_settime(id, 0, &every, 0) == 0);
	int rounds = 0;
	for (int before = 0; before < 100;) { /* it gets on: some work between two signals */
		for (int k = 0; k < 20; k++) CHECK(work(k) == k + 1);
		if (hits > before) before = hits;
		rounds++;
	}
	CHECK(timer_delete(id) == 0 && rounds > 0);
	return OK();
}
