/* Two threads take turns strictly: in each turn one writes its own half of a line, then a counter that both write. With an argument a turn is a byte in a
   pipe: whoever goes on has waited in the kernel. */
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#define N 300
static struct {
	volatile int own[2] __attribute__((aligned(64)));
	volatile int both __attribute__((aligned(64)));
	volatile int turn __attribute__((aligned(64)));
	char end[60];
} s __attribute__((aligned(64)));
static int pipes, ends[2][2];
__attribute__((noinline)) static void own(int me) { s.own[me]++; }
__attribute__((noinline)) static void both(void) { s.both++; }
static void await(int me, int i) {
	char c;
	if (pipes) {
		if (me || i)
			while (read(ends[me][0], &c, 1) != 1)
				;
		return;
	}
	for (int k = 0; s.turn != me; k++)
		if (k > 100)
			sched_yield();
}
static void *work(void *p) {
	int me = p != 0;
	for (int i = 0; i < N; i++) {
		await(me, i);
		own(me);
		both();
		if (!pipes)
			s.turn = !me;
		else if (write(ends[!me][1], "", 1) != 1)
			return p;
	}
	return 0;
}
int main(int argc, char **argv) {
	pthread_t t;
	(void)argv;
	pipes = argc > 1;
	if (pipe(ends[0]) || pipe(ends[1]))
		return 2;
	pthread_create(&t, 0, work, &s);
	work(0);
	pthread_join(t, 0);
	return s.both != 2 * N;
}
