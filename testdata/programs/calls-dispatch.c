/* Syscall user dispatch: system calls that the program has turned into signals, by a byte and by a range of addresses, as Wine
 * does; and what a filter turns into signals. */
/* expect stdout: ok */
/* untraced: a filter of system calls may forbid those that tracing it needs */
/* armed: work */
#include "check.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#define DISPATCH 59
static volatile char selector;
static volatile int hits, wrong;
static volatile unsigned long number, where;
static void trap(int s, siginfo_t *i, void *u) {
	greg_t *g = ((ucontext_t *)u)->uc_mcontext.gregs;
	selector = 0; /* the return is a call as well */
	number = i->si_syscall, where = (unsigned long)i->si_call_addr;
	if (i->si_code != 2 || where != (unsigned long)g[REG_RIP] || (unsigned long)g[REG_RAX] != number || g[REG_RCX] != g[REG_RIP] || i->si_errno) wrong++;
	g[REG_RAX] = 4711 + hits++;
}
/* one call, and where it is */
#define CALL(nr, a, b, c) ({ \
	long r; \
	__asm__ volatile("syscall; 1: lea 1b(%%rip), %1" : "=a"(r), "=&r"(behind) : "0"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory"); \
	r; })
static unsigned long behind;
__attribute__((noinline)) static long mine(long nr, long a, long b, long c) {
	__asm__ volatile("" : "+r"(nr));
	return CALL(nr, a, b, c);
}
__attribute__((noinline)) int work(int n) { return n + 1; }
static int set(long mode, unsigned long at, unsigned long len, volatile char *sel) { return prctl(DISPATCH, mode, at, len, sel); }
static volatile int alone, done; /* the first thread, whose calls the byte concerns, makes none between the two */
static void *other(void *u) {
	while (!alone) __asm__ volatile("pause");
	selector = 1;
	long r = mine(SYS_getpid, 0, 0, 0);
	selector = 0;
	done = 1;
	return (void *)(long)(r == getpid());
}
static int ends(void (*how)(void)) {
	fflush(stdout);
	pid_t c = fork();
	if (c == 0) {
		how();
		_exit(1);
	}
	int st;
	CHECK(waitpid(c, &st, 0) == c);
	return WIFSIGNALED(st) ? WTERMSIG(st) : -WEXITSTATUS(st);
}
static void blocked(void) {
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, 0);
	set(1, 0, 0, &selector), selector = 1;
	mine(SYS_getpid, 0, 0, 0);
	selector = 0;
}
static void odd(void) { set(1, 0, 0, &selector), selector = 5, mine(SYS_getpid, 0, 0, 0), selector = 0; }
static void unreadable(void) {
	char *p = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	signal(SIGSEGV, SIG_DFL);
	set(1, 0, 0, p);
	mine(SYS_getpid, 0, 0, 0);
}
static volatile int filtered;
static void filter(int s, siginfo_t *i, void *u) {
	filtered = i->si_code == 1 && i->si_syscall == 5555 && (unsigned long)i->si_call_addr == rip(u) && own(rip(u));
	((ucontext_t *)u)->uc_mcontext.gregs[REG_RAX] = 9;
}
static void seccomp(void) {
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 5555, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {sizeof f / sizeof *f, f};
	on(SIGSYS, filter, 0);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) == 0);
	CHECK(mine(5555, 1, 2, 3) == 9 && filtered);
	_exit(7);
}
int main(void) {
	on(SIGSYS, trap, 0);
	CHECK(set(7, 0, 0, 0) == -1 && errno == EINVAL);
	if (set(1, 0, 0, &selector) != 0) return OK(); /* an old kernel */
	CHECK(set(0, 1, 0, 0) == -1 && errno == EINVAL);
	for (int i = 0; i < 50; i++) {
		selector = 1;
		CHECK(work(i) == i + 1);
		long r = mine(i % 2 ? SYS_getpid : SYS_mmap, 1, 2, 3);
		CHECK(selector == 0 && r == 4711 + i && hits == i + 1 && !wrong);
		CHECK(number == (i % 2 ? SYS_getpid : SYS_mmap) && where > (unsigned long)mine && where < (unsigned long)mine + 64);
		CHECK(mine(SYS_getpid, 0, 0, 0) == getpid());
		void *m = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(m != MAP_FAILED && munmap(m, 4096) == 0);
	}
	selector = 1;
	CHECK(mine(100000, 0, 0, 0) == 4711 + 50 && number == 100000 && !wrong);
	pthread_t t;
	void *r;
	CHECK(pthread_create(&t, 0, other, 0) == 0);
	alone = 1;
	while (!done) __asm__ volatile("pause");
	CHECK(pthread_join(t, &r) == 0 && r); /* not inherited */
	CHECK(ends(blocked) == SIGSYS && ends(odd) == SIGSYS && ends(unreadable) == SIGSEGV && ends(seccomp) == -7);
	/* calls from the range are always allowed */
	CHECK(set(1, (unsigned long)mine, 64, &selector) == 0);
	selector = 1;
	long pid = mine(SYS_getpid, 0, 0, 0);
	CHECK(work(1) == 2);
	long other = syscall(SYS_getpid); /* from the C library */
	CHECK(selector == 0 && pid == getpid() && other == 4711 + 51 && hits == 52 && !wrong);
	CHECK(set(0, 0, 0, 0) == 0);
	selector = 1;
	CHECK(getppid() > 0 && hits == 52);
	return OK();
}
