/* A sandbox that kills on any call but write, exit and signal return: the
 * tracer needs no calls of its own in the program, not even to grow. */
/* expect stdout: in the sandbox 832040 done */
#include "check.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#define ALLOW(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
__attribute__((noinline)) static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static int cmp(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static volatile int hits;
static void h(int s, siginfo_t *i, void *uc) { (void)s, (void)i; hits++; ((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP] += 2; }
int main(void) {
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_write), ALLOW(SYS_exit_group), ALLOW(SYS_rt_sigreturn),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog p = {sizeof f / sizeof *f, f};
	on(SIGILL, h, 0);
#ifdef BEFORE /* what is placed at the function is there before the filter is */
	for (int i = 0; i < 50; i++) CHECK(fib(10) == 55);
#endif
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) == 0);
	/* From here on any other call would kill. Code that has not run yet is translated
	 * all the same, signals are delivered, and rings are changed. */
	char b[200];
	int n = snprintf(b, sizeof b, "in the sandbox %d ", fib(30));
	CHECK(write(1, b, n) == n);
	static int v[20000];
	for (int i = 0; i < 20000; i++) v[i] = i * 7919 % 20000;
	int key = 19999;
	CHECK(bsearch(&key, v, 1, sizeof *v, cmp) == 0 && strtod("2.5", 0) == 2.5);
	for (int i = 0; i < 20; i++) __asm__ volatile("ud2");
	CHECK(hits == 20);
	CHECK(write(1, "done\n", 5) == 5);
	_exit(0);
}
