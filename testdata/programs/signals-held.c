/* A function that is called while signals come, in a program that handles SIGTRAP itself: at each hit of a breakpoint of ours the tracer looks
 * after that, and what arrives meanwhile is delivered to the function's first instruction, not executed yet, with all that it comes with. */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
#include <time.h>
static volatile int ticks, traps, wrong;
long work(long n);
__asm__("	.globl work\n	.type work, @function\n"
	"work:	push %rdi\n	pop %rax\n	add $1, %rax\n	ret\n	.size work, .-work\n");
static void tick(int s, siginfo_t *i, void *u) {
	if (i->si_code != SI_TIMER || i->si_value.sival_ptr != &ticks) wrong++;
	ticks++;
}
static void trap(int s) { traps++; }
int main(void) {
	signal(SIGTRAP, trap);
	on(SIGUSR1, tick, SA_RESTART);
	struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_ptr = (void *)&ticks};
	timer_t t;
	struct itimerspec often = {{0, 300000}, {0, 300000}}, never = {{0, 0}, {0, 0}};
	CHECK(timer_create(CLOCK_MONOTONIC, &e, &t) == 0 && timer_settime(t, 0, &often, 0) == 0);
	for (long i = 0; i < 300; i++) CHECK(work(i) == i + 1);
	CHECK(timer_settime(t, 0, &never, 0) == 0 && !traps && !wrong);
	return OK();
}
