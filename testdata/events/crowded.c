/* 1,030 threads at a time, more than can be traced, call a function each. */
#include <pthread.h>
#include <stdio.h>

enum { threads = 1030 };

static volatile int n;
static pthread_barrier_t all;

__attribute__((noinline)) void work(void)
{
	n++;
}

static void *run(void *p)
{
	pthread_barrier_wait(&all);
	work();
	return p;
}

int main(void)
{
	pthread_t t[threads];
	pthread_attr_t small;
	pthread_barrier_init(&all, NULL, threads + 1);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&t[i], &small, run, NULL))
			return 3;
	pthread_barrier_wait(&all);
	work();
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	puts("done");
	return 0;
}
