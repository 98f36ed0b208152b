/* Children by posix_spawn alone: one after the other and side by side, with other files, another
 * group and other signals, from two threads, and such that cannot be started. */
/* expect stdout: ok */
#include "check.h"
#include <fcntl.h>
#include <spawn.h>
extern char **environ;

/* What the child writes comes through a pipe that only a file action gives it. */
static void piped(const char *text) {
	int p[2], st;
	pid_t c;
	char got[64] = {0};
	char *argv[] = {"sh", "-c", "read line; echo $line$line; exit 3", 0};
	posix_spawn_file_actions_t files;
	CHECK(pipe2(p, O_CLOEXEC) == 0);
	int in = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (in < 0) in = memfd_create("in", MFD_CLOEXEC);
	CHECK(in >= 0 && write(in, text, strlen(text)) > 0 && lseek(in, 0, SEEK_SET) == 0);
	CHECK(posix_spawn_file_actions_init(&files) == 0);
	CHECK(posix_spawn_file_actions_adddup2(&files, in, 0) == 0);
	CHECK(posix_spawn_file_actions_adddup2(&files, p[1], 1) == 0);
	CHECK(posix_spawnp(&c, "sh", &files, 0, argv, environ) == 0);
	close(p[1]);
	size_t n = 0;
	for (ssize_t k; n < sizeof got - 1 && (k = read(p[0], got + n, sizeof got - 1 - n)) > 0;) n += k;
	CHECK(waitpid(c, &st, 0) == c && WIFEXITED(st) && WEXITSTATUS(st) == 3);
	char want[64];
	snprintf(want, sizeof want, "%.*s%.*s\n", (int)strlen(text) - 1, text, (int)strlen(text) - 1, text);
	CHECK(strcmp(got, want) == 0);
	close(p[0]);
	close(in);
	posix_spawn_file_actions_destroy(&files);
}

/* A signal that the caller blocks and ignores is neither in the child. */
static void attributes(void) {
	posix_spawnattr_t a;
	sigset_t none, usr;
	int st;
	pid_t c;
	char *argv[] = {"sh", "-c", "kill -USR1 $$; exit 1", 0};
	sigemptyset(&none);
	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	CHECK(signal(SIGUSR1, SIG_IGN) != SIG_ERR && pthread_sigmask(SIG_BLOCK, &usr, 0) == 0);
	CHECK(posix_spawnattr_init(&a) == 0 && posix_spawnattr_setsigmask(&a, &none) == 0 && posix_spawnattr_setsigdefault(&a, &usr) == 0);
	CHECK(posix_spawnattr_setflags(&a, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP) == 0);
	CHECK(posix_spawn(&c, "/bin/sh", 0, &a, argv, environ) == 0);
	CHECK(waitpid(c, &st, 0) == c && WIFSIGNALED(st) && WTERMSIG(st) == SIGUSR1);
	posix_spawnattr_destroy(&a);
}

static void *many(void *text) {
	for (int i = 0; i < 4; i++) piped(text);
	return 0;
}

int main(void) {
	pthread_t t;
	pid_t c[4];
	int st;
	char *argv[] = {"sh", "-c", "exit 5", 0};
	piped("one\n");
	attributes();
	for (int i = 0; i < 4; i++) CHECK(posix_spawn(&c[i], "/bin/sh", 0, 0, argv, environ) == 0);
	for (int i = 0; i < 4; i++) CHECK(waitpid(c[i], &st, 0) == c[i] && WEXITSTATUS(st) == 5);
	for (int i = 0; i < 3; i++) CHECK(posix_spawn(&c[0], "/nonexistent", 0, 0, argv, environ) == ENOENT);
	CHECK(pthread_create(&t, 0, many, "two\n") == 0);
	many("three\n");
	CHECK(pthread_join(t, 0) == 0);
	return OK();
}
