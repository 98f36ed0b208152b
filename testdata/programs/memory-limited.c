/* A program that limits its own address space, and needs threads, memory and children afterwards. */
/* expect stdout: ok */
#include "check.h"
#include <sys/resource.h>
static volatile unsigned sum;
__attribute__((noinline)) static void work(void) { for (unsigned i = 0; i < 100; i++) sum = sum * 5 + i; }
static void *f(void *p) { work(); return p; }
int main(void) {
	struct rlimit l = {256 << 20, 256 << 20}, g;
	CHECK(setrlimit(RLIMIT_AS, &l) == 0);
	work();
	CHECK(getrlimit(RLIMIT_AS, &g) == 0 && g.rlim_cur == 256 << 20 && g.rlim_max == 256 << 20);
	pthread_t t;
	CHECK(pthread_create(&t, 0, f, 0) == 0 && pthread_join(t, 0) == 0);
	void *m = malloc(32 << 20);
	CHECK(m);
	memset(m, 1, 32 << 20);
	CHECK(system("test $(ulimit -v) = 262144 && /bin/true") == 0);
	pid_t c = fork();
	if (c == 0) {
		void *x = malloc(8 << 20);
		work();
		CHECK(getrlimit(RLIMIT_AS, &g) == 0 && g.rlim_cur == 256 << 20);
		_exit(x == 0);
	}
	int st;
	CHECK(waitpid(c, &st, 0) == c && st == 0);
	CHECK(mmap(0, 300 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
	work();
	return OK();
}
