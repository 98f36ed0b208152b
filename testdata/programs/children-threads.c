/* Forks and spawns from several threads at a time. */
/* expect stdout: ok */
#include "check.h"
static void *f(void *p) {
	for (int i = 0; i < 10; i++) {
		int st;
		pid_t c = i & 1 ? fork() : vfork();
		if (c == 0) _exit(i + 1);
		CHECK(c > 0 && waitpid(c, &st, 0) == c && WEXITSTATUS(st) == i + 1);
	}
	return p;
}
int main(void) {
	pthread_t t[4];
	for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, f, 0);
	for (int i = 0; i < 4; i++) CHECK(pthread_join(t[i], 0) == 0);
	return OK();
}
