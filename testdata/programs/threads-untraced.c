/* Threads and processes that are created so that no tracer is told of them (CLONE_UNTRACED), as leak sanitizers and
 * reporters of crashes do. */
/* expect stdout: ok */
#include "check.h"
#include <sched.h>
#include <linux/sched.h>
static volatile int done;
static volatile unsigned sum;
__attribute__((noinline)) static void work(void) { for (unsigned i = 0; i < 100; i++) sum = sum * 5 + i; }
static int f(void *p) {
	for (int i = 0; i < 20; i++) work();
	done += *(int *)p;
	return 7;
}
#ifdef VOLATILE /* numbers that stand in no code */
static volatile long zero;
#define NUMBER(n) ((n) + zero)
#else
#define NUMBER(n) (n)
#endif
static char stack[2][65536] __attribute__((aligned(16)));
int main(void) {
	int one = 1, two = 2, st;
	pid_t c;
	work();
#ifndef VOLATILE /* it would be in the code cache behind this */
	/* one that shares the memory and nothing else, and is waited for */
	c = clone(f, stack[0] + sizeof stack[0], CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED | SIGCHLD, &one);
	CHECK(c > 0 && waitpid(c, &st, 0) == c && WIFEXITED(st) && WEXITSTATUS(st) == 7 && done == 1);
#else
	done = one;
#endif
	/* one with a memory of its own */
	c = syscall(NUMBER(SYS_clone), CLONE_UNTRACED | SIGCHLD, 0, 0, 0, 0);
	if (c == 0) {
		work();
		_exit(f(&two) + done);
	}
	CHECK(c > 0 && waitpid(c, &st, 0) == c && WIFEXITED(st) && WEXITSTATUS(st) == 10);
	/* the same by clone3 */
	struct clone_args a = {.flags = CLONE_UNTRACED, .exit_signal = SIGCHLD};
	c = syscall(NUMBER(SYS_clone3), &a, sizeof a);
	if (c == 0) {
		work();
		_exit(f(&two) + done);
	}
	CHECK(c > 0 && waitpid(c, &st, 0) == c && WIFEXITED(st) && WEXITSTATUS(st) == 10);
	CHECK(a.flags == CLONE_UNTRACED);
	/* a thread */
	c = clone(f, stack[1] + sizeof stack[1], CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_UNTRACED, &two);
	CHECK(c > 0);
	while (done != 3) idle();
	while (syscall(SYS_tgkill, getpid(), c, 0) == 0) idle();
	/* such a call that fails leaves its arguments as they were */
	long r, flags = CLONE_UNTRACED | CLONE_THREAD;
	__asm__ volatile("syscall" : "=a"(r), "+D"(flags) : "0"((long)SYS_clone), "S"(0l), "d"(0l) : "rcx", "r11", "r8", "r10", "memory");
	CHECK(r == -EINVAL && flags == (CLONE_UNTRACED | CLONE_THREAD));
	work();
	return OK();
}
