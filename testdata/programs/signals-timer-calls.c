/* A timer fires as soon as its handler has returned, while the thread makes calls one after the other. The handler switches it off, at last. */
/* expect stdout: ok */
#include "check.h"
#include <sys/prctl.h>
#include <time.h>
static volatile int handled, done;
static timer_t timer;
static void h(int s, siginfo_t *i, void *uc) {
	static const struct itimerspec off;
	(void)s, (void)i, (void)uc;
	if (++handled < 200) return;
	done = 1;
	timer_settime(timer, 0, &off, 0);
}
int main(void) {
	struct sigevent e = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	struct itimerspec often = { { 0, 1000 }, { 0, 1000 } };
	struct timespec little = { 0, 10000000 };
	on(SIGRTMIN, h, 0);
	CHECK(timer_create(CLOCK_MONOTONIC, &e, &timer) == 0);
	CHECK(timer_settime(timer, 0, &often, 0) == 0);
	while (!done) {
		nanosleep(&little, 0);
		CHECK(prctl(PR_SET_NAME, "often") == 0);
	}
	CHECK(timer_delete(timer) == 0);
	return OK();
}
