/* Creates threads one after the other for a second, and says so. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static void *nothing(void *p)
{
	return p;
}

int main(void)
{
	struct timespec from, now;
	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		pthread_t t;
		if (pthread_create(&t, NULL, nothing, NULL) || pthread_join(t, NULL))
			return 1;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - from.tv_sec < 1 || (now.tv_sec - from.tv_sec == 1 && now.tv_nsec < from.tv_nsec));
	puts("done");
	return 0;
}
