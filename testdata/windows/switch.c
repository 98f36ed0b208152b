/* What a window that opens at each call of target and closes at its return has to
   get right. The argument says which case runs; each calls target a known number of
   times. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile long sink, handled;
static long s;
static jmp_buf out;

long target(long n);
static long (*volatile again)(long) = target; /* lest the compiler makes a loop of it */

/* Direct, and through itself: the innermost return closes. */
__attribute__((noinline)) long target(long n) {
	sink += n;
	return n > 100 ? again(n - 100) + 1 : n;
}

/* Left by longjmp every time. */
__attribute__((noinline)) void leaver(long n) {
	sink += n;
	if (n >= 0) longjmp(out, 1);
}

/* Ends with a jump to another function, whose return is its own. */
__attribute__((noinline)) long tail(long n) {
	sink += 2;
	return target(n);
}

/* Returns where the stack pointer is as in tail, to another place. */
__attribute__((noinline)) long opener(long n) { return sink += n; }

static void handler(int sig) {
	(void)sig;
	static struct itimerval off;
	if (++handled == 200) setitimer(ITIMER_REAL, &off, NULL); /* a slow tracer must not see nothing else */
	sink += target(1);
}

static void *worker(void *arg) {
	for (int i = 0; i < 500; i++) sink += target((long)arg);
	return NULL;
}

static __attribute__((noinline)) int late(int n) { /* code that was not seen before */
	for (int i = 0; i < 10; i++) n = n * 5 % 7;
	return n;
}

/* Quiet for longer than what is watched stays translated for. */
static int slow(void) {
	struct timespec t = {0, 100 * 1000 * 1000};
	for (int i = 0; i < 14; i++) nanosleep(&t, NULL);
	sink += target(1);
	return late(3) ? 3 : 4;
}

int main(int argc, char **argv) {
	const char *what = argc > 1 ? argv[1] : "loop";
	if (!strcmp(what, "loop")) {
		for (int i = 0; i < 3000; i++) s += target(i % 100);
	} else if (!strcmp(what, "recursion")) {
		for (int i = 0; i < 500; i++) s += target(350);
	} else if (!strcmp(what, "deep")) { /* more frames than are kept */
		struct { char room[1 << 10]; } x = {{0}};
		s += target(100 * 70000) + x.room[5];
		s += target(3);
	} else if (!strcmp(what, "longjmp")) {
		for (volatile int i = 0; i < 500; i++) {
			if (!setjmp(out)) leaver(i);
			s += target(i % 100);
		}
	} else if (!strcmp(what, "tail")) {
		for (int i = 0; i < 500; i++) s += tail(i % 100);
	} else if (!strcmp(what, "tails")) {
		for (int i = 0; i < 500; i++) s += tail(i % 100);
		s += opener(1);
	} else if (!strcmp(what, "signals")) {
		struct itimerval t = {{0, 300}, {0, 300}};
		signal(SIGALRM, handler);
		setitimer(ITIMER_REAL, &t, NULL);
		for (int i = 0; i < 30000; i++) s += target(i % 100);
		memset(&t, 0, sizeof t);
		setitimer(ITIMER_REAL, &t, NULL);
	} else if (!strcmp(what, "threads")) {
		pthread_t t[3];
		for (int i = 0; i < 700; i++) s += target(i % 100);
		for (long i = 0; i < 3; i++) pthread_create(&t[i], NULL, worker, (void *)i);
		for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
		for (int i = 0; i < 700; i++) s += target(i % 100);
	} else if (!strcmp(what, "children")) {
		for (int i = 0; i < 20; i++) {
			s += target(i);
			pid_t p = i & 1 ? fork() : vfork();
			if (p == 0) {
				for (int j = 0; j < 5; j++) sink += target(j);
				_exit(3);
			}
			int st = 0;
			waitpid(p, &st, 0);
			s += WEXITSTATUS(st) + target(i);
		}
	} else if (!strcmp(what, "slow")) {
		s = target(1);
		pid_t p = vfork();
		if (p == 0) _exit(slow());
		int st = 0;
		s += target(2);
		waitpid(p, &st, 0);
		s += WEXITSTATUS(st);
	}
	printf("%s %ld %ld\n", what, s, handled);
	return 0;
}
