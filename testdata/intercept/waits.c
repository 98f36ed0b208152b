/* Threads that wait in calls which the kernel makes again where something interrupts them (select, nanosleep, pause, read), while the process comes and goes
 * between native code and the cache: main's calls of a captured function come in heaps, with pauses. None of them may end early: each tells what it
 * has returned. SIGTRAP has a handler, so that the tracer has to set it right in the program's name. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

static int ends[2], wakes[2];

__attribute__((noinline)) int number(int n) { return n + 1; }

static void trapped(int s) { (void)s; }

static void *selects(void *unused)
{
	fd_set set;
	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	int n = select(ends[0] + 1, &set, NULL, NULL, NULL);
	printf("select %d %s\n", n, n < 0 ? strerror(errno) : "");
	return unused;
}

static void *sleeps(void *unused)
{
	struct timespec t = {1, 0}, a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	int n = nanosleep(&t, NULL);
	clock_gettime(CLOCK_MONOTONIC, &b);
	double took = b.tv_sec - a.tv_sec + 1e-9 * (b.tv_nsec - a.tv_nsec);
	printf("nanosleep %d %s%s\n", n, n < 0 ? strerror(errno) : "", took < 1 ? " too early" : "");
	return unused;
}

static void *reads(void *unused)
{
	char c;
	int n = read(wakes[0], &c, 1);
	printf("read %d %s\n", n, n < 0 ? strerror(errno) : "");
	return unused;
}

int main(void)
{
	void *(*each[])(void *) = {selects, sleeps, reads};
	pthread_t t[3];
	int n = 0;
	signal(SIGTRAP, trapped);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pipe(ends) || pipe(wakes))
		return 2;
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, each[i], NULL);
	for (int i = 0; i < 5; i++) {
		for (int k = 0; k < 3000; k++)
			n = number(n);
		usleep(250000);
	}
	pthread_join(t[1], NULL);
	if (write(ends[1], "", 1) != 1)
		return 3;
	pthread_join(t[0], NULL);
	if (write(wakes[1], "", 1) != 1)
		return 4;
	pthread_join(t[2], NULL);
	printf("%d\n", n);
	return 0;
}
