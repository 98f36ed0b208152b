/* Returns from handlers: many, through a frame that is used again, through one whose vector state cannot be read, with the
 * program looking at what it returned through. */
/* expect stdout: ok */
#include "check.h"
static volatile int hits, rounds, faults;
static volatile uint64_t at;
static void count(int s, siginfo_t *i, void *u) { hits++; }
static struct {
	ucontext_t uc;
	char state[16384] __attribute__((aligned(64)));
} kept;
/* keep copies the frame that it was called with, and what that leads to. */
static void keep(int s, siginfo_t *i, void *u) {
	memcpy(&kept.uc, u, 304);
	char *fp = (char *)((ucontext_t *)u)->uc_mcontext.fpregs;
	unsigned size = ((unsigned *)(fp + 464))[1];
	CHECK(size >= 512 && size <= sizeof kept.state);
	memcpy(kept.state, fp, size);
	kept.uc.uc_mcontext.fpregs = (void *)kept.state;
	hits++;
}
static void spoil(int s, siginfo_t *i, void *u) { ((ucontext_t *)u)->uc_mcontext.fpregs = (void *)8; }
static void fault(int s, siginfo_t *i, void *u) {
	faults++, at = rip(u);
	CHECK(i->si_code == SI_KERNEL);
	_exit(own(at) ? 7 : 8);
}
static inline __attribute__((always_inline)) long call(long n, long a, long b, long c) {
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "0"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return r;
}
__attribute__((noinline)) static void again(void) {
	call(SYS_tgkill, getpid(), gettid(), SIGUSR2); /* each return through the kept frame leads here */
	if (rounds++ < 5) {
		CHECK(own(rip(&kept.uc)));
		__asm__ volatile("mov %0, %%rsp; mov $15, %%eax; syscall" : : "r"(&kept.uc) : "memory");
		_exit(1);
	}
}
int main(void) {
	on(SIGUSR1, count, 0);
	on(SIGUSR2, keep, 0);
	int n = 0;
	for (; n < 500; n++) call(SYS_tgkill, getpid(), gettid(), SIGUSR1);
	CHECK(hits == n);
	again();
	CHECK(rounds == 6 && hits == n + 1);
	on(SIGUSR2, spoil, 0);
	pid_t c = fork();
	if (c == 0) {
		on(SIGSEGV, fault, 0);
		call(SYS_tgkill, getpid(), gettid(), SIGUSR2);
		_exit(1);
	}
	int st;
	CHECK(waitpid(c, &st, 0) == c && WIFEXITED(st) && WEXITSTATUS(st) == 7);
	return OK();
}
