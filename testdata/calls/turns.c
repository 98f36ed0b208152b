/* Two threads take turns strictly: in each turn one writes its own half of a line, then a counter that both write. */
#include <pthread.h>
#include <sched.h>
#define N 300
static struct {
	volatile int own[2] __attribute__((aligned(64)));
	volatile int both __attribute__((aligned(64)));
	volatile int turn __attribute__((aligned(64)));
	char end[60];
} s __attribute__((aligned(64)));
__attribute__((noinline)) static void own(int me) { s.own[me]++; }
__attribute__((noinline)) static void both(void) { s.both++; }
static void *work(void *p) {
	int me = p != 0;
	for (int i = 0; i < N; i++) {
		for (int k = 0; s.turn != me; k++)
			if (k > 100)
				sched_yield();
		own(me);
		both();
		s.turn = !me;
	}
	return 0;
}
int main(void) {
	pthread_t t;
	pthread_create(&t, 0, work, &s);
	work(0);
	pthread_join(t, 0);
	return s.both != 2 * N;
}
