/* A process of many threads that ends itself, from a thread that is not the first, while the tracer may be
 * letting it go: the window on work can open no more. The argument is how many microseconds to wait before it ends, and how it ends:
 * "exit" with 3, "abort", or "kill" by a signal of its own. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) void work(void) { __asm__ volatile(""); }

static void *sleeps(void *arg) {
	for (;;) pause();
	return arg;
}

static char **args;

static void *ends(void *arg) {
	work();
	usleep(atoi(args[1]));
	if (!strcmp(args[2], "exit")) exit(3);
	if (!strcmp(args[2], "abort")) abort();
	kill(getpid(), SIGTERM);
	for (;;) pause();
	return arg;
}

int main(int argc, char **argv) {
	pthread_t t;
	(void)argc;
	args = argv;
	for (int i = 0; i < 60; i++) pthread_create(&t, 0, sleeps, 0);
	pthread_create(&t, 0, ends, 0);
	pthread_join(t, 0);
	return 9;
}
