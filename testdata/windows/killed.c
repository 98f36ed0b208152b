// Children that are killed at any moment, by posix_spawn, vfork and fork, from four threads: also a parent within its fork, whose
// child lives on. Prints how many ended by themselves and how many were killed, which is always the same.

#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 25 };

extern char **environ;
static int ended, killed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void spawned(int round) {
	char *quick[] = {"true", 0}, *slow[] = {"sleep", "30", 0};
	int kills = round % 5 == 4, status;
	pid_t p;
	if (posix_spawnp(&p, kills ? "sleep" : "true", 0, 0, kills ? slow : quick, environ))
		exit(1);
	if (kills) {
		usleep(round * 137 % 3000);
		kill(p, SIGKILL);
	}
	if (waitpid(p, &status, 0) != p)
		exit(2);
	pthread_mutex_lock(&lock);
	killed += WIFSIGNALED(status);
	ended += status == 0;
	pthread_mutex_unlock(&lock);
}

static void *rounds(void *unused) {
	for (int i = 0; i < ROUNDS; i++) {
		spawned(i);
		int status;
		pid_t p = vfork();
		if (p == 0)
			_exit(0);
		waitpid(p, &status, 0);
		p = fork();
		if (p == 0) {
			if (fork() == 0)
				usleep(100);
			_exit(0);
		}
		kill(p, SIGKILL);
		waitpid(p, &status, 0);
	}
	return unused;
}

int main(void) {
	pthread_t t[THREADS];
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], 0, rounds, 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], 0);
	printf("%d ended, %d killed\n", ended, killed);
	return 0;
}
