// Calls malloc with known sizes from three threads, one after the other, and writes what it gets.
//
// malloc is called 600 times with sizes 1 to 200 by each of the threads: 60,300 bytes in all, besides what the C library asks for
// to create a thread. fill is called as often, and stores one byte for each byte asked for. The exit status is 7.
#include <pthread.h>
#include <stdlib.h>

__attribute__((noinline)) void fill(volatile char *p, int n)
{
	for (int i = 0; i < n; i++)
		p[i] = i;
}

static void *work(void *arg)
{
	for (int n = 1; n <= 200; n++) {
		char *p = malloc(n);
		fill(p, n);
		free(p);
	}
	return arg;
}

int main(void)
{
	for (int i = 0; i < 2; i++) {
		pthread_t t;
		pthread_create(&t, 0, work, 0);
		pthread_join(t, 0);
	}
	work(0);
	return 7;
}
