/* Calls of the C library that fail, and such that do not, in two threads. Each says itself what errno is. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void say(FILE *to, const char *what, int failed)
{
	int e = errno;

	if (failed)
		fprintf(to, "%s (%s)\n", what, strerror(e));
	else
		fprintf(to, "%s\n", what);
	errno = 0;
}

static void *calls(void *arg)
{
	FILE *to = arg;
	struct stat st;
	char c, *big;
	size_t huge = SIZE_MAX / 4;

	errno = EXDEV; /* what is left from before is not shown */
	for (int i = 0; i < 3; i++) {
		say(to, "open", open("/nonexistent", O_RDONLY) < 0);
		say(to, "open", open("/", O_WRONLY) < 0);
		say(to, "open", open("/", O_RDONLY) < 0);
		say(to, "close", close(12345) < 0);
		say(to, "read", read(-1, &c, 1) < 0);
		say(to, "lstat", lstat("/dev/null/x", &st) < 0);
		say(to, "mkdir", mkdir("/", 0755) < 0);
		big = malloc(huge);
		say(to, "malloc", !big);
		say(to, "mmap", mmap(0, 0, PROT_READ, MAP_PRIVATE, 3, 0) == MAP_FAILED);
		say(to, "fopen", !fopen("/nonexistent", "r"));
		say(to, "realpath", !realpath("", 0));
		say(to, "unlink", unlink("/proc/version") < 0);
	}
	return 0;
}

int main(void)
{
	pthread_t t;
	FILE *other = tmpfile();
	int c;

	calls(stdout);
	pthread_create(&t, 0, calls, other);
	pthread_join(t, 0);
	rewind(other);
	while ((c = getc(other)) != EOF)
		putchar(c);
	return 0;
}
