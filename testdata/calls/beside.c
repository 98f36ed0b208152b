// beside.c has calls, recursion, longjmp, loops with several ways through, threads of their own and a child: what analyses beside the
// program have to follow. Each thread's work is the same in every run.
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static __thread jmp_buf env;
static __thread int table[4096];
volatile int sink;

__attribute__((noinline)) int ways(int n) {
	int s = 0;
	for (int i = 0; i < n; i++) {
		if (i % 3 == 0)
			sink = i;
		else
			s += table[i * 7 % 4096];
		if (i % 5 == 0)
			table[i % 4096] = s;
	}
	return s;
}

__attribute__((noinline)) void deep(int n) {
	if (n == 0)
		longjmp(env, 1);
	deep(n - 1);
	sink = n;
}

__attribute__((noinline)) int fib(int n) {
	if (n < 2)
		return n;
	return fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) void *work(void *arg) {
	char buf[600];
	int n = (int)(long)arg;
	for (int k = 0; k < 10; k++)
		if (!setjmp(env))
			deep(k);
	memset(buf, n, sizeof buf);
	return (void *)(long)(ways(n) + fib(12) + buf[n % 600]);
}

int main(int argc, char **argv) {
	pthread_t t[2];
	void *r[2];
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, work, (void *)(3000 + 1000 * i));
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], &r[i]);
	long own = (long)work((void *)5000L);
	printf("%ld %ld %ld\n", (long)r[0], (long)r[1], own);
	fflush(stdout);
	if (argc > 1) {
		if (fork() == 0) {
			printf("%ld\n", (long)work((void *)2000L));
			return 3;
		}
		wait(0);
	}
	return 0;
}
