/* Threads that create children which share their memory, and attach to them at once: these may not have been seen yet by whoever traces the program, which is
 * detached as soon as they are. */
#include "../check.h"
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
enum { THREADS = 4 }; /* or as many as the argument says */
static char stacks[THREADS][16384] __attribute__((aligned(16)));
static int child(void *p) {
	syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
	for (;;) syscall(SYS_pause);
	return 0;
}
static void *attach(void *p) {
	char *stack = p;
	int pid = clone(child, stack + sizeof stacks[0], CLONE_VM | SIGCHLD, 0), status;
	CHECK(pid > 0);
	CHECK(ptrace(PTRACE_SEIZE, pid, 0, 0) == 0);
	CHECK(kill(pid, SIGKILL) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	return 0;
}
int main(int argc, char **argv) {
	pthread_t t[THREADS];
	int n = argc > 1 ? atoi(argv[1]) : THREADS;
	for (int i = 0; i < n; i++) CHECK(pthread_create(&t[i], 0, attach, stacks[i]) == 0);
	for (int i = 0; i < n; i++) CHECK(pthread_join(t[i], 0) == 0);
	return OK();
}
