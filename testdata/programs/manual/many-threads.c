/* So many threads at a time as the argument says, more than can be traced. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_barrier_t b;
static _Atomic int n;
static void *f(void *p) { pthread_barrier_wait(&b); n++; return p; }
int main(int argc, char **argv) {
	int many = argc > 1 ? atoi(argv[1]) : 10;
	pthread_t *t = calloc(many, sizeof *t);
	pthread_attr_t a;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 65536);
	pthread_barrier_init(&b, 0, many + 1);
	for (int i = 0; i < many; i++) if (pthread_create(&t[i], &a, f, 0)) return 2;
	pthread_barrier_wait(&b);
	for (int i = 0; i < many; i++) pthread_join(t[i], 0);
	printf("%d\n", n);
}
