// Functions that run for far longer than a burst of recording, called in each way that changes how a stack is read: through recursion, a comparison that
// the C library calls, a frame that is aligned, one that is as large as an argument says, a signal's handler, a second thread.
//
// Expectation: inclusive instructions by function are, from bursts, what they are where everything is recorded.
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SEPARATE __attribute__((noinline, noclone))

static volatile uint32_t sink;

SEPARATE static uint32_t spin(uint32_t n, uint32_t x)
{
	for (uint32_t i = 0; i < n; i++)
		x = x * 1664525 + 1013904223;
	sink = x;
	return x;
}

SEPARATE static uint32_t deep(int depth, uint32_t x)
{
	if (depth == 0)
		return spin(400000, x);
	x = deep(depth - 1, x + 1);
	return x + spin(2000, x);
}

SEPARATE static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

SEPARATE static uint32_t sorted(uint32_t x)
{
	static uint32_t all[20000];
	for (int i = 0; i < 20000; i++)
		all[i] = x = x * 1664525 + 1013904223;
	qsort(all, 20000, sizeof *all, compare);
	return all[77];
}

SEPARATE static uint32_t aligned(uint32_t x)
{
	_Alignas(64) volatile uint32_t here[16] = {x};
	x = spin(300000, here[0]);
	return x + here[3];
}

SEPARATE static uint32_t sized(uint32_t n)
{
	volatile uint32_t all[n];
	all[n - 1] = n;
	return spin(300000, all[n - 1]);
}

SEPARATE static void handler(int sig)
{
	sink = spin(500000, sig) + 1;
}

SEPARATE static void interrupted(void)
{
	sink += raise(SIGUSR1);
}

SEPARATE static void *thread(void *arg)
{
	return (void *)(uintptr_t)deep(9, (uintptr_t)arg);
}

int main(void)
{
	uint32_t x = 1;
	signal(SIGUSR1, handler);
	for (int i = 0; i < 12; i++) {
		x += deep(40, x);
		x += sorted(x);
		x += aligned(x);
		x += sized(10 + i);
		interrupted();
	}
	pthread_t t;
	pthread_create(&t, NULL, thread, &t);
	pthread_join(t, NULL);
	return printf("%d\n", sink == 1) < 0;
}
