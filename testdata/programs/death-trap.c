/* Death by default action, with output before it. */
/* expect stdout: before */
/* expect exit: 133 */
#include "check.h"
#pragma GCC diagnostic ignored "-Wunused-result"
int main(void) {
	puts("before");
	fflush(stdout);
	__asm__("int3");
	return 0;
}
