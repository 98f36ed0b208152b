/* Death by default action, with output before it. */
/* expect stdout: before */
/* expect exit: 136 */
#include "check.h"
#pragma GCC diagnostic ignored "-Wunused-result"
int main(void) {
	puts("before");
	fflush(stdout);
	volatile int z = 0; return 100 / z;
	return 0;
}
