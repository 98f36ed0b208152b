// Threads that are inside of functions while these are armed and disarmed.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define API __attribute__((noinline, noclone, noipa))

static volatile int over;
API long leaf(long a)
{
	__asm__ volatile("" : "+r"(a));
	return a + 1;
}
API long deep(long n)
{
	if (n == 0)
		return leaf(0);
	long r = deep(n - 1);
	__asm__ volatile("" : "+r"(r));
	return r + 1;
}
API int turn(int n) { return n; }

static void *work(void *arg)
{
	long wrong = 0;
	(void)arg;
	// Some rest: where each call is two stops of all threads, three that never rest would keep the first from its turns.
	for (int i = 0; !over; i++) {
		wrong += deep(5) != 6;
		if (i % 8 == 7)
			usleep(200);
	}
	return (void *)wrong;
}

int main(int argc, char **argv)
{
	pthread_t t[3];
	long wrong = 0;
	int turns = argc > 1 ? atoi(argv[1]) : 1000;
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], 0, work, 0);
	for (int i = 0; i < turns; i++) {
		turn(i);
		wrong += deep(3) != 4;
		if (i % 100 == 50) { // a child has none of it
			int status;
			pid_t pid = fork();
			if (pid == 0)
				_exit(deep(7) == 8 ? 0 : 1);
			waitpid(pid, &status, 0);
			wrong += status != 0;
		}
	}
	over = 1;
	for (int i = 0; i < 3; i++) {
		void *r;
		pthread_join(t[i], &r);
		wrong += (long)r;
	}
	printf("%ld\n", wrong);
	return 0;
}
