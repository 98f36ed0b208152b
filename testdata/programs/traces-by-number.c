/* A program that attaches to its child by syscall() with a number that stands in no code, as interpreters do. */
/* expect stdout: ok */
/* armed: work */
/* tells: another process traces it */
#include "check.h"
#include <sys/ptrace.h>
static volatile long zero;
__attribute__((noinline)) static long work(long n) { return n + zero; }
int main(void) {
	int st;
	CHECK(work(1) == 1);
	pid_t p = fork();
	if (p == 0)
		for (;;) pause();
	CHECK(syscall(work(SYS_ptrace), (long)PTRACE_ATTACH, (long)p, 0l, 0l) == 0);
	CHECK(waitpid(p, &st, 0) == p && WIFSTOPPED(st) && WSTOPSIG(st) == SIGSTOP);
	CHECK(syscall(work(SYS_ptrace), (long)PTRACE_DETACH, (long)p, 0l, 0l) == 0);
	CHECK(kill(p, SIGKILL) == 0 && waitpid(p, &st, 0) == p && WIFSIGNALED(st));
	/* all six arguments of a call get through */
	CHECK(syscall(work(SYS_mmap), 0l, 8192l, 0l, (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1l, 0l) != -1);
	CHECK(syscall(work(SYS_mmap), 0l, 8192l, 0l, (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1l, 1l) == -1 && errno == EINVAL);
	return OK();
}
