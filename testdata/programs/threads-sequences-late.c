/* A program that nothing tells of restartable sequences registers them late, in each of its threads: all get one answer */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
static _Thread_local struct { unsigned words[8]; } area __attribute__((aligned(32)));
static int asked(void) { return syscall(SYS_rseq, &area, sizeof area, 0, 0x53053053) == 0 ? 0 : errno; }
static int first, other;
static void *thread(void *n) {
	other = asked();
	return n;
}
static void create(void) {
	pthread_t t;
	CHECK(pthread_create(&t, 0, thread, 0) == 0 && pthread_join(t, 0) == 0);
	CHECK((other == 0) == (first == 0) && (other == ENOSYS) == (first == ENOSYS));
}
__attribute__((noinline)) static void work(void) { create(); }
int main(void) {
	for (int i = 0; i < 300; i++) syscall(SYS_getppid);
	first = asked();
	for (int i = 0; i < 4; i++) {
		create();
		work();
	}
	return OK();
}
