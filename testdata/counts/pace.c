/* Two functions by turns, each for as much processor time, of which one executes many times as many instructions as the other. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double used(void) {
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

__attribute__((noinline)) static unsigned long quick(unsigned long n) {
	static volatile unsigned words[256];
	for (unsigned long i = 0; i < 100 * n; i++)
		words[i & 255] += i;
	return words[7];
}

__attribute__((noinline)) static unsigned long slow(unsigned long n) {
	static volatile double from = 1;
	double sum = from;
	for (unsigned long i = 0; i < 20 * n; i++)
		sum = 1 / (1 / (1 / (sum + 1) + 1) + 1);
	return sum;
}

/* The argument: milliseconds in all. */
int main(int argc, char **argv) {
	double end = used() + (argc > 1 ? atoi(argv[1]) : 1600) / 1e3, turn = 0.003;
	unsigned long sum = 0;
	for (int k = 0; used() < end; k++)
		for (double until = used() + turn; used() < until;)
			sum += k & 1 ? quick(200) : slow(200);
	return sum == 1;
}
