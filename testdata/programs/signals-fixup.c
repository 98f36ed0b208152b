/* A handler repairs the fault by mprotect and returns: the instruction is
 * executed again. */
/* expect stdout: ok */
#include "check.h"
static char *page;
static volatile int n;
static void h(int s, siginfo_t *i, void *uc) {
	(void)s;
	CHECK(i->si_code == SEGV_ACCERR);
	char *a = i->si_addr;
	CHECK(a >= page && a < page + 64 * 4096 && own(rip(uc)));
	CHECK(mprotect((void *)((uintptr_t)a & ~4095ul), 4096, PROT_READ | PROT_WRITE) == 0);
	n++;
}
int main(void) {
	on(SIGSEGV, h, 0);
	page = mmap(0, 64 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	for (volatile int i = 0; i < 64; i++) {
		page[i * 4096 + i] += (char)i;
		CHECK(n == i + 1);
	}
	for (int i = 0; i < 64; i++) CHECK(page[i * 4096 + i] == i);
	return OK();
}
