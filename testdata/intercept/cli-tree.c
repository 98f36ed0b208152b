/* expect stdout: done
   A function in two threads and in a child process, deeper and deeper, left by longjmp once; allocations of
   which some are never freed. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

static jmp_buf out;

NOINLINE int down(int n) { return n == 0 ? 0 : 1 + down(n - 1); }
NOINLINE int leave(int n) { if (n == 3) longjmp(out, n); return n; }
NOINLINE int open_now(int n) { return n; }
NOINLINE int close_now(int n) { return n; }
static void *thread(void *arg) { down(2); return arg; }

int main(void)
{
	down(3);
	if (!setjmp(out)) {
		leave(2);
		leave(3);
	}
	leave(4);
	pthread_t t;
	pthread_create(&t, 0, thread, 0);
	pthread_join(t, 0);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		down(1);
		_exit(0);
	}
	waitpid(pid, 0, 0);
	open_now(1);
	down(0);
	close_now(1);
	down(5);
	void *p[20];
	for (int i = 0; i < 20; i++) p[i] = malloc(100 + i);
	for (int i = 0; i < 20; i += 2) free(p[i]);
	p[1] = realloc(p[1], 5000);
	p[3] = realloc(p[3], 10);
	p[0] = calloc(3, 7);
	puts("done");
	return 0;
}
