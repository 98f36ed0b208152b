/* Code is written between calls of a function that executes it: in place, under another protection, in another mapping. */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
typedef int (*fn)(void);
static unsigned char *p;
static void put(int v) { unsigned char c[] = {0xb8, v, v >> 8, 0, 0, 0xc3}; memcpy(p, c, 6); }
__attribute__((noinline)) static int work(void) { return ((fn)p)() + 0 * (int)(long)p; }
int main(void) {
	p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 1; i < 40; i++) {
		CHECK(mprotect(p, 4096, PROT_READ | PROT_WRITE) == 0);
		put(i);
		CHECK(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0);
		CHECK(work() == i);
	}
	for (int i = 100; i < 140; i++) {
		CHECK(munmap(p, 4096) == 0);
		CHECK(mmap(p, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
		put(i);
		if (i & 1) CHECK(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0);
		CHECK(work() == i);
	}
	CHECK(munmap(p, 4096) == 0);
	CHECK(mmap(p, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
	for (int i = 200; i < 240; i++) {
		put(i);
		CHECK(work() == i);
	}
	return OK();
}
