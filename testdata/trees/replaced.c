/* A thread executes the program again when the first one has got to "meet" (m) or into fork (f), and so on with one letter less each time; the last
 * one says that it is done.
 * build: -O1 -pthread
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int there;

__attribute__((noinline)) void meet(void) { __asm__ volatile("" ::: "memory"); }

static void *replace(void *argv)
{
	while (!there)
		usleep(100);
	usleep(5000);
	execv("/proc/self/exe", argv);
	_exit(2);
	return 0;
}

int main(int argc, char **argv)
{
	static char all[] = "mfmf";
	char *how = argc > 1 ? argv[1] : all;
	char *again[] = {argv[0], how + 1, 0};
	pthread_t t;
	if (!*how) {
		puts("done");
		return 0;
	}
	if (pthread_create(&t, 0, replace, again))
		return 3;
	there = 1;
	if (*how == 'm')
		meet();
	else if (fork() == 0)
		_exit(0);
	for (;;)
		pause();
}
