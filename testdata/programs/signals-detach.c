/* Threads are sent signals one after the other while one of them asks to be traced by its parent, which has the process detached:
 * all signals arrive, once each, in their order, and with what they were sent with. */
/* expect stdout: ok */
/* untraced: it traces itself */
#include "check.h"
#include <sys/ptrace.h>
#include <sys/wait.h>
enum { THREADS = 3, ROUNDS = 60, DETACH = 20 };
static volatile int got[THREADS], wrong, stop;
static int ready;
static pthread_t threads[THREADS];
static __thread int me;
static void rt(int s, siginfo_t *i, void *u) {
	int n = got[me] + 1;
	if (i->si_code != SI_QUEUE || i->si_pid != getpid() || i->si_value.sival_int != n) wrong++;
	got[me] = n;
}
static void usr(int s, siginfo_t *i, void *u) {
	int n = got[me] + 1;
	if (i->si_code != SI_TKILL || i->si_pid != getpid()) wrong++;
	got[me] = n;
}
static void *spin(void *p) {
	me = (intptr_t)p;
	__atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
	while (!stop) {
		for (int i = 0; i < 10; i++) idle();
		usleep(20);
	}
	return 0;
}
static void *sender(void *p) {
	while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) != THREADS) usleep(20);
	for (int n = 1; n <= ROUNDS; n++) {
		for (int t = 0; t < THREADS; t++)
			if (t & 1) CHECK(pthread_kill(threads[t], SIGUSR1) == 0);
			else CHECK(pthread_sigqueue(threads[t], SIGRTMIN, (union sigval){.sival_int = n}) == 0);
		for (int t = 0; t < THREADS; t++)
			for (int i = 0; got[t] != n; i++, usleep(20)) CHECK(i < 100000);
		if (n == DETACH) *(volatile int *)p = 1;
	}
	stop = 1;
	return 0;
}
static void *detach(void *p) {
	while (!*(volatile int *)p) usleep(50);
	CHECK(syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0) == 0); /* no import: whose has it is taken for a debugger */
	return 0;
}
static int program(void) {
	volatile int now = 0;
	pthread_t s, d;
	on(SIGRTMIN, rt, SA_RESTART);
	on(SIGUSR1, usr, SA_RESTART);
	threads[0] = pthread_self();
	for (intptr_t t = 1; t < THREADS; t++) CHECK(pthread_create(&threads[t], 0, spin, (void *)t) == 0);
	CHECK(pthread_create(&d, 0, detach, (void *)&now) == 0);
	CHECK(pthread_create(&s, 0, sender, (void *)&now) == 0);
	spin(0);
	CHECK(pthread_join(s, 0) == 0 && pthread_join(d, 0) == 0);
	for (int t = 1; t < THREADS; t++) CHECK(pthread_join(threads[t], 0) == 0);
	CHECK(!wrong);
	return OK();
}
/* The parent is the program's own: it waits for each traced thread, without which the program would never have ended. */
int main(void) {
	int status;
	pid_t p, child = fork();
	CHECK(child >= 0);
	if (!child) return program();
	while ((p = waitpid(-1, &status, __WALL)) > 0)
		if (p == child && !WIFSTOPPED(status)) return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	return 1;
}
