/* Death by default action, with output before it. */
/* expect stdout: before */
/* expect exit: 132 */
#include "check.h"
#pragma GCC diagnostic ignored "-Wunused-result"
int main(void) {
	puts("before");
	fflush(stdout);
	__asm__("ud2");
	return 0;
}
