/* A thread that is sent the next signal as soon as it has handled the last one
 * still gets its work done; each signal comes once, from who sent it. */
/* expect stdout: ok */
#include "check.h"
#ifndef TURNS
#define TURNS 3000000
#endif
static volatile int handled, bad, done;
static pthread_t worker;
static void h(int s, siginfo_t *i, void *uc) {
	(void)s, (void)uc;
	if (i->si_pid != getpid() || i->si_uid != getuid() || i->si_code != SI_TKILL || !pthread_equal(worker, pthread_self())) bad = 1;
	handled++;
}
static void *work(void *p) {
	uint64_t sum = 0;
	for (uint64_t i = 0; i < TURNS; i++) sum = sum * 31 + i;
	*(volatile uint64_t *)p = sum;
	done = 1;
	while (done == 1) sched_yield(); /* the last signal may still be on its way */
	return 0;
}
int main(void) {
	uint64_t r;
	int sent = 0;
	on(SIGURG, h, SA_RESTART);
	CHECK(pthread_create(&worker, 0, work, &r) == 0);
	while (!done) {
		CHECK(pthread_kill(worker, SIGURG) == 0);
		sent++;
		while (handled < sent) idle();
	}
	CHECK(handled == sent && !bad);
	done = 2;
	CHECK(pthread_join(worker, 0) == 0);
	return OK();
}
