/* Calls that fail halfway: the rights of the first pages have changed, though mprotect says that it has failed. */
/* expect stdout: ok */
#include "check.h"
static sigjmp_buf back;
static volatile int faults;
static void h(int s, siginfo_t *i, void *u) { faults++, siglongjmp(back, 1); }
static int (*volatile f)(void);
static void put(unsigned char *p, int v) { p[0] = 0xb8, p[1] = v, p[2] = p[3] = p[4] = 0, p[5] = 0xc3; }
int main(void) {
	on(SIGSEGV, h, SA_NODEFER);
	for (int round = 0; round < 3; round++) {
		unsigned char *p = mmap(0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(p != MAP_FAILED && munmap(p + 8192, 4096) == 0);
		put(p, 1);
		CHECK(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0);
		f = (int (*)(void))p;
		CHECK(f() == 1 && f() == 1);
		/* writable as well, and written at once */
		CHECK(mprotect(p, 3 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == -1 && errno == ENOMEM);
		put(p, 2);
		CHECK(f() == 2);
		put(p, 3);
		CHECK(f() == 3);
		/* not to be executed any more */
		CHECK(mprotect(p, 3 * 4096, PROT_READ) == -1 && errno == ENOMEM);
		if (sigsetjmp(back, 1) == 0) {
			f();
			CHECK(0);
		}
		CHECK(faults == round + 1);
		/* contents that go, of which a part was never there */
		CHECK(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0 && f() == 3);
		CHECK(mprotect(p, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
		CHECK(madvise(p, 3 * 4096, MADV_DONTNEED) == -1 && errno == ENOMEM && p[0] == 0);
		put(p, 4);
		CHECK(f() == 4);
		CHECK(munmap(p, 8192) == 0);
	}
	return OK();
}
