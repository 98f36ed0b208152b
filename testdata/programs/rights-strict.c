/* Strict seccomp: read, write, exit and the return from signals, and death for all else. */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
#include <sys/prctl.h>
#include <linux/seccomp.h>
static volatile unsigned sum;
__attribute__((noinline)) static void work(void) { for (unsigned i = 0; i < 20; i++) sum = sum * 5 + i; }
__attribute__((noinline)) static void other(unsigned n) { for (unsigned i = 0; i < n; i++) sum = sum * 3 + i; }
int main(void) {
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	for (int i = 0; i < 30; i++) {
		work();
		other(100);
	}
	syscall(SYS_write, 1, "ok\n", 3);
	syscall(SYS_exit, 0);
}
