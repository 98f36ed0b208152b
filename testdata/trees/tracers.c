/* A program that traces children of its own, and says whether it got them. Built as
 * DIRECT it calls ptrace itself, as LIBRARY it is what others link or load, with RAW it makes the
 * call by its number; else it has LIBRARY do it: named at the link, or, with LOADED, by dlopen. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef RAW
#define request(what, pid) syscall(SYS_ptrace, what, pid, 0, 0)
#else
#define request(what, pid) ptrace(what, pid, (void *)0, (void *)0)
#endif

#if defined DIRECT || defined LIBRARY || defined RAW
/* other's is a process that waits, and attached to by a call. */
static int other(int call) {
	int status;
	pid_t pid = fork();
	if (pid == 0) for (;;) pause();
	long got = request(call, pid);
	if (got == 0 && call == PTRACE_SEIZE) got = request(PTRACE_INTERRUPT, pid);
	if (got == 0) got = waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) ? 0 : -2;
	if (got == 0) got = request(PTRACE_DETACH, pid);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return (int)got;
}

/* one asks to be traced, after fork or vfork, and executes a program. */
static int one(int shares) {
	int status;
	pid_t pid = shares ? vfork() : fork();
	if (pid == 0) {
		if (request(PTRACE_TRACEME, 0) != 0) _exit(9);
		execl("/bin/true", "true", (char *)0);
		_exit(8);
	}
	waitpid(pid, &status, 0);
	if (!WIFSTOPPED(status)) return -1;
	long got = request(PTRACE_CONT, pid);
	waitpid(pid, &status, 0);
	return got == 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

void traces(void) {
	printf("attach %d\n", other(PTRACE_ATTACH));
	printf("seize %d\n", other(PTRACE_SEIZE));
	printf("fork %d\n", one(0));
	printf("vfork %d\n", one(1));
}
#endif

#ifndef LIBRARY
void traces(void);
int main(int argc, char **argv) {
	setvbuf(stdout, 0, _IONBF, 0);
#ifdef LOADED
	void *library = dlopen(argv[1], RTLD_NOW);
	void (*f)(void) = library ? (void (*)(void))dlsym(library, "traces") : 0;
	if (!f) return fprintf(stderr, "%s\n", dlerror()), 1;
	f();
#else
	traces();
#endif
	return 0;
}
#endif
