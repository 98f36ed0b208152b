/* Forked children do what their creator could do: they compute, fork again, raise
 * signals, run threads. */
/* expect stdout: child 3 grandchild 4 thread 5 parent */
#include "check.h"
static volatile int n;
static void h(int s, siginfo_t *i, void *uc) { (void)s, (void)i, (void)uc; n++; }
static void *f(void *p) { n = 5; return p; }
int main(void) {
	int st;
	on(SIGUSR1, h, 0);
	if (fork() == 0) {
		for (int i = 0; i < 3; i++) raise(SIGUSR1);
		printf("child %d ", n);
		fflush(stdout);
		if (fork() == 0) {
			raise(SIGUSR1);
			printf("grandchild %d ", n);
			fflush(stdout);
			_exit(0);
		}
		CHECK(wait(&st) > 0 && st == 0);
		_exit(0);
	}
	CHECK(wait(&st) > 0 && st == 0);
	if (fork() == 0) {
		pthread_t t;
		pthread_create(&t, 0, f, 0);
		pthread_join(t, 0);
		printf("thread %d ", n);
		fflush(stdout);
		_exit(0);
	}
	CHECK(wait(&st) > 0 && st == 0);
	puts("parent");
}
