/* Red zones, large frames, alloca, and a stack pointer that is used for other
 * things. */
/* build: -O2 -fno-stack-protector */
/* expect stdout: ok */
#include "check.h"
#include <alloca.h>
__attribute__((noinline)) static int leaf(int a) {
	volatile int z[20]; /* in the red zone */
	for (int i = 0; i < 20; i++) z[i] = a + i;
	int s = 0;
	for (int i = 0; i < 20; i++) s += z[i];
	return s;
}
__attribute__((noinline)) static int large(int n) {
	volatile char b[1 << 20];
	b[0] = b[sizeof b - 1] = (char)n;
	char *p = alloca((size_t)n * 1000);
	memset(p, n, (size_t)n * 1000);
	return b[0] + b[sizeof b - 1] + p[n * 999] + leaf(n);
}
int main(void) {
	for (int i = 1; i < 50; i++) CHECK(large(i) == 3 * i + 20 * i + 190);
	uint64_t sum = 0;
	static uint64_t v[64];
	for (int i = 0; i < 64; i++) v[i] = i;
	for (int i = 0; i < 100; i++) {
		uint64_t s = 0, keep;
		__asm__ volatile("mov %%rsp, %1; lea %2, %%rsp; mov $64, %%ecx; 1: pop %%rdx; add %%rdx, %0; dec %%ecx; jnz 1b; mov %1, %%rsp"
			: "+&r"(s), "=&r"(keep) : "m"(v) : "rcx", "rdx", "memory", "cc");
		sum += s;
	}
	CHECK(sum == 100 * 2016);
	return OK();
}
