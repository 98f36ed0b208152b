/* Timers, directed signals and faults in many threads at a time. */
/* expect stdout: ok */
#include "check.h"
#define N 4
static __thread volatile int mine;
static volatile int total, stop;
static pthread_t t[N];
static void usr(int s, siginfo_t *i, void *uc) { (void)s, (void)i, (void)uc; mine++; __atomic_add_fetch(&total, 1, __ATOMIC_SEQ_CST); }
static void segv(int s, siginfo_t *i, void *uc) {
	(void)s;
	/* mine, so that the handler needs the thread's own fs base */
	CHECK(i->si_addr == (void *)(uintptr_t)(mine * 0 + 24));
	greg_t *g = ((ucontext_t *)uc)->uc_mcontext.gregs;
	CHECK(g[REG_RAX] == 24);
	static char there[8];
	g[REG_RAX] = (greg_t)there;
}
static void *f(void *p) {
	uint64_t h = 1;
	for (int i = 0; i < 200 || !stop; i++) {
		h = h * 31 + (uint64_t)i;
		if (i < 200) {
			uint64_t a = 24;
			__asm__ volatile("movq $1, (%%rax)" : "+a"(a) : : "memory");
			CHECK(a != 24);
		} else {
			idle();
		}
	}
	*(uint64_t *)p = h;
	return 0;
}
int main(void) {
	uint64_t r[N];
	on(SIGUSR1, usr, SA_RESTART);
	on(SIGSEGV, segv, 0);
	for (int i = 0; i < N; i++) CHECK(pthread_create(&t[i], 0, f, &r[i]) == 0);
	for (int k = 0; k < 64; k++) {
		/* one at a time: standard signals do not queue */
		int was = total;
		CHECK(pthread_kill(t[k % N], SIGUSR1) == 0);
		while (total == was) sched_yield();
	}
	CHECK(total == 64);
	stop = 1;
	for (int i = 0; i < N; i++) CHECK(pthread_join(t[i], 0) == 0);
	return OK();
}
