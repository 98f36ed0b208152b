/* SIGTRAP as a signal like others: blocked and pending while instructions are executed that a tracer steps, blocked
 * where functions are watched, and delivered when it is let through. */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
#include <cpuid.h>
static volatile int got, code;
static volatile unsigned sum;
__attribute__((noinline)) static void work(void) { for (unsigned i = 0; i < 100; i++) sum = sum * 5 + i; }
static void h(int s, siginfo_t *i, void *u) { got++, code = i->si_code; }
static void stepped(void) {
	char area[4096] __attribute__((aligned(64)));
	__asm__ volatile("xor %%edx, %%edx; mov $3, %%eax; xsave %0" : "+m"(area) : : "rax", "rdx");
	uint16_t cs;
	__asm__ volatile("mov %%cs, %0" : "=r"(cs));
	__asm__ volatile("push %%rbx; mov %%rsp, %%rbx; mov %%ss, %%eax; push %%rax; push %%rbx; pushf; mov %%cs, %%eax; push %%rax; lea 1f(%%rip), %%rax; push %%rax; iretq; 1: pop %%rbx" : : : "rax", "memory", "cc");
}
static int blocked(void) {
	sigset_t m;
	CHECK(pthread_sigmask(SIG_SETMASK, 0, &m) == 0);
	return sigismember(&m, SIGTRAP);
}
static void *f(void *p) {
	CHECK(blocked());
	work();
	stepped();
	CHECK(blocked());
	return p;
}
int main(void) {
	sigset_t m, old, p;
	on(SIGTRAP, h, 0);
	sigemptyset(&m), sigaddset(&m, SIGTRAP);
	work();
	CHECK(pthread_sigmask(SIG_BLOCK, &m, &old) == 0);
	work();
	stepped();
	CHECK(blocked());
	struct sigaction a;
	CHECK(sigaction(SIGTRAP, 0, &a) == 0 && a.sa_sigaction == h);
	raise(SIGTRAP);
	work();
	stepped();
	work();
	CHECK(got == 0 && blocked());
	CHECK(sigpending(&p) == 0 && sigismember(&p, SIGTRAP));
	CHECK(pthread_sigmask(SIG_SETMASK, &old, 0) == 0);
	CHECK(got == 1 && code == SI_TKILL);
	/* to the process, with all signals blocked, and new threads */
	sigset_t all;
	sigfillset(&all);
	CHECK(pthread_sigmask(SIG_SETMASK, &all, 0) == 0);
	kill(getpid(), SIGTRAP);
	stepped();
	work();
	pthread_t t;
	CHECK(pthread_create(&t, 0, f, 0) == 0 && pthread_join(t, 0) == 0);
	CHECK(got == 1 && sigpending(&p) == 0 && sigismember(&p, SIGTRAP));
	CHECK(pthread_sigmask(SIG_SETMASK, &old, 0) == 0);
	CHECK(got == 2 && code == SI_USER);
	/* an int3 of its own */
	__asm__ volatile("int3");
	CHECK(got == 3 && code == SI_KERNEL);
	for (int i = 0; i < 50; i++) work();
	CHECK(sigaction(SIGTRAP, 0, &a) == 0 && a.sa_sigaction == h && !blocked());
	return OK();
}
