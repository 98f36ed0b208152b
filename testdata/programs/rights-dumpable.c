/* A program that closes itself to inspection, before it runs into new code. */
/* expect stdout: ok */
#include "check.h"
#include <sys/prctl.h>
#include <math.h>
int main(void) {
	CHECK(prctl(PR_SET_DUMPABLE, 0) == 0 && prctl(PR_GET_DUMPABLE) == 0);
	pthread_t t;
	CHECK(pthread_create(&t, 0, (void *(*)(void *))puts, "ok") == 0 && pthread_join(t, 0) == 0);
	for (int i = 0; i < 3; i++) {
		int st;
		pid_t c = fork();
		if (c == 0) _exit(i);
		CHECK(waitpid(c, &st, 0) == c && WEXITSTATUS(st) == i);
	}
	return 0;
}
