/* What a fault is told to be: where a popf has no stack, and of what kind one is at an address that is not canonical. */
/* expect stdout: ok */
#include "check.h"
static sigjmp_buf back;
static volatile uint64_t at, err, trap;
static void fault(int sig, siginfo_t *si, void *uc) {
	greg_t *g = ((ucontext_t *)uc)->uc_mcontext.gregs;
	at = (uint64_t)si->si_addr;
	err = g[REG_ERR];
	trap = g[REG_TRAPNO];
	siglongjmp(back, 1);
}
int main(void) {
	static char room[1 << 16];
	stack_t own = {.ss_sp = room, .ss_size = sizeof room};
	CHECK(sigaltstack(&own, 0) == 0);
	on(SIGSEGV, fault, SA_ONSTACK);
	char *p = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(munmap(p + 4096, 4096) == 0);
	if (!sigsetjmp(back, 1)) __asm__ volatile("mov %0, %%rsp; popf" : : "r"(p + 4096) : "memory");
	CHECK(at == (uint64_t)p + 4096 && err == 4 && trap == 14);
	if (!sigsetjmp(back, 1)) __asm__ volatile("mov %0, %%rsp; popfw" : : "r"(p + 4096) : "memory");
	CHECK(at == (uint64_t)p + 4096 && err == 4 && trap == 14);
	uint64_t odd = 1ull << 63;
	if (!sigsetjmp(back, 1)) __asm__ volatile("addl %%ecx, (%0)" : : "r"(odd) : "memory");
	CHECK(at == 0 && err == 0 && trap == 13);
	if (!sigsetjmp(back, 1)) __asm__ volatile("addl %%ecx, (%0)" : : "r"(p + 4096) : "memory");
	CHECK(at == (uint64_t)p + 4096 && err == 6 && trap == 14);
	return OK();
}
