/* The first thread ends long before the others do. */
/* expect stdout: last */
/* expect exit: 3 */
#include "check.h"
static void *f(void *p) {
	usleep(50000);
	puts("last");
	exit(3);
	return p;
}
int main(void) {
	pthread_t t;
	pthread_create(&t, 0, f, 0);
	pthread_exit(0);
}
