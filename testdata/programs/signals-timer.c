/* A timer at 1 kHz interrupts a computation anywhere: its result is exact, the
 * handler only ever sees addresses of the program or its libraries, and
 * registers of every kind survive. */
/* expect stdout: ok */
#include "check.h"
static volatile sig_atomic_t ticks, inside, outside;
static void h(int s, siginfo_t *i, void *uc) {
	(void)s;
	if (i->si_code != SI_KERNEL && i->si_code != SI_TIMER) outside += 1000;
	if (own(rip(uc))) inside++;
	else outside++;
	ticks++;
	volatile double x = ticks;
	x = x / 3 + 1;
}
__attribute__((noipa)) static uint64_t work(uint64_t n) {
	uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7;
	double x = 1;
	for (uint64_t i = 0; i < n; i++) {
		a = a * 6364136223846793005 + b; b ^= c >> 3; c += d * 3; d = (d << 7 | d >> 57) + e; e -= f; f ^= g + i; g += a;
		x = x * 1.0000001 + (double)(i & 3);
		if (x > 1e6) x -= 1e6;
	}
	return a ^ b ^ c ^ d ^ e ^ f ^ g ^ (uint64_t)x;
}
int main(void) {
	uint64_t want = work(100000);
	on(SIGALRM, h, SA_RESTART);
	struct itimerval it = {{0, 1000}, {0, 1000}};
	CHECK(setitimer(ITIMER_REAL, &it, 0) == 0);
	for (int i = 0; i < 2000 && ticks < 100; i++) CHECK(work(100000) == want);
	memset(&it, 0, sizeof it);
	CHECK(setitimer(ITIMER_REAL, &it, 0) == 0);
	CHECK(ticks > 10 && inside > outside);
	return OK();
}
