/* A kernel that has no restartable sequences has no barriers for them either. */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
enum { QUERY = 0, PRIVATE = 1 << 3, REGISTER = 1 << 4, RSEQ = 1 << 7, REGISTER_RSEQ = 1 << 8 };
static long barrier(int command) { return syscall(SYS_membarrier, command, 0, 0); }
__attribute__((noinline)) static void work(void) {
	/* registering nothing is refused in any case: how, says whether the call is there */
	CHECK(syscall(SYS_rseq, 0, 0, 0, 0) == -1);
	int there = errno != ENOSYS;
	long can = barrier(QUERY);
	CHECK(can > 0 && (can & PRIVATE) && !(can & RSEQ) == !there && !(can & REGISTER_RSEQ) == !there);
	for (int i = 0; i < 2; i++) {
		errno = 0;
		CHECK(barrier(REGISTER_RSEQ) == (there ? 0 : -1) && (there || errno == EINVAL));
		CHECK(barrier(RSEQ) == (there ? 0 : -1) && (there || errno == EINVAL));
		CHECK(barrier(REGISTER) == 0 && barrier(PRIVATE) == 0);
	}
}
int main(void) {
	for (int i = 0; i < 3; i++) work();
	return OK();
}
