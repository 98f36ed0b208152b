/* Death by default action, with output before it. */
/* expect stdout: before */
/* expect exit: 139 */
#include "check.h"
#pragma GCC diagnostic ignored "-Wunused-result"
int main(void) {
	puts("before");
	fflush(stdout);
	*(volatile int *)1 = 1;
	return 0;
}
