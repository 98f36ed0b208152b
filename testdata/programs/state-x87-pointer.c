/* The x87 tells where its last instruction lies: in environments, saved states, frames of signals and
 * contexts, and there it is the program's own. */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
#include <ucontext.h>
extern char here[], there[], divides[];
static double one = 1;
static char fx[512] __attribute__((aligned(64))), xs[8192] __attribute__((aligned(64)));
static uint32_t env[7], all[27];
static volatile int n;

/* Processors may tell the low half only. Some (AMD) forget it when the kernel switches threads while no exception waits: 0 then. */
static int is(uint64_t p, const char *at) { return p == (uint64_t)at || p == (uint32_t)(uint64_t)at; }
static int was(uint64_t p, const char *at) { return is(p, at) || p == 0; }

__attribute__((noinline)) void load(void) { __asm__ volatile("fldl %0\nfstp %%st(0)\nthere: fldl %0" : : "m"(one)); }

static void looks(int sig, siginfo_t *i, void *uc) {
	(void)sig, (void)i;
	CHECK(is(((ucontext_t *)uc)->uc_mcontext.fpregs->rip, divides));
	((ucontext_t *)uc)->uc_mcontext.fpregs->swd &= ~0x80ff;
	n++;
}

__attribute__((noinline)) void work(int k) {
	__asm__ volatile("here: fldl %1\nfnstenv %0\nfninit" : "=m"(env) : "m"(one));
	CHECK(was(env[3], here));
	load(); /* in another block, maybe in another mapping */
	__asm__ volatile("fnstenv (%0)\nfninit" : : "r"(env) : "memory");
	CHECK(was(env[3], there));
	load();
	__asm__ volatile("fnsave 4(%0, %1, 4)" : : "r"(all), "r"(-1L) : "memory");
	CHECK(was(all[3], there));
	load(); /* flags and registers are what they were behind it */
	uint64_t c = 0x1234567800000001, d = 77;
	__asm__ volatile("cmp $1, %%ecx\nfnstenv (%2)\njne 1f\ninc %%rcx\n1: fninit" : "+c"(c), "+a"(d) : "r"(env) : "memory");
	CHECK(c == 0x1234567800000002 && d == 77 && was(env[3], there));

	/* a division by zero that waits, and a signal for it */
	uint16_t cw = 0x37b;
	__asm__ volatile("fldcw %2\nfld1\nfldz\ndivides: fdivrp\nfxsave64 %0\nmov $3, %%eax\nxor %%edx, %%edx\nxsave64 %1\nfwait\nfninit"
		: "=m"(fx), "=m"(xs) : "m"(cw) : "eax", "edx");
	CHECK(is(*(uint64_t *)(fx + 8), divides));
	CHECK(is(*(uint64_t *)(xs + 8), divides));
	CHECK(n == k + 1);

	ucontext_t u;
	load();
	CHECK(getcontext(&u) == 0);
	memcpy(env, u.uc_mcontext.fpregs, sizeof env); /* as fnstenv writes it */
	CHECK(was(env[3], there));
	__asm__ volatile("fnstenv %0\nfninit" : "=m"(env));
	CHECK(was(env[3], there));
}

int main(void) {
	on(SIGFPE, looks, 0);
	for (int k = 0; k < 5; k++) work(k);
	puts("ok");
	return 0;
}
