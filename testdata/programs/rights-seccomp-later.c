/* A sandbox that is entered while nothing is recorded, and that kills on calls which tracing could make in the
 * program's name: a child, a hot function and a recorded one come afterwards. */
/* expect stdout: ok */
/* untraced: a filter of system calls may forbid those that tracing it needs */
/* armed: work */
#include "check.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#define ALLOW(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
static volatile unsigned sum;
__attribute__((noinline)) static void work(void) { for (unsigned i = 0; i < 100; i++) sum = sum * 5 + i; }
__attribute__((noinline)) static void other(unsigned n) { for (unsigned i = 0; i < n; i++) sum = sum * 3 + i; }
static void filter(void) {
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_write), ALLOW(SYS_exit_group), ALLOW(SYS_rt_sigreturn), ALLOW(SYS_fork), ALLOW(SYS_wait4),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog p = {sizeof f / sizeof f[0], f};
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) == 0);
}
int main(void) {
	filter();
	for (int i = 0; i < 300; i++) {
		work();
		other(1000);
	}
	long c = syscall(SYS_fork);
	if (c == 0) {
		other(100);
		work();
		syscall(SYS_exit_group, 5);
	}
	int st = -1;
	CHECK(syscall(SYS_wait4, c, &st, 0, 0) == c && WIFEXITED(st) && WEXITSTATUS(st) == 5);
	for (int i = 0; i < 100; i++) {
		other(100);
		work();
	}
	syscall(SYS_write, 1, "ok\n", 3);
	syscall(SYS_exit_group, 0);
}
