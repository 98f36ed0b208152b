/* Cancellation, deferred and asynchronous: by a signal that unwinds. */
/* expect stdout: ok */
#include "check.h"
static int cleaned;
static volatile long sink;
static void clean(void *p) { cleaned += (int)(intptr_t)p; }
static void *sleeps(void *p) {
	pthread_cleanup_push(clean, (void *)1);
	for (;;) sleep(10);
	pthread_cleanup_pop(0);
	return p;
}
static void *spins(void *p) {
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
	pthread_cleanup_push(clean, (void *)10);
	for (;;) sink++;
	pthread_cleanup_pop(0);
	return p;
}
int main(void) {
	for (int i = 0; i < 5; i++) {
		pthread_t a, b;
		void *r;
		pthread_create(&a, 0, sleeps, 0);
		pthread_create(&b, 0, spins, 0);
		usleep(3000);
		CHECK(pthread_cancel(a) == 0 && pthread_cancel(b) == 0);
		CHECK(pthread_join(a, &r) == 0 && r == PTHREAD_CANCELED);
		CHECK(pthread_join(b, &r) == 0 && r == PTHREAD_CANCELED);
	}
	CHECK(cleaned == 55);
	return OK();
}
