/* Calls of a function by a program that is alone, has a second thread for some, and is alone again. */
#include <pthread.h>
static volatile unsigned sum;
__attribute__((noinline)) void work(void) {
	for (int i = 0; i < 100; i++) sum += i;
}
static void *other(void *unused) {
	for (int i = 0; i < 10; i++) work();
	return unused;
}
int main(void) {
	for (int turn = 0; turn < 3; turn++) {
		for (int i = 0; i < 30; i++) work();
		pthread_t t;
		pthread_create(&t, 0, other, 0);
		pthread_join(t, 0);
	}
	return 0;
}
