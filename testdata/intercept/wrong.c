// Arguments that are not what a configuration takes them for: integers, freed memory, strings without an end, pages that come and go meanwhile. What it prints hangs on its calls alone.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define API __attribute__((noinline, noclone, noipa))

static char *pages; // the second one comes and goes
static atomic_int stop;

API unsigned long mixed(unsigned long a, const void *p, const char *s, unsigned long n) { return a * 3 + (unsigned long)p % 7 + (s != 0) + n; }
API double numbers(double x, unsigned long a, float y) { return x + (double)(a & 0xff) + y; }
API void *fills(char *to, unsigned long n)
{
	memset(to, 'x', n);
	return to;
}

static void *changes(void *arg)
{
	while (!stop) {
		mprotect(pages + 4096, 4096, PROT_NONE);
		mprotect(pages + 4096, 4096, PROT_READ | PROT_WRITE);
		mmap(pages + 8192, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		munmap(pages + 8192, 4096);
	}
	return arg;
}

int main(void)
{
	pages = mmap(0, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(pages + 8192, 8192);
	memset(pages, 'a', 4096);
	void **circle = malloc(sizeof *circle);
	*circle = circle;
	pthread_t t;
	pthread_create(&t, 0, changes, 0);
	unsigned long sum = 0, state = 12345;
	double total = 0;
	for (int i = 0; i < 400; i++) {
		state = state * 6364136223846793005ul + 1442695040888963407ul;
		char *freed = malloc(64);
		strcpy(freed, "gone");
		free(freed);
		const void *wild[] = {(void *)state, (void *)(state >> 20), 0, (void *)1, freed, pages + 4090, pages + 8190, circle, &sum, (void *)~0ul, (void *)0xffffffff81000000ul, (void *)main};
		unsigned long large[] = {0, 1, ~0ul, 1ul << 63, 1ul << 32, state, 4096, 65537};
		const void *p = wild[state >> 33 & 7], *s = wild[(state >> 40) % 12];
		sum += mixed(large[state >> 50 & 7], p, s, large[state >> 55 & 7]) - (unsigned long)p % 7;
		total += numbers(i, state, i / 2);
		char buf[64];
		sum += *(char *)fills(buf, i % 64 + 1);
	}
	stop = 1;
	pthread_join(t, 0);
	free(circle);
	printf("%lu %.1f\n", sum, total);
	return 3;
}
