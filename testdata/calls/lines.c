// work is called 5 times; clamp is inlined into scale, and scale into work. Line 15 is executed 5 times and line 13 never, nor is line 27.
// The exit status is 0.
#include <stdlib.h>

static volatile int sum;

__attribute__((noinline)) void never(int n) { sum -= n; }

static inline __attribute__((always_inline)) int clamp(int n)
{
	if (n > 1000) {
		never(n);
		return 1000; // never
	}
	sum += n;
	return n;
}

static inline __attribute__((always_inline)) int scale(int n)
{
	return clamp(3 * n) + 1;
}

__attribute__((noinline)) int work(int n)
{
	if (n < 0)
		never(sum);
	return scale(n);
}

int main(void)
{
	int all = 0;
	for (int i = 1; i <= 5; i++)
		all += work(i);
	return all != 50;
}
