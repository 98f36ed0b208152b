/* A program that closes itself to inspection and forks afterwards, as agents that hold keys do. */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
#include <sys/prctl.h>
static volatile unsigned sum;
__attribute__((noinline)) static void work(void) { for (unsigned i = 0; i < 100; i++) sum = sum * 5 + i; }
static void *f(void *p) { work(); return p; }
int main(void) {
	CHECK(prctl(PR_SET_DUMPABLE, 0) == 0);
	for (int k = 0; k < 3; k++) {
		pid_t c = fork();
		if (c == 0) {
			work();
			pid_t d = fork();
			if (d == 0) {
				work();
				_exit(prctl(PR_GET_DUMPABLE) + 3);
			}
			int st;
			CHECK(waitpid(d, &st, 0) == d && st == 3 << 8);
			pthread_t t;
			CHECK(pthread_create(&t, 0, f, 0) == 0 && pthread_join(t, 0) == 0);
			_exit(prctl(PR_GET_DUMPABLE) + 4);
		}
		int st;
		CHECK(waitpid(c, &st, 0) == c && st == 4 << 8);
		work();
	}
	CHECK(prctl(PR_GET_DUMPABLE) == 0);
	return OK();
}
