/* Threads that call a function at the same moment, for a window that its first call
 * opens: nobody needs the breakpoint there any more while others run into it. */
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 6, ROUNDS = 3 };
static pthread_barrier_t ready;
static volatile long sum;

__attribute__((noinline)) static void target(void) { __sync_fetch_and_add(&sum, 1); }

static void *work(void *p) {
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&ready);
		target();
	}
	return p;
}

int main(void) {
	pthread_t t[THREADS];
	pthread_barrier_init(&ready, 0, THREADS);
	for (int i = 0; i < THREADS; i++) pthread_create(&t[i], 0, work, 0);
	for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
	printf("%ld\n", sum);
	return 3;
}
