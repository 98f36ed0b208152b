/* Death by default action, with output before it. */
/* expect stdout: before */
/* expect exit: 141 */
#include "check.h"
#pragma GCC diagnostic ignored "-Wunused-result"
int main(void) {
	puts("before");
	fflush(stdout);
	int p[2]; pipe(p); close(p[0]); write(p[1], "x", 1);
	return 0;
}
