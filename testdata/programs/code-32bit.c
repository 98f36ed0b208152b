/* 32-bit code in a 64-bit process, by far branches: short and long, with faults, calls of the kernel, signals and in several threads. */
/* expect stdout: ok */
/* needs: does-32bit-code */
/* tells: 32-bit code */
/* armed: work */
#include "32bit.h"
static volatile unsigned sum;
static volatile int sig, ticks;
static volatile uint64_t at, addr;
__attribute__((noinline)) static void work(void) { for (unsigned i = 0; i < 100; i++) sum = sum * 5 + i; }
static void fault(int s, siginfo_t *i, void *u) {
	sig = s, at = rip(u), addr = (uint64_t)i->si_addr;
	CHECK((((ucontext_t *)u)->uc_mcontext.gregs[REG_CSGSFS] & 0xffff) == 0x23);
	((ucontext_t *)u)->uc_mcontext.gregs[REG_RIP] += 2;
}
static void tick(int s, siginfo_t *i, void *u) { ticks++; work(); }
static void *thread(void *low) {
	for (int i = 0; i < 200; i++) {
		CHECK(run32(low, short32) == 8);
		work();
		CHECK(getppid() > 0);
	}
	CHECK(run32(low, long32) == 300000);
	return low;
}
static void *excursions(struct low *low) {
	on(SIGILL, fault, 0);
	for (int i = 0; i < 20; i++) {
		CHECK(run32(low, short32) == 8);
		work();
		sig = 0;
		CHECK(run32(low, fault32) == 9);
		CHECK(sig == SIGILL && at == addr && at == fault_at(low));
		CHECK(run32(low, call32) == (unsigned)getpid());
		work();
	}
	CHECK(run32(low, long32) == 300000); /* more than is stepped */
	work();
	CHECK(getppid() > 0);
	work();
	return low;
}
int main(void) {
	struct low *low = low32();
	excursions(low);
	struct itimerval t = {{0, 2000}, {0, 2000}}, none = {{0, 0}, {0, 0}};
	on(SIGALRM, tick, SA_RESTART);
	CHECK(setitimer(ITIMER_REAL, &t, 0) == 0);
	while (ticks < 20) CHECK(run32(low, long32) == 300000);
	CHECK(setitimer(ITIMER_REAL, &none, 0) == 0);
	excursions(low);
	pthread_t threads[2];
	for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], 0, thread, low32()) == 0);
	for (int i = 0; i < 2; i++) CHECK(pthread_join(threads[i], 0) == 0);
	pid_t child = fork();
	if (child == 0) {
		excursions(low);
		_exit(7);
	}
	int status;
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	return OK();
}
