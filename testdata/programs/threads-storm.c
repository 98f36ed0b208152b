/* A thousand threads that hardly live: slots and rings are reused. */
/* expect stdout: 1000 */
#include "check.h"
static _Atomic int n;
static __thread int mine = 7;
static void *f(void *p) {
	CHECK(mine == 7);
	mine = (int)(intptr_t)p;
	n++;
	return 0;
}
int main(void) {
	pthread_t t[8];
	for (int i = 0; i < 125; i++) {
		for (int k = 0; k < 8; k++) CHECK(pthread_create(&t[k], 0, f, (void *)(intptr_t)k) == 0);
		for (int k = 0; k < 8; k++) CHECK(pthread_join(t[k], 0) == 0);
	}
	printf("%d\n", n);
}
