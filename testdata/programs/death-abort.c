/* Death by default action, with output before it. */
/* expect stdout: before */
/* expect exit: 134 */
#include "check.h"
#pragma GCC diagnostic ignored "-Wunused-result"
int main(void) {
	puts("before");
	fflush(stdout);
	abort();
	return 0;
}
