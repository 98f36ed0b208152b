// A thread that is not the first executes the program anew, time and again, while the first one calls functions of the C library.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *f(void *p)
{
	char **argv = p, left[2] = {(char)(argv[1] ? argv[1][0] - 1 : '3'), 0};
	execl("/proc/self/exe", argv[0], left, (char *)0);
	abort();
}

int main(int argc, char **argv)
{
	if (argc > 1 && argv[1][0] == '0')
		return puts("ok") < 0;
	pthread_t t;
	pthread_create(&t, 0, f, argv);
	for (;;) {
		free(strdup("text"));
		getpid();
		rand();
		access("/", 0);
		free(calloc(3, 4));
	}
}
