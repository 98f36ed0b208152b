/* Mutexes and condition variables: the sum is exact. */
/* expect stdout: 80000 2000 */
#include "check.h"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int count, turn, turns;

static void *add(void *p) {
	for (int i = 0; i < 20000; i++) {
		pthread_mutex_lock(&m);
		count++;
		pthread_mutex_unlock(&m);
	}
	return p;
}

static void *pingpong(void *p) {
	int me = (int)(intptr_t)p;
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&m);
		while (turn != me) pthread_cond_wait(&c, &m);
		turn = !me;
		turns++;
		pthread_cond_broadcast(&c);
		pthread_mutex_unlock(&m);
	}
	return p;
}

int main(void) {
	pthread_t t[6];
	for (int i = 0; i < 4; i++) CHECK(pthread_create(&t[i], 0, add, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < 2; i++) CHECK(pthread_create(&t[4 + i], 0, pingpong, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < 6; i++) {
		void *r;
		CHECK(pthread_join(t[i], &r) == 0);
		CHECK((intptr_t)r == i % 4);
	}
	printf("%d %d\n", count, turns);
}
