/* A thread that is not the first executes another program: the others vanish
 * and it takes over the process's id. */
/* expect stdout: again */
#include "check.h"
static volatile int sink;
static void *spin(void *p) { for (;;) { sink++; idle(); } return p; }
static void *f(void *p) {
	char **argv = p;
	execl("/proc/self/exe", argv[0], "again", (char *)0);
	CHECK(0);
	return 0;
}
int main(int argc, char **argv) {
	if (argc > 1) return puts(argv[1]) < 0;
	pthread_t t;
	pthread_create(&t, 0, spin, 0);
	pthread_create(&t, 0, spin, 0);
	pthread_create(&t, 0, f, argv);
	for (;;) pause();
}
