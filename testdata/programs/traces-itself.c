/* A program that asks to be traced by its parent, to see whether it is already:
 * it runs on untraced. */
/* expect stdout: ok */
/* untraced: it traces itself */
#include "check.h"
#include <sys/ptrace.h>
static volatile int stop;
static void *spin(void *p) { while (!stop) idle(); return p; }
int main(void) {
	pthread_t t[2];
	for (int i = 0; i < 2; i++) CHECK(pthread_create(&t[i], 0, spin, 0) == 0);
	usleep(1000);
	CHECK(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
	stop = 1;
	for (int i = 0; i < 2; i++) CHECK(pthread_join(t[i], 0) == 0);
	return OK();
}
