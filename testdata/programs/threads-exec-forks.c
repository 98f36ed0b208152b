/* A thread that is not the first executes the program anew, time and again, while the first one creates
 * children and waits for them: it has just stopped for one of their ends, or is about to, when it is killed. */
/* expect stdout: ok */
#include "check.h"
static void *f(void *p) {
	char **argv = p, left[2] = {argv[1] ? (char)(argv[1][0] - 1) : '7', 0};
	if (left[0] & 1) usleep(2000);
	execl("/proc/self/exe", argv[0], left, (char *)0);
	CHECK(0);
	return 0;
}
int main(int argc, char **argv) {
	if (argc > 1 && argv[1][0] == '0') return OK();
	pthread_t t;
	pthread_create(&t, 0, f, argv);
	for (;;) {
		if (!fork()) _exit(0);
		wait(0);
	}
}
