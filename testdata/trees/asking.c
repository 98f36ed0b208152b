/* Memory without a name, asked for in several ways: by functions of the program through the C library and by a call of their own, and by the library. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#define BYTES (1 << 20)
static void use(char *p, int n) { for (int i = 0; i < n; i += 64) ((volatile char *)p)[i]++; }
__attribute__((noinline)) void make_table(void) {
	char *p = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	use(p, 64 * 100);
}
__attribute__((noinline)) void make_pool(void) {
	char *p;
	register long r10 __asm__("r10") = MAP_PRIVATE | MAP_ANONYMOUS, r8 __asm__("r8") = -1, r9 __asm__("r9") = 0;
	__asm__ volatile("push $1; syscall; pop %%rcx" : "=a"(p) : "0"(SYS_mmap), "D"(0), "S"(BYTES), "d"(PROT_READ | PROT_WRITE), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	use(p, 64 * 200);
}
int main(void) {
	make_table();
	mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	make_pool();
	use(malloc(4 * BYTES), 64 * 300);
	return 0;
}
