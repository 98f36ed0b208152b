// Processes that are forked with restartable sequences: the C library has registered them in the first process, and expects of each thread that a child creates that
// it can. Three generations create threads outside of mark and within it, some of which take their area back and register it again. Each thread is moved to
// every processor that it may use: what sched_getcpu says comes from the area.
// Expected, traced as natively: in each generation "1: ok 1" (the number, whether all was right, whether all threads are registered) and what barriers of sequences there
// are, and the status 0; 'Fatal glibc error: rseq registration failed' and 6 for threads that are refused. With "exec" the last one executes "alone", which says whether a program that begins has
// them: natively "alone: 1", traced "alone: 0".
// With OWN it is a program with sequences of its own, by the section that libraries collect them in.

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef OWN
__attribute__((section("__rseq_cs"), used, aligned(32))) static unsigned long sequence[4];
#endif

enum { SIGNATURE = 0x53053053, LENGTH = 32, UNREGISTER = 1, RSEQ_BARRIER = 1 << 7 };

static struct rseq *area(void) {
	return (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

static int registered(void) {
	return *(volatile int *)&area()->cpu_id >= 0;
}

static int wrong, all = 1;

// anywhere has the calling thread run on each of its processors.
static void anywhere(void) {
	cpu_set_t may, one;
	sched_getaffinity(0, sizeof may, &may);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &may)) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			wrong += sched_setaffinity(0, sizeof one, &one) != 0 || sched_getcpu() != cpu;
			wrong += registered() && *(volatile int *)&area()->cpu_id != cpu;
		}
	sched_setaffinity(0, sizeof may, &may);
}

static void *thread(void *again) {
	all &= registered();
	if (again && registered()) {
		int gone = syscall(SYS_rseq, area(), LENGTH, UNREGISTER, SIGNATURE);
		wrong += gone == 0 && (syscall(SYS_rseq, area(), LENGTH, 0, SIGNATURE) != 0 || !registered());
	}
	anywhere();
	return 0;
}

static void create(void) {
	for (int i = 0; i < 2; i++) {
		pthread_t t;
		wrong += pthread_create(&t, 0, thread, i ? &wrong : 0) != 0 || pthread_join(t, 0) != 0;
	}
	anywhere();
}

__attribute__((noinline)) void mark(void) {
	create();
}

static int generation(int n, int execs, char *self) {
	int status = 0;
	if (n > 0) {
		create();
		mark();
		create();
		mark();
		create();
		printf("%d: %s %d, %ld\n", n, wrong ? "wrong" : "ok", all, syscall(SYS_membarrier, 0, 0, 0) & RSEQ_BARRIER);
		fflush(stdout);
	}
	if (n == 3) {
		if (execs)
			execl(self, self, "alone", (char *)0);
		return 0;
	}
	if (fork() == 0)
		_exit(generation(n + 1, execs, self) + wrong);
	wait(&status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
}

int main(int argc, char **argv) {
	const char *what = argc > 1 ? argv[1] : "";
	if (strcmp(what, "alone") == 0) {
		create();
		return printf("alone: %d\n", registered()) < 0 || wrong;
	}
	return generation(0, strcmp(what, "exec") == 0, argv[0]);
}
