/* Entries into handlers where there are several threads, and where they interrupt calls: who changes a handler, who takes what a handler blocks, what
 * becomes of the call, and which masks hold. */
/* expect stdout: ok */
#include "check.h"
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/epoll.h>
static volatile int hits, since, who, taken, quit, calling;
static volatile pid_t victim;
static pthread_t first_thread;
static ucontext_t last;
static sigset_t within;
static int pipes[2];
static sem_t sem;
static inline __attribute__((always_inline)) long call(long n, long a, long b, long c, long d, long e, long f) {
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	__asm__ volatile("syscall" : "+a"(n) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return n;
}
/* failed tells whether the handler has interrupted a call, which fails. */
static int failed(void) {
	greg_t *g = last.uc_mcontext.gregs;
	return g[REG_RAX] == -EINTR && !memcmp((char *)g[REG_RIP] - 2, "\x0f\x05", 2);
}
static void seen(int id, void *u) {
	memcpy(&last, u, sizeof last);
	sigprocmask(SIG_SETMASK, 0, &within);
	who = id;
	if (calling == 1 && failed()) calling = 0; /* what comes before the call is entered ends nothing */
	__atomic_add_fetch(&hits, 1, __ATOMIC_SEQ_CST);
}
static void a(int s, siginfo_t *i, void *u) { CHECK(gettid() == victim && i->si_code == SI_TKILL); seen(1, u); }
static void b(int s, siginfo_t *i, void *u) { CHECK(gettid() == victim && i->si_code == SI_TKILL); seen(2, u); }

/* Another thread changes the handler, and sends the signal at once. */
static void *computes(void *p) {
	victim = gettid();
	unsigned long h = 1;
	while (!quit) for (int i = 0; i < 100; i++) h = h * 31 + i;
	return (void *)h;
}
static void *bothers(void *p) {
	while (!quit) {
		int was = hits;
		pthread_kill(*(pthread_t *)p, SIGUSR1);
		while (hits == was && !quit) sched_yield();
	}
	return 0;
}
static void changed(void) {
	pthread_t t;
	victim = 0, quit = 0, hits = 0;
	CHECK(pthread_create(&t, 0, computes, 0) == 0);
	while (!victim) sched_yield();
	for (int n = 0; n < 60; n++) {
		on(SIGUSR1, n & 1 ? b : a, n & 2 ? SA_RESTART : 0);
		for (int k = 0; k < 4; k++) {
			int was = hits;
			CHECK(pthread_kill(t, SIGUSR1) == 0);
			while (hits == was) sched_yield();
			CHECK(who == (n & 1 ? 2 : 1));
		}
	}
	pthread_t u; /* a third one sends all the time */
	CHECK(pthread_create(&u, 0, bothers, &t) == 0);
	for (int n = 0; n < 100; n++) {
		on(SIGUSR1, n & 1 ? b : a, n & 2 ? SA_RESTART : 0);
		for (int was = hits; hits < was + 2;) sched_yield();
		CHECK(who == (n & 1 ? 2 : 1));
	}
	quit = 1;
	CHECK(pthread_join(t, 0) == 0 && pthread_join(u, 0) == 0);
}

/* A signal that waits for the process is to be taken by the first thread, whose handler for another one blocks it: another thread takes it. */
static void takes(int s) { taken = 1; }
static void wakes(int s) {}
static void waits(int s) {
	struct timespec from, now;
	clock_gettime(CLOCK_MONOTONIC, &from);
	while (!taken) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		CHECK(now.tv_sec - from.tv_sec < 20);
		sched_yield();
	}
	hits++;
}
static void *sleeps(void *p) { /* until it takes SIGUSR2; who has is woken */
	while (hits < 15) pause();
	return 0;
}
static void *sends(void *p) {
	sigset_t own;
	sigemptyset(&own), sigaddset(&own, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &own, 0);
	for (int n = 0; n < 15; n++) {
		while (hits != n || !calling) sched_yield();
		calling = taken = 0;
		kill(getpid(), SIGUSR2);
		pthread_kill(first_thread, SIGUSR1);
		sched_yield();
	}
	return 0;
}
static void blocked(void) {
	cpu_set_t one, all;
	CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
	CPU_ZERO(&one);
	for (int c = 0; c < CPU_SETSIZE; c++) if (CPU_ISSET(c, &all)) { CPU_SET(c, &one); break; }
	CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
	struct sigaction s = {.sa_handler = waits};
	sigaddset(&s.sa_mask, SIGUSR2);
	CHECK(sigaction(SIGUSR1, &s, 0) == 0);
	CHECK(signal(SIGUSR2, takes) != SIG_ERR && signal(SIGURG, wakes) != SIG_ERR);
	pthread_t t[2];
	hits = calling = 0;
	CHECK(pthread_create(&t[0], 0, sleeps, 0) == 0 && pthread_create(&t[1], 0, sends, 0) == 0);
	usleep(1000);
	while (hits < 15) {
		calling = 1;
		for (int k = 0; k < 100 && calling; k++) sched_yield();
	}
	while (pthread_tryjoin_np(t[0], 0)) pthread_kill(t[0], SIGURG), usleep(100);
	CHECK(pthread_join(t[1], 0) == 0);
	CHECK(sched_setaffinity(0, sizeof all, &all) == 0);
}

/* Calls of the first thread are interrupted by another one. */
static void *interrupts(void *p) {
	for (int n = 0; !quit; n++) {
		usleep(100);
		if (!calling) continue;
		int was = hits;
		pthread_kill(first_thread, SIGUSR1);
		while (hits == was && calling && !quit) sched_yield();
		if (calling == 2 && hits > since + 4) { /* the call is made again until there is something to be had */
			calling = 0;
			usleep(100);
			CHECK(write(pipes[1], "x", 1) == 1 && sem_post(&sem) == 0);
		}
	}
	return 0;
}
static void begin(int how) { since = hits, calling = how; }
#define ENDS(c) \
	do { \
		begin(1); \
		CHECK((c) == -EINTR && failed() && !calling); \
	} while (0)
static void calls(int flags) {
	char c;
	struct timespec t = {100, 0}, rest = {0, 0};
	struct pollfd fd = {pipes[0], POLLIN, 0};
	sigset_t own, old;
	on(SIGUSR1, a, flags);
	sigemptyset(&own), sigaddset(&own, SIGHUP);
	if (flags & SA_RESTART) {
		begin(2);
		CHECK(call(SYS_read, pipes[0], (long)&c, 1, 0, 0, 0) == 1 && hits > since + 4 && c == 'x' && !failed());
		while (sem_wait(&sem)) CHECK(errno == EINTR);
		begin(2);
		CHECK(sem_wait(&sem) == 0 && read(pipes[0], &c, 1) == 1); /* a futex */
	} else {
		for (int k = 0; k < 4; k++) ENDS(call(SYS_read, pipes[0], (long)&c, 1, 0, 0, 0));
	}
	for (int k = 0; k < 4; k++) { /* never made again, though the handler wants it */
		ENDS(call(SYS_nanosleep, (long)&t, (long)&rest, 0, 0, 0, 0));
		CHECK(rest.tv_sec >= 50);
		ENDS(call(SYS_poll, (long)&fd, 1, -1, 0, 0, 0));
		ENDS(call(SYS_pause, 0, 0, 0, 0, 0, 0));
		ENDS(call(SYS_rt_sigtimedwait, (long)&own, 0, (long)&t, 8, 0, 0));
	}
	int e = epoll_create1(0);
	struct epoll_event ev;
	for (int k = 0; k < 6; k++) { /* with a mask for the call's time */
		ENDS(call(SYS_ppoll, (long)&fd, 1, 0, (long)&own, 8, 0));
		CHECK(sigismember(&within, SIGHUP) && sigismember(&within, SIGUSR1) && !sigismember(&last.uc_sigmask, SIGHUP));
		ENDS(call(SYS_rt_sigsuspend, (long)&own, 8, 0, 0, 0, 0));
		CHECK(sigismember(&within, SIGHUP) && !sigismember(&last.uc_sigmask, SIGHUP));
		ENDS(call(SYS_epoll_pwait, e, (long)&ev, 1, -1, (long)&own, 8));
		CHECK(sigismember(&within, SIGHUP) && !sigismember(&last.uc_sigmask, SIGHUP));
		ENDS(call(SYS_epoll_pwait, e, (long)&ev, 1, -1, 0, 8));
		CHECK(!sigismember(&within, SIGHUP));
		sigprocmask(SIG_SETMASK, 0, &old);
		CHECK(!sigismember(&old, SIGHUP) && !sigismember(&old, SIGUSR1));
	}
	close(e);
	for (int k = 0; k < 6; k++) { /* between two instructions */
		begin(1);
		for (int was = hits; hits == was;) idle();
		calling = 0;
	}
}
int main(void) {
	first_thread = pthread_self();
	changed();
	blocked();
	CHECK(pipe(pipes) == 0 && sem_init(&sem, 0, 0) == 0);
	victim = gettid(), quit = calling = 0;
	pthread_t t;
	CHECK(pthread_create(&t, 0, interrupts, 0) == 0);
	for (int n = 0; n < 3; n++) calls(0), calls(SA_RESTART);
	quit = 1;
	CHECK(pthread_join(t, 0) == 0);
	return OK();
}
