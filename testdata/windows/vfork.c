/* Calls a function itself, 20 times, and in children that share its memory, 7 times
 * each, by vfork and by clone. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long sum;
static char stack[65536];

__attribute__((noinline, noclone)) static long target(long n) {
	if (n > 0) sum += n;
	return sum;
}

static int child(void *p) {
	for (int i = 0; i < 7; i++) target(1);
	return p != 0;
}

int main(void) {
	for (int i = 0; i < 5; i++) {
		target(100);
		pid_t c = vfork();
		if (c == 0) {
			for (int k = 0; k < 7; k++) target(1);
			_exit(0);
		}
		waitpid(c, 0, 0);
		target(100);
		c = clone(child, stack + sizeof stack, CLONE_VM | SIGCHLD, 0);
		target(100);
		waitpid(c, 0, 0);
		target(100);
	}
	printf("%ld\n", sum);
	return 0;
}
