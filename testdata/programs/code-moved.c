/* Code that is put into other memory where it lies, as programs do that move themselves into large pages: it is copied, anonymous memory is mapped over it, and it is copied back, twice. */
/* expect stdout: ok */
#include "check.h"
#define AWAY __attribute__((section(".away"), noinline, aligned(4096)))
static volatile int calls;
__attribute__((noinline)) void work(void) { calls++; }
AWAY long raw(long n, long a, long b, long c, long d, long e) {
	long r;
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = 0;
	__asm__ volatile("syscall" : "=a"(r) : "0"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return r;
}
AWAY int move(volatile char *from, long n) {
	volatile char *copy = (volatile char *)raw(SYS_mmap, 0, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	for (long i = 0; i < n; i++) copy[i] = from[i];
	if (raw(SYS_mmap, (long)from, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1) != (long)from) return 1;
	for (long i = 0; i < n; i++) from[i] = copy[i];
	return raw(SYS_mprotect, (long)from, n, PROT_READ | PROT_EXEC, 0, 0) != 0 || raw(SYS_munmap, (long)copy, n, 0, 0, 0) != 0;
}
int main(void) {
	char *page = (char *)((uintptr_t)work & ~4095ul);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 50; i++) work();
		if (round < 2) CHECK(move(page, 4096) == 0);
		if (round == 1) { /* a copy of its memory */
			pid_t p = fork();
			CHECK(p >= 0);
			if (p == 0) return work(), 0;
			int s;
			CHECK(waitpid(p, &s, 0) == p && s == 0);
		}
	}
	CHECK(calls == 150);
	return OK();
}
