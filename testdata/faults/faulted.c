/* A little of everything that has a tracer make requests: threads, signals with handlers, new code, fork, vfork, exec of
 * another program, from the first thread and from another, and children that are awaited and that are not. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int handled;
static char *self;

static void handler(int s) { handled += s; }

__attribute__((noinline)) int work(int n)
{
	volatile int s = 0;
	for (int i = 0; i < n; i++)
		s += i;
	return s;
}

static void *thread(void *how)
{
	work(1000);
	if (how)
		execl(self, self, "leaf", (char *)0);
	pthread_kill(pthread_self(), SIGUSR1);
	return 0;
}

static void join(void *how)
{
	pthread_t t;
	if (pthread_create(&t, 0, thread, how) == 0)
		pthread_join(t, 0);
}

int main(int argc, char **argv)
{
	self = argv[0];
	if (argc > 1)
		return work(100) & 1;
	signal(SIGUSR1, handler);
	work(1000);
	join(0);
	unsigned char *code = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, "\xb8\x05\0\0\0\xc3", 6);
	mprotect(code, 4096, PROT_READ | PROT_EXEC);
	int five = ((int (*)(void))code)();
	pid_t forked = fork();
	if (forked == 0) {
		raise(SIGUSR1);
		join(&forked);
	}
	pid_t other = vfork();
	if (other == 0) {
		execl(self, self, "leaf", (char *)0);
		_exit(9);
	}
	if (fork() == 0) { /* nobody waits for it */
		kill(getpid(), SIGUSR1);
		_exit(work(100) & 1);
	}
	int status;
	waitpid(forked, &status, 0);
	waitpid(other, &status, 0);
	work(1000);
	return five;
}
