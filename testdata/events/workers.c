/* Three threads besides the first, one after the other unless an argument is given;
 * each loads and stores in functions that all of them call. */
#include <pthread.h>
#include <stdio.h>

volatile long loaded = 3, stored;
__attribute__((noinline)) void reads(long n) { for (long i = 0; i < n; i++) (void)loaded; }
__attribute__((noinline)) void writes(long n) { for (long i = 0; i < n; i++) stored = i; }

static void *work(void *arg)
{
	long n = (long)arg;
	reads(n);
	writes(n);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t t[3];
	work((void *)100);
	for (int i = 0; i < 3; i++) {
		pthread_create(&t[i], 0, work, (void *)(argc > 1 ? 100000L : 100L * (i + 2)));
		if (argc == 1)
			pthread_join(t[i], 0);
	}
	for (int i = 0; i < 3 && argc > 1; i++)
		pthread_join(t[i], 0);
	printf("%ld\n", stored);
	return 0;
}
