/* Threads that call a function at the same moment, for a window that its first call
 * opens: nobody needs the breakpoint there any more while others run into it. With an argument
 * they call it so often first, without waiting for each other. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 6, ROUNDS = 3 };
static pthread_barrier_t ready;
static volatile long sum;
static long many;

__attribute__((noinline)) static void target(void) { __sync_fetch_and_add(&sum, 1); }

static void *work(void *p) {
	for (long i = 0; i < many; i++) target();
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&ready);
		target();
	}
	return p;
}

int main(int argc, char **argv) {
	pthread_t t[THREADS];
	if (argc > 1) many = atol(argv[1]);
	pthread_barrier_init(&ready, 0, THREADS);
	for (int i = 0; i < THREADS; i++) pthread_create(&t[i], 0, work, 0);
	for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
	printf("%ld\n", sum);
	return 3;
}
