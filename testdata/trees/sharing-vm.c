// A child that shares its creator's memory and is no thread of it (CLONE_VM without CLONE_THREAD), and lives on when its creator has executed another program
// ("exec"), when a thread of the creator has ("thread"), or when the creator has ended ("exit"). It runs code that has not run before, takes a signal, creates
// a process, maps and unmaps memory and executes a program. What it puts out and ends with does not depend on any of that.

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static char stack[1 << 16] __attribute__((aligned(16)));
static int gone[2]; // its write end is the creator's alone, and closed by execve
static volatile sig_atomic_t signals;

static void handler(int s) {
	signals += s;
}

static unsigned long sum(unsigned long n) {
	unsigned long s = 0;
	for (unsigned long i = 0; i < n; i++)
		s += (i * i) ^ (s >> 3);
	return s;
}

static void say(const char *what, unsigned long n) {
	char b[64];
	if (write(1, b, snprintf(b, sizeof b, "%s %lx\n", what, n)) < 0)
		_exit(1);
}

static int child(void *unused) {
	char c;
	int status;
	close(gone[1]);
	while (read(gone[0], &c, 1) > 0)
		;
	say("sum", sum(100000));
	kill(getpid(), SIGUSR1);
	say("signals", signals);
	unsigned char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, "\xb8\x05\x00\x00\x00\xc3", 6); // mov $5, %eax; ret
	say("code", ((int (*)(void))code)());
	munmap(code, 4096);
	pid_t p = fork();
	if (p == 0) {
		say("fork", sum(2000));
		_exit(3);
	}
	waitpid(p, &status, 0);
	say("status", WEXITSTATUS(status));
	p = vfork();
	if (p == 0)
		_exit(4);
	waitpid(p, &status, 0);
	say("status", WEXITSTATUS(status));
	execl("/bin/sh", "sh", "-c", "echo program; exit 7", (char *)0);
	_exit(1);
}

static void *executes(void *unused) {
	execl("/proc/self/exe", "sharing-vm", "again", (char *)0);
	return unused;
}

int main(int argc, char **argv) {
	int status;
	if (!strcmp(argv[1], "again")) {
		if (wait(&status) < 0)
			return 1;
		say("the child ended with", WEXITSTATUS(status));
		return 4;
	}
	if (!strcmp(argv[1], "exit")) { // who inherits the child
		prctl(PR_SET_CHILD_SUBREAPER, 1);
		pid_t p = fork();
		if (p > 0) {
			waitpid(p, &status, 0);
			char *again[] = {"sharing-vm", "again", 0};
			return main(2, again);
		}
	}
	if (pipe2(gone, O_CLOEXEC))
		return 1;
	signal(SIGUSR1, handler);
	if (clone(child, stack + sizeof stack, CLONE_VM | SIGCHLD, 0) < 0)
		return 1;
	if (!strcmp(argv[1], "exit"))
		_exit(5);
	if (!strcmp(argv[1], "thread")) {
		pthread_t t;
		pthread_create(&t, 0, executes, 0);
		pause();
	}
	executes(0);
	return 2;
}
