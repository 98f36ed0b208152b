/* Libraries that take each other's place natively, while one thread comes and goes between native code and the cache and another waits in a
 * call of the kernel for good. Each adds another number: code of one that is taken for the other's shows in the sum.
 *
 * With LIBRARY defined, one of them, which adds that. */
#ifdef LIBRARY
int add(int n) { return n + LIBRARY; }
#else
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef ROUNDS
#define ROUNDS 300
#endif

static volatile int done;

__attribute__((noinline)) int work(int n)
{
	__asm__ volatile("");
	return n + 1;
}

static void *opens(void *unused)
{
	int n = 0;
	while (!done) {
		n = work(n);
		usleep(100);
	}
	return unused;
}

static void *waits(void *fd)
{
	char c;
	if (read(*(int *)fd, &c, 1) != 1)
		abort();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t a, b;
	int ends[2], sum = 0, same = 0;
	void *was = NULL;
	if (argc < 3 || pipe(ends))
		return 2;
	pthread_create(&b, NULL, waits, &ends[0]);
	pthread_create(&a, NULL, opens, NULL);
	for (int i = 0; i < 2 * ROUNDS; i++) {
		void *lib = dlopen(argv[1 + i % 2], RTLD_NOW);
		int (*add)(int);
		if (!lib || !(*(void **)&add = dlsym(lib, "add")))
			return 3;
		same += was == *(void **)&add;
		was = *(void **)&add;
		for (int k = 0; k < 20; k++)
			sum = add(sum);
		dlclose(lib);
	}
	done = 1;
	pthread_join(a, NULL);
	if (write(ends[1], "", 1) != 1)
		return 4;
	pthread_join(b, NULL);
	fprintf(stderr, "at the same place %d times\n", same);
	printf("%d\n", sum);
	return 0;
}
#endif
