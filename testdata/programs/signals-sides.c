/* A timer interrupts code that is executed for the first time, most often while its translation
 * is being made: ways that branches take for the first time among them. The same functions twice,
 * before the timer runs and under it: they must give the same, and execute as many instructions. */
/* expect stdout: ok */
#include "check.h"
static void h(int s, siginfo_t *i, void *uc) {
	(void)s, (void)i;
	CHECK(rip(uc) != 0);
}

/* Each bit of x is a way that is taken or not. */
#define WAY(k) \
	if (x >> (k) & 1) { \
		y = y * 3 + (k); \
		*p = y; \
	}
#define FUNCTION(name) \
	__attribute__((noipa)) static uint64_t name(uint64_t x, volatile uint64_t *p) { \
		uint64_t y = x; \
		WAY(0) WAY(1) WAY(2) WAY(3) WAY(4) WAY(5) WAY(6) WAY(7) \
		return y; \
	}
#define TEN(f, n) f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7) f(n##8) f(n##9)
#define HUNDRED(f, n) TEN(f, n##0) TEN(f, n##1) TEN(f, n##2) TEN(f, n##3) TEN(f, n##4) TEN(f, n##5) TEN(f, n##6) TEN(f, n##7) TEN(f, n##8) TEN(f, n##9)
#define ALL(f, n) HUNDRED(f, n##0) HUNDRED(f, n##1) HUNDRED(f, n##2)
ALL(FUNCTION, calm)
ALL(FUNCTION, storm)
#define NAME(n) n,
typedef uint64_t function(uint64_t, volatile uint64_t *);
static function *const calm[] = {ALL(NAME, calm)}, *const storm[] = {ALL(NAME, storm)};
enum { N = sizeof calm / sizeof *calm };

/* Few bits are set at first, so that each call takes ways that none before has. */
static uint64_t bits(int i, int round) { return (uint64_t)(i * 2654435761u >> 7) & ((2u << round) - 1); }

int main(void) {
	static uint64_t want[N][8];
	volatile uint64_t sink;
	for (int r = 0; r < 8; r++)
		for (int i = 0; i < N; i++) want[i][r] = calm[i](bits(i, r), &sink);
	on(SIGALRM, h, SA_RESTART);
	for (int r = 0; r < 8; r++)
		for (int i = 0; i < N; i++) {
			/* One at a time, so that a slow tracer is not asked for nothing but signals. */
			struct itimerval it = {{0, 0}, {0, 1 + i * 7 % 60}};
			if (i % 8 == r) CHECK(setitimer(ITIMER_REAL, &it, 0) == 0);
			CHECK(storm[i](bits(i, r), &sink) == want[i][r]);
		}
	return OK();
}
