/* A program with restartable sequences of its own, registered long after its start, gets one answer in all of its threads. */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
/* what libraries collect their sequences in */
__attribute__((section("__rseq_cs"), used, aligned(32))) static unsigned long sequence[4];
static _Thread_local struct { unsigned words[8]; } area __attribute__((aligned(32)));
static int asked(void) { return syscall(SYS_rseq, &area, sizeof area, 0, 0x53053053) == 0 ? 0 : errno; }
static int first, others[4];
static void *thread(void *n) {
	others[(long)n] = asked();
	return 0;
}
__attribute__((noinline)) static void work(int n) {
	pthread_t t;
	CHECK(pthread_create(&t, 0, thread, (void *)(long)n) == 0 && pthread_join(t, 0) == 0);
}
int main(void) {
	for (int i = 0; i < 300; i++) syscall(SYS_getppid);
	first = asked();
	for (int i = 0; i < 4; i++) {
		work(i);
		CHECK((others[i] == 0) == (first == 0) && (others[i] == ENOSYS) == (first == ENOSYS));
	}
	return OK();
}
