/* What every fixture needs: a check that says which condition did not hold and
 * ends the program, so that a fixture's exit status is its verdict. */
#ifndef CHECK_H
#define CHECK_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define CHECK(c) \
	do { \
		if (!(c)) { \
			dprintf(2, "%s:%d: %s does not hold (errno %d)\n", __FILE_NAME__, __LINE__, #c, errno); \
			_exit(99); \
		} \
	} while (0)

#define OK() (puts("ok"), 0)

/* on installs a handler with siginfo. */
static inline void on(int sig, void (*h)(int, siginfo_t *, void *), int flags) {
	struct sigaction a;
	memset(&a, 0, sizeof a);
	a.sa_sigaction = h;
	a.sa_flags = SA_SIGINFO | flags;
	CHECK(sigaction(sig, &a, 0) == 0);
}

/* rip is where a signal found the thread. */
static inline uint64_t rip(void *uc) { return ((ucontext_t *)uc)->uc_mcontext.gregs[16]; }

/* idle passes a little time in the program's own code with few instructions, so
 * that a recording of a thread that waits stays small. */
static inline void idle(void) {
	for (int i = 0; i < 20; i++) __asm__ volatile("pause; pause; pause; pause; pause; pause; pause; pause" : : : "memory");
}

extern char __executable_start, etext;

/* own tells whether an address lies in the program's own code. */
static inline int own(uint64_t a) { return a >= (uint64_t)&__executable_start && a < (uint64_t)&etext; }
#endif
