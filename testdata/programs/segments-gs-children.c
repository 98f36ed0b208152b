/* gs that a program has set is its threads' and its children's. */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
#include <sched.h>
#include <sys/auxv.h>
static uint64_t area[2][8];
static volatile unsigned sum;
__attribute__((noinline)) static void work(void) { for (unsigned i = 0; i < 100; i++) sum = sum * 5 + i; }
static inline uint64_t at(void) { uint64_t v; __asm__ volatile("mov %%gs:16, %0" : "=r"(v)); return v; }
static uint64_t base(void) { uint64_t b = 0; CHECK(syscall(SYS_arch_prctl, 0x1004, &b) == 0); return b; }
static void *f(void *p) {
	for (int i = 0; i < 10; i++) {
		CHECK(at() == (uint64_t)p && base() == (uint64_t)area[p == (void *)222]);
		work();
	}
	return p;
}
static int g(void *p) { f(p); return 0; }
static char stack[65536] __attribute__((aligned(16)));
static void all(uint64_t want) {
	pthread_t t;
	CHECK(pthread_create(&t, 0, f, (void *)want) == 0 && pthread_join(t, 0) == 0);
	pid_t c = fork();
	int st;
	if (c == 0) {
		f((void *)want);
		_exit(0);
	}
	CHECK(waitpid(c, &st, 0) == c && st == 0);
	c = clone(g, stack + sizeof stack, CLONE_VM | SIGCHLD, (void *)want);
	CHECK(c > 0 && waitpid(c, &st, 0) == c && st == 0);
	c = clone(g, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, (void *)want);
	CHECK(c > 0 && waitpid(c, &st, 0) == c && st == 0);
	CHECK(at() == want);
}
int main(void) {
	area[0][2] = 111, area[1][2] = 222;
	CHECK(syscall(SYS_arch_prctl, 0x1001, area[0]) == 0);
	all(111);
	work();
	CHECK(at() == 111);
	if (getauxval(AT_HWCAP2) & 2) { /* FSGSBASE */
		__asm__ volatile("wrgsbase %0" : : "r"(area[1]));
		all(222);
		work();
		CHECK(at() == 222);
	}
	return OK();
}
