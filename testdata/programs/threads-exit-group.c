/* The process ends while its threads compute. */
/* expect exit: 5 */
#include "check.h"
static volatile int sink;
static void *spin(void *p) { for (;;) { sink++; idle(); } return p; }
int main(void) {
	pthread_t t;
	for (int i = 0; i < 4; i++) pthread_create(&t, 0, spin, 0);
	usleep(20000);
	exit(5);
}
