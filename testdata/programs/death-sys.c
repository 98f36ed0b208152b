/* Death by default action, with output before it. */
/* expect stdout: before */
/* expect exit: 159 */
#include "check.h"
#pragma GCC diagnostic ignored "-Wunused-result"
int main(void) {
	puts("before");
	fflush(stdout);
	raise(SIGSYS);
	return 0;
}
