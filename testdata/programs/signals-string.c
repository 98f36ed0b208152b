/* A repeated string instruction that faults in its middle goes on from there. */
/* expect stdout: ok */
#include "check.h"
static char *page;
static volatile uint64_t rcx, rdi, at;
static void h(int s, siginfo_t *i, void *uc) {
	(void)s, (void)i;
	greg_t *g = ((ucontext_t *)uc)->uc_mcontext.gregs;
	rcx = g[REG_RCX], rdi = g[REG_RDI], at = g[REG_RIP];
	CHECK(mprotect(page + 4096, 4096, PROT_READ | PROT_WRITE) == 0);
}
extern char rep_at[];
int main(void) {
	on(SIGSEGV, h, 0);
	page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(mprotect(page + 4096, 4096, PROT_NONE) == 0);
	char *d = page + 4096 - 10;
	uint64_t n = 30;
	__asm__ volatile("rep_at: rep stosb" : "+D"(d), "+c"(n) : "a"('x') : "memory");
	CHECK(n == 0 && d == page + 4096 + 20 && rcx == 20 && rdi == (uint64_t)page + 4096 && at == (uint64_t)rep_at);
	for (int i = 0; i < 30; i++) CHECK(page[4086 + i] == 'x');
	return OK();
}
