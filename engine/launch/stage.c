/* The launcher stage: a process that shares the tracer's memory, as after vfork, while the
 * tracer goes on. It waits for the tracer's word, gives itself the signals, limits and
 * descriptors that the tracer was started with, and executes the target.
 *
 * It runs on a stack of its own but with the thread-local memory of the thread that
 * started it, so that it calls nothing of the C library: only the kernel. Refused: the
 * tracer's own binary executed once more, which takes as long to load as a short program
 * runs. Where another tracer follows this one, it keeps what shares memory with it to
 * itself: then the stage gets a copy.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stage.h"

/* What the Go runtime hides from us by handling and unblocking signals, opening the first
 * three descriptors and raising the limit of open files: which signals we were started
 * with ignored or blocked, bit n-1 for signal n, which of the descriptors closed, bit n for
 * n, and the limit. */
static uint64_t ignored, blocked, closed;
static struct rlimit files;

/* A system call that leaves errno alone: minus the error number. */
static inline long call(long nr, long a, long b, long c, long d) {
	long r;
	register long r10 __asm__("r10") = d;
	__asm__ volatile("syscall" : "=a"(r) : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return r;
}

/* The kernel's struct sigaction. */
struct action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

/* By the kernel's own calls: the C library does not tell of the two signals that it uses itself. */
__attribute__((constructor)) static void inherited(void) {
	for (int s = 1; s < 65; s++) {
		struct action a;
		if (call(SYS_rt_sigaction, s, 0, (long)&a, 8) == 0 && a.handler == SIG_IGN) ignored |= 1ull << (s - 1);
	}
	call(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&blocked, 8);
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0) closed |= 1ull << fd;
	getrlimit(RLIMIT_NOFILE, &files);
}

__attribute__((noreturn, used)) static void stage(struct alleria_stage *s) {
	/* Else the tracer's death would not show as the end of what is waited for. */
	call(SYS_close, s->release, 0, 0, 0);
	char c = 1;
	long n;
	/* The other tracer has let us go. */
	if (s->copied) call(SYS_write, s->report, (long)&c, 1, 0);
	do n = call(SYS_read, s->wait, (long)&c, 1, 0);
	while (n == -EINTR);
	if (n != 1) call(SYS_exit_group, 125, 0, 0, 0); /* the tracer is gone */
	if (s->fixed) call(SYS_personality, ADDR_NO_RANDOMIZE | call(SYS_personality, 0xffffffff, 0, 0, 0), 0, 0, 0);
	for (int sig = 1; sig < 65; sig++) {
		struct action a = {ignored >> (sig - 1) & 1 ? SIG_IGN : SIG_DFL, 0, 0, 0};
		call(SYS_rt_sigaction, sig, (long)&a, 0, 8);
	}
	call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&blocked, 0, 8);
	for (int fd = 0; fd < 3; fd++)
		if (closed >> fd & 1) call(SYS_close, fd, 0, 0, 0);
	call(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)&files, 0);
	int e = 0;
	if (s->dir) e = -call(SYS_chdir, (long)s->dir, 0, 0, 0);
	if (!e) e = -call(SYS_execve, (long)s->path, (long)s->argv, (long)s->envp, 0);
	call(SYS_write, s->report, (long)&e, sizeof e, 0);
	for (;;) call(SYS_exit_group, 127, 0, 0, 0);
}

/* Starts the stage and returns its process id, or minus an error number. Every signal is
 * blocked in it until its handlers are those of the target. */
int alleria_launch(struct alleria_stage *s) {
	uint64_t all = ~0ull, old;
	call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&old, 8);
	call(SYS_prctl, PR_SET_TIMERSLACK, s->slack, 0, 0); /* the stage's by default, too */
	char *top = s->stack + sizeof s->stack;
	long r;
	__asm__ volatile("mov %[s], %%r8\n\t"
	                 "syscall\n\t"
	                 "test %%rax, %%rax\n\t"
	                 "jnz 1f\n\t"
	                 "xor %%ebp, %%ebp\n\t"
	                 "mov %%r8, %%rdi\n\t"
	                 "call stage\n\t"
	                 "ud2\n"
	                 "1:"
	                 : "=a"(r)
	                 : "0"((long)SYS_clone), "D"((s->copied ? 0L : CLONE_VM) | SIGCHLD), "S"(top), "d"(0L), [s] "r"(s)
	                 : "rcx", "r8", "r10", "r11", "memory");
	call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&old, 0, 8);
	return (int)r;
}
