/* The first thread ends; another calls two functions long after, and so does one more
 * that it creates. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile long sum;

__attribute__((noinline)) static void target(void) { sum++; }
__attribute__((noinline)) static void other(void) { sum += 2; }

static void *second(void *p) {
	for (int i = 0; i < 100; i++) { target(); other(); }
	return p;
}

static void *first(void *p) {
	pthread_t t;
	usleep(100000);
	pthread_create(&t, 0, second, 0);
	second(0);
	pthread_join(t, 0);
	free(malloc(1 << 20)); /* mapped and unmapped */
	for (int i = 0; i < 5; i++) second(0);
	printf("%ld\n", sum > 0);
	exit(3);
	return p;
}

int main(void) {
	pthread_t t;
	pthread_create(&t, 0, first, 0);
	pthread_exit(0);
}
