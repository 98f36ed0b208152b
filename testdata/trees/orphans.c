// Processes that are killed as soon as they have a child, most of them within fork, so that nobody but the child comes back from it.
//
// orphans N: N of them are killed by the first process, one after the other. Says how many processes there have been, each of which has counted itself, and what
// the children have ended with that it inherits.
// orphans N inherits: it inherits them all (a subreaper).
// orphans N thread: a second thread of each kills it instead.
// orphans N program: each of them executes the program anew, so that no other process has its stack.
// orphans last: the first process itself is killed, by its second thread; its child says so in a file.

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static struct shared {
	atomic_int processes, ended;
} *shared;

// kills a process once its first thread has a child.
static void killParent(pid_t p) {
	char path[64], c;
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", p, p);
	for (;;) {
		int fd = open(path, O_RDONLY);
		int n = read(fd, &c, 1);
		close(fd);
		if (n != 0)
			break;
	}
	kill(p, SIGKILL);
}

static void *killSelf(void *unused) {
	killParent(getpid());
	return unused;
}

static void parent(int byThread) {
	pthread_t t;
	if (byThread)
		pthread_create(&t, 0, killSelf, 0);
	shared->processes++;
	if (fork() > 0)
		for (;;)
			pause();
	shared->processes++;
	usleep(1000);
	shared->ended++;
	_exit(3);
}

static void last(void) {
	pthread_t t;
	pthread_create(&t, 0, killSelf, 0);
	if (fork() > 0)
		for (;;)
			pause();
	usleep(100000);
	close(open("lived", O_CREAT | O_WRONLY, 0600));
	_exit(3);
}

// Where the counters are in programs that are executed.
#define COUNTERS 100

static void count(void) {
	shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, COUNTERS, 0);
}

int main(int argc, char **argv) {
	const char *way = argc > 2 ? argv[2] : "";
	int n = atoi(argv[1]), byThread = !strcmp(way, "thread"), inherits = !strcmp(way, "inherits"), program = !strcmp(way, "program"), sum = 0, status;
	if (!strcmp(argv[1], "creator")) {
		count();
		parent(0);
	}
	if (n == 0)
		last();
	int counters = memfd_create("counters", 0);
	ftruncate(counters, sizeof *shared);
	dup2(counters, COUNTERS);
	count();
	shared->processes++;
	if (inherits)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int i = 0; i < n; i++) {
		pid_t p = fork();
		if (p == 0 && program)
			_exit(execl("/proc/self/exe", argv[0], "creator", (char *)0));
		if (p == 0)
			parent(byThread);
		if (!byThread)
			killParent(p);
		waitpid(p, &status, 0);
	}
	for (int i = 0; i < 10000 && shared->ended < n; i++)
		usleep(1000);
	while (inherits && wait(&status) > 0)
		sum += WEXITSTATUS(status);
	printf("%d processes, %d\n", shared->processes, sum);
	return 0;
}
