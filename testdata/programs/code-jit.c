/* A small compiler at run time, as careful ones do it: write, protect, run,
 * write again. */
/* expect stdout: ok */
#include "check.h"
typedef int fn(int);
static void emit(unsigned char *p, int add) {
	unsigned char c[] = {0x8d, 0x87, 0, 0, 0, 0, 0xc3}; /* lea eax, [rdi+add]; ret */
	memcpy(c + 2, &add, 4);
	memcpy(p, c, sizeof c);
}
int main(void) {
	unsigned char *p = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 50; i++) {
		CHECK(mprotect(p, 8192, PROT_READ | PROT_WRITE) == 0);
		emit(p + 4090, i); /* across pages */
		emit(p + 64 * (i % 8), 1000 + i);
		CHECK(mprotect(p, 8192, PROT_READ | PROT_EXEC) == 0);
		for (int k = 0; k < 3; k++) CHECK(((fn *)(p + 4090))(k) == i + k && ((fn *)(p + 64 * (i % 8)))(k) == 1000 + i + k);
	}
	for (int i = 0; i < 20; i++) { /* gone and there again, at the same place */
		CHECK(munmap(p, 8192) == 0);
		unsigned char *q = mmap(p, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		CHECK(q == p);
		emit(p, 5000 + i);
		CHECK(mprotect(p, 8192, PROT_READ | PROT_EXEC) == 0);
		CHECK(((fn *)p)(1) == 5001 + i);
	}
	return OK();
}
