/* Code that is writable while it is executed, at each place of a page and of each length, and changed a byte at a time: each change shows. */
/* expect stdout: ok */
#include "check.h"
enum { MOVES = 7, PAGE = 4096 };
/* write makes a function at p that loads a number into eax n times over, and returns the last. */
static void write_at(unsigned char *p, int n) {
	for (int i = 0; i < n; i++, p += 5) {
		*p = i & 1 ? 0xb9 : 0xb8; /* mov $1+i, %ecx or %eax */
		memcpy(p + 1, &(int){1 + i}, 4);
	}
	memcpy(p, "\x8d\x04\x08\xc3", 4); /* lea (%rax,%rcx), %eax; ret */
}
static int call(void *p) {
	int r;
	__asm__ volatile("xor %%ecx, %%ecx; sub $128, %%rsp; call *%1; add $128, %%rsp" : "=&a"(r) : "r"(p) : "rcx", "cc", "memory");
	return r;
}
int main(void) {
	unsigned char *page = mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	for (int at = 0; at < 2 * PAGE; at += at > PAGE - 48 && at < PAGE ? 1 : at < 64 ? 1 : at + 97 < PAGE - 48 || at >= PAGE ? 97 : PAGE - 47 - at)
		for (int n = 1; n <= MOVES && at + 5 * n + 4 <= 2 * PAGE; n += n < 3 ? 1 : 2) {
			unsigned char *f = page + at;
			write_at(f, n);
			int sum = n + (n > 1 ? n - 1 : 0);
			CHECK(call(f) == sum && call(f) == sum);
			/* the last two loads are what is seen; others change and change back, and have to do no harm */
			for (int i = n > 2 ? n - 2 : 0; i < n; i++)
				for (int b = 0; b < 4; b++) {
					f[5 * i + 1 + b] ^= 1 << b;
					CHECK(call(f) == sum + (f[5 * i + 1 + b] >> b & 1 ? 1 : -1) * (1 << (8 * b + b)));
					f[5 * i + 1 + b] ^= 1 << b;
				}
			CHECK(call(f) == sum);
		}
	return OK();
}
