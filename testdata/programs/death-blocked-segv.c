/* Death by default action, with output before it. */
/* expect stdout: before */
/* expect exit: 139 */
#include "check.h"
#pragma GCC diagnostic ignored "-Wunused-result"
int main(void) {
	puts("before");
	fflush(stdout);
	sigset_t s; sigfillset(&s); sigprocmask(SIG_BLOCK, &s, 0); *(volatile int *)1 = 1;
	return 0;
}
