/* Two threads: bytes of one line that are theirs alone, a counter that both write, a line that
   both only read, and a line of one. */
#include <pthread.h>
#define N 20000
static struct {
	volatile int own[2] __attribute__((aligned(64)));
	volatile int both __attribute__((aligned(64)));
	volatile int read __attribute__((aligned(64)));
	volatile int one __attribute__((aligned(64)));
	char end[64];
} s __attribute__((aligned(64)));
static pthread_barrier_t b;
static void *work(void *p) {
	int me = p != 0, sum = 0;
	pthread_barrier_wait(&b);
	for (int i = 0; i < N; i++) {
		s.own[me]++;
		__atomic_fetch_add(&s.both, 1, __ATOMIC_RELAXED);
		sum += s.read;
		if (me)
			s.one++;
	}
	return (void *)(long)sum;
}
int main(void) {
	pthread_t t;
	pthread_barrier_init(&b, 0, 2);
	pthread_create(&t, 0, work, &s);
	work(0);
	pthread_join(t, 0);
	return s.both != 2 * N;
}
