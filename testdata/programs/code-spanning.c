/* Functions that lie in two pages, both of which are written and then left alone for a while: they do what is there. */
/* expect stdout: ok */
#include "check.h"
#include <time.h>
typedef int fn(int);
enum { PAGES = 8, LEAD = 3 }; /* bytes of a function in front of the boundary */
static unsigned char *p;
static fn *at(int i) { return (fn *)(p + 4096 * i - LEAD); }
static void emit(int i, int n) {
	unsigned char c[] = {0x8d, 0x87, 0, 0, 0, 0, 0xc3}; /* lea eax, [rdi+n]; ret */
	memcpy(c + 2, &n, 4);
	memcpy((unsigned char *)at(i), c, sizeof c);
}
static void work(int ms, const int *added) {
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	do {
		for (int k = 0; k < 2000; k++)
			for (int i = 1; i < PAGES; i++) CHECK(at(i)(k) == k + added[i]);
		clock_gettime(CLOCK_MONOTONIC, &b);
	} while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < ms);
}
int main(void) {
	int added[PAGES] = {0};
	p = mmap(0, 4096 * PAGES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 1; i < PAGES; i++) emit(i, added[i]);
	for (int round = 0; round < 5; round++) {
		work(40 + 20 * round, added);
		for (int i = 0; i < PAGES; i++) p[4096 * i + 99] = (unsigned char)round; /* beside the functions, in each page */
		for (int i = 1; i < PAGES; i++) { /* and the part of them that is in their second page */
			added[i] = 0x1000000 * (round + 1) + 0x10000 * i;
			emit(i, added[i]);
		}
	}
	work(40, added);
	return OK();
}
