// killed N: N children, each killed as soon as the kernel lists it, most of them within the fork that creates them: before they have stopped for a tracer,
// or before their creator's event was reported. A second process kills them (killed N thread: a second thread of the creator), after a delay that grows by a
// microsecond each four rounds. Says how many ended by the signal, and how many had exited themselves.

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct shared {
	atomic_int round; // whose child is to be killed; -1: none any more
	atomic_int done;
} *shared;
static pid_t creator;

// the child that a process's first thread has besides the killer; 0 none.
static pid_t childOf(pid_t p, pid_t but) {
	char path[64], text[256];
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", p, p);
	int fd = open(path, O_RDONLY);
	int n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	for (char *at = text; *at;) {
		pid_t c = strtol(at, &at, 10);
		if (c && c != but)
			return c;
		at += *at == ' ';
	}
	return 0;
}

static void *killer(void *unused) {
	pid_t self = getpid();
	for (int round = 0; (round = shared->round) >= 0;) {
		if (shared->done >= round) {
			usleep(50);
			continue;
		}
		pid_t c = childOf(creator, self);
		if (!c)
			continue;
		struct timespec delay = {0, 1000 * (round / 4)};
		if (delay.tv_nsec)
			nanosleep(&delay, 0);
		kill(c, SIGKILL);
		shared->done = round;
	}
	return unused;
}

int main(int argc, char **argv) {
	int n = atoi(argv[1]), killed = 0, exited = 0, status;
	shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	creator = getpid();
	pid_t other = 0;
	pthread_t t;
	if (argc > 2)
		pthread_create(&t, 0, killer, 0);
	else if ((other = fork()) == 0)
		_exit(killer(0) != 0);
	for (int i = 1; i <= n; i++) {
		shared->round = i;
		pid_t c = fork();
		if (c == 0)
			for (;;)
				pause();
		while (shared->done < i)
			usleep(50);
		waitpid(c, &status, 0);
		killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
		exited += WIFEXITED(status);
	}
	shared->round = -1;
	if (other)
		waitpid(other, &status, 0);
	else
		pthread_join(t, 0);
	printf("%d killed, %d exited\n", killed, exited);
	return 0;
}
