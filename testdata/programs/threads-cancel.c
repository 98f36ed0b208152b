/* Cancellation, deferred and asynchronous: by a signal that unwinds.
 *
 * A thread that is asked to end before it has pushed its handler ends without it,
 * natively too: main waits until both have. The two handlers of a round may run
 * at the same time, hence the atomic addition. */
/* expect stdout: ok */
#include "check.h"
static int cleaned;
static volatile int ready;
static volatile long sink;
static void clean(void *p) { __atomic_add_fetch(&cleaned, (int)(intptr_t)p, __ATOMIC_SEQ_CST); }
static void pushed(void) { __atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST); }
static void *sleeps(void *p) {
	pthread_cleanup_push(clean, (void *)1);
	pushed();
	for (;;) sleep(10);
	pthread_cleanup_pop(0);
	return p;
}
static void *spins(void *p) {
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
	pthread_cleanup_push(clean, (void *)10);
	pushed();
	for (;;) { sink++; idle(); }
	pthread_cleanup_pop(0);
	return p;
}
int main(void) {
	for (int i = 0; i < 5; i++) {
		pthread_t a, b;
		void *r;
		ready = 0;
		pthread_create(&a, 0, sleeps, 0);
		pthread_create(&b, 0, spins, 0);
		while (ready < 2) usleep(1000);
		CHECK(pthread_cancel(a) == 0 && pthread_cancel(b) == 0);
		CHECK(pthread_join(a, &r) == 0 && r == PTHREAD_CANCELED);
		CHECK(pthread_join(b, &r) == 0 && r == PTHREAD_CANCELED);
	}
	CHECK(cleaned == 55);
	return OK();
}
