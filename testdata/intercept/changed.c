/* Prints what it is given, so that a test sees what was changed on the way: arguments in registers and on the stack, in vector registers, what
 * pointers lead to, results, and calls of the C library that fail. With an argument a second thread does the same. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) int number(int n) { return n + 1; }
__attribute__((noinline)) signed char tiny(signed char c) { return c; }
__attribute__((noinline)) double real(double x, float f) { return x + f; }
__attribute__((noinline)) int seventh(int a, int b, int c, int d, int e, int f, int g) { return a + b + c + d + e + f + g; }
__attribute__((noinline)) int text(const char *s)
{
	int n = 0;
	for (; *s; s++)
		n += *s != 'a';
	return n;
}
__attribute__((noinline)) void fill(int *p) { *p = 7; }
__attribute__((noinline)) int inner(int n)
{
	__asm__ volatile("");
	return n;
}
__attribute__((noinline)) int tail(int n) { return inner(n + 1); }

static void *work(void *unused)
{
	char word[] = "aaaaaaaa";
	int p = 0, failed = 0;
	printf("number %d\n", number(1));
	printf("tiny %d\n", tiny(1));
	printf("real %g\n", real(1, 2));
	printf("seventh %d\n", seventh(1, 1, 1, 1, 1, 1, 1));
	printf("text %d\n", text(word));
	printf("constant %d\n", text("aaaa"));
	fill(&p);
	printf("fill %d\n", p);
	errno = 0;
	printf("tail %d\n", tail(1));
	int fd = open("/dev/null", O_RDONLY);
	printf("open %s\n", fd < 0 ? strerror(errno) : "succeeds");
	for (int i = 0; i < 100; i++)
		failed += access("/", F_OK) != 0;
	printf("access failed %d of 100\n", failed);
	void *m = malloc(100000);
	printf("malloc %s\n", m ? "succeeds" : strerror(errno));
	return unused;
}

int main(int argc, char **argv)
{
	(void)argv;
	work(NULL);
	if (argc > 1) {
		pthread_t t;
		pthread_create(&t, NULL, work, NULL);
		pthread_join(t, NULL);
	}
	return 0;
}
