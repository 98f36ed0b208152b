/* Threads that run into breakpoints natively all the time while the first thread opens and
 * closes windows, so that they are often stopped right behind one, before they have taken its
 * signal. The argument says which breakpoints; the second how often the first thread calls opener.
 *   probed   of a function that is watched; every call counts
 *   own      the program's own, for which it has a handler
 *   many     of functions that are first called by all at the same moment
 *   segment  none; the threads use gs, whose base they have set
 * It exits with 3 if everything that it has counted itself is right. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <asm/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 3, FUNCTIONS = 200 };
static volatile int stop;
volatile long calls;

/* Each begins with an instruction of one byte: behind the breakpoint there another one begins. */
#define FUNCTION(name) \
	".globl " name "\n .type " name ",@function\n" name ": push %rbp\n mov %rsp,%rbp\n add $0,%rdi\n" \
	" lock incq calls(%rip)\n lea 1(%rdi),%rax\n pop %rbp\n ret\n .size " name ",.-" name "\n .p2align 4\n"
asm(".text\n .p2align 4\n" FUNCTION("probed")
    ".altmacro\n .macro numbered n\n" FUNCTION("numbered\\n") ".endm\n"
    "first:\n .set i,0\n .rept 200\n numbered %i\n .set i,i+1\n .endr\n .noaltmacro\n");
long probed(long);
extern char first[]; /* the numbered ones, 32 bytes each */

__attribute__((noinline)) void opener(void) { __asm__ volatile(""); }

static volatile long traps;
static void trapped(int sig) {
	(void)sig;
	__sync_fetch_and_add(&traps, 1);
}

static const char *how;
static pthread_barrier_t ready;

static void *work(void *arg) {
	long n = 0;
	if (!strcmp(how, "many")) {
		for (int i = 0; i < FUNCTIONS; i++) {
			pthread_barrier_wait(&ready);
			for (int k = 0; k < 20; k++) n = ((long (*)(long))(first + 32 * i))(n);
		}
	} else if (!strcmp(how, "segment")) {
		long word = 77, got;
		syscall(SYS_arch_prctl, ARCH_SET_GS, &word);
		while (!stop) {
			__asm__ volatile("mov %%gs:0,%0" : "=r"(got));
			if (got != word) _exit(4);
			sched_yield();
		}
	} else while (!stop) {
		if (strcmp(how, "own")) n = probed(n), sched_yield();
		else {
			__asm__ volatile("int3" ::: "memory");
			n++;
		}
	}
	return (void *)n;
}

int main(int argc, char **argv) {
	pthread_t t[THREADS];
	long sum = 0;
	how = argv[1];
	signal(SIGTRAP, trapped);
	pthread_barrier_init(&ready, 0, THREADS);
	for (int i = 0; i < THREADS; i++) pthread_create(&t[i], 0, work, 0);
	for (int i = argc > 2 ? atoi(argv[2]) : 0; i > 0; i--) opener();
	stop = 1;
	for (int i = 0; i < THREADS; i++) {
		void *n;
		pthread_join(t[i], &n);
		sum += (long)n;
	}
	if (sum != (strcmp(how, "own") ? calls : traps)) printf("%ld calls, %ld counted, %ld traps\n", sum, calls, traps);
	return sum == (strcmp(how, "own") ? calls : traps) ? 3 : 1;
}
