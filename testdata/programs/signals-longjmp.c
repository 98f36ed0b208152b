/* Handlers that never return. */
/* expect stdout: ok */
#include "check.h"
static sigjmp_buf back;
static volatile int k;
static void h(int s, siginfo_t *i, void *uc) { (void)s, (void)i, (void)uc; siglongjmp(back, 7); }
int main(void) {
	on(SIGUSR1, h, 0);
	on(SIGSEGV, h, 0);
	for (k = 0; k < 300; k++) {
		int r = sigsetjmp(back, 1);
		if (r == 0) {
			if (k & 1) *(volatile int *)8 = 1;
			else raise(SIGUSR1);
			CHECK(0);
		}
		CHECK(r == 7);
	}
	return OK();
}
