/* Code that changes by files that were opened natively and are written while the program is in the code cache: the process's memory, and a file that the code is mapped of. */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
typedef int (*fn)(void);
static void put(unsigned char *p, int n) { memcpy(p, (unsigned char[]){0xb8, n, 0, 0, 0, 0xc3}, 6); }
static int memory, file;
static unsigned char *page, *mapped;
__attribute__((noinline)) static int work(int n) {
	unsigned char c[8];
	int ok = 0;
	for (int i = n; i < n + 5; i++) {
		put(c, i);
		ok += pwrite(memory, c, 6, (long)page) == 6 && ((fn)page)() == i;
		ok += pwrite(file, c, 6, 0) == 6 && ((fn)mapped)() == i;
	}
	return ok;
}
int main(void) {
	char name[] = "code.XXXXXX";
	page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	put(page, 1);
	CHECK(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0 && ((fn)page)() == 1);
	file = mkstemp(name);
	CHECK(file > 0 && unlink(name) == 0 && ftruncate(file, 4096) == 0);
	CHECK(pwrite(file, page, 6, 0) == 6);
	mapped = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	CHECK(mapped != MAP_FAILED && ((fn)mapped)() == 1);
	CHECK((memory = open("/proc/self/mem", O_RDWR)) > 0);
	for (int k = 0; k < 20; k++) CHECK(work(3 * k) == 10);
	return OK();
}
