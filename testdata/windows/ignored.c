/* Calls a function 50 times with instructions that the tracer executes for the program
 * while it records, since it has no code for what they access. Another thread on the same
 * processor sends signals that nobody handles: often one is waiting when the tracer stops
 * the thread. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>

static volatile long sum;
static volatile int done;
static char area[4096] __attribute__((aligned(64)));
static pthread_t first;

__attribute__((noinline, noclone)) static void target(void) {
	__asm__ volatile("xsavec %0\n\txrstor %0" : "+m"(area) : "a"(7), "d"(0));
	sum++;
}

static void *sender(void *p) {
	while (!done) {
		pthread_kill(first, SIGWINCH);
		for (volatile int i = 0; i < 20000; i++) {}
	}
	return p;
}

int main(void) {
	cpu_set_t set;
	pthread_t t;
	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	if (sched_setaffinity(0, sizeof set, &set)) return 1;
	first = pthread_self();
	if (pthread_create(&t, 0, sender, 0)) return 2;
	for (int i = 0; i < 50; i++) target();
	done = 1;
	pthread_join(t, 0);
	printf("%ld\n", sum);
	return 0;
}
