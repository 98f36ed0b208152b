/* A handler for SIGTRAP that is installed while the program runs natively, with the signal blocked by the time a watched function is called: the breakpoint there makes the kernel
 * forget it. By the C library, by a call of the program's own, which is found in a small static program, and by syscall() with a number that stands in no code. */
/* expect stdout: ok */
/* build: -O1 */
/* build: -O1 -DOWN -static */
/* build: -O1 -DOWN -DBY_SYSCALL */
/* build: -O1 -DOWN -DBY_SYSCALL -static */
/* armed: work */
#include "check.h"
#include <spawn.h>
static volatile int got, other;
static volatile unsigned sum;
static void h(int s, siginfo_t *i, void *u) { got++; }
static void h2(int s) { other++; }
__attribute__((noinline)) static void work(void) { for (unsigned i = 0; i < 100; i++) sum = sum * 5 + i; }
/* as the kernel has it */
struct action { void *handler; unsigned long flags; void (*restorer)(void); uint64_t mask; };
__attribute__((naked, used)) static void back(void) { __asm__("mov $15, %eax; syscall"); }
static long own_sigaction(int sig, const void *act, void *old, size_t size) {
#ifdef BY_SYSCALL
	static volatile long number = 12;
	return syscall(number + 1, sig, act, old, size) == 0 ? 0 : -errno;
#endif
	long r;
	register void *r10 __asm__("r10") = (void *)size;
	/* the flags are the program's at the call */
	__asm__ volatile("stc; mov $13, %%eax; syscall; jc 1f; ud2; 1:" : "=&a"(r) : "D"(sig), "S"(act), "d"(old), "r"(r10) : "rcx", "r11", "memory", "cc");
	return r;
}
static void action(void *handler, int flags) {
	struct sigaction a;
	memset(&a, 0, sizeof a);
	sigaddset(&a.sa_mask, SIGUSR2);
#ifdef OWN
	struct action k = {handler, flags | 0x4000000, back, 1ul << (SIGUSR2 - 1)};
	CHECK(own_sigaction(SIGTRAP, &k, 0, 8) == 0);
#else
	a.sa_handler = handler, a.sa_flags = flags;
	CHECK(sigaction(SIGTRAP, &a, 0) == 0);
#endif
}
static int is(void *handler, int flags) {
	struct sigaction a;
	CHECK(sigaction(SIGTRAP, 0, &a) == 0);
	return a.sa_handler == handler && (a.sa_flags & ~0x4000000) == flags && sigismember(&a.sa_mask, SIGUSR2);
}
static void take(int how) {
	sigset_t m;
	sigemptyset(&m), sigaddset(&m, SIGTRAP);
	CHECK(pthread_sigmask(how, &m, 0) == 0);
}
static int blocked(void) {
	sigset_t m;
	CHECK(pthread_sigmask(SIG_SETMASK, 0, &m) == 0);
	return sigismember(&m, SIGTRAP);
}
int main(void) {
	/* lost by the first hit */
	action(h, SA_SIGINFO | SA_NODEFER);
	take(SIG_BLOCK);
	work();
	CHECK(is(h, SA_SIGINFO | SA_NODEFER) && blocked());
	raise(SIGTRAP);
	work();
	CHECK(got == 0 && blocked());
	take(SIG_UNBLOCK);
	CHECK(got == 1);
	/* another one, installed while the signal is blocked */
	take(SIG_BLOCK);
	action(h2, 0);
	work();
	CHECK(is(h2, 0) && blocked());
	raise(SIGTRAP);
	take(SIG_UNBLOCK);
	CHECK(got == 1 && other == 1);
	/* a child has it, too, and one that is spawned sets its own */
	take(SIG_BLOCK);
	pid_t p = fork();
	if (p == 0) {
		work();
		CHECK(is(h2, 0) && blocked());
		raise(SIGTRAP);
		take(SIG_UNBLOCK);
		_exit(other == 2 ? 0 : 1);
	}
	int st;
	CHECK(waitpid(p, &st, 0) == p && st == 0);
	action(h, SA_SIGINFO);
	posix_spawnattr_t at;
	sigset_t m;
	sigemptyset(&m), sigaddset(&m, SIGTRAP);
	CHECK(posix_spawnattr_init(&at) == 0 && posix_spawnattr_setsigdefault(&at, &m) == 0 && posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGDEF) == 0);
	char *argv[] = {"true", 0}, *env[] = {0};
	CHECK(posix_spawn(&p, "/bin/true", 0, &at, argv, env) == 0 && waitpid(p, &st, 0) == p && st == 0);
	work();
	CHECK(is(h, SA_SIGINFO) && blocked());
	/* what the kernel refuses changes nothing, nor does asking */
	CHECK(syscall(SYS_rt_sigaction, SIGTRAP, &st, 0, 4) == -1 && errno == EINVAL);
#ifdef OWN
	struct action k = {h2, 0x4000000, back, 0};
	CHECK(own_sigaction(SIGTRAP, &k, 0, 7) == -EINVAL);
	CHECK(own_sigaction(SIGTRAP, (void *)16, 0, 8) == -EFAULT);
	CHECK(own_sigaction(SIGTRAP, (void *)0x8000000000000000, 0, 8) == -EFAULT);
	CHECK(own_sigaction(SIGTRAP, 0, &k, 8) == 0 && k.handler == (void *)h);
	CHECK(own_sigaction(SIGKILL, 0, &k, 8) == 0 && own_sigaction(SIGUSR1, (void *)16, 0, 8) == -EFAULT);
#endif
	work();
	CHECK(is(h, SA_SIGINFO) && blocked());
	raise(SIGTRAP);
	take(SIG_UNBLOCK);
	CHECK(got == 2);
	/* ignored, and the default, which none that was before takes the place of */
	action(SIG_IGN, 0);
	work();
	CHECK(is(SIG_IGN, 0));
	action(SIG_DFL, 0);
	take(SIG_BLOCK);
	work();
	CHECK(is(SIG_DFL, 0));
	return OK();
}
