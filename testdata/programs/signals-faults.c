/* Every synchronous fault: its code, its address, and where it happened. */
/* expect stdout: ok */
#include "check.h"
static sigjmp_buf back;
static volatile int sig, code;
static volatile uint64_t addr, at;
static void h(int s, siginfo_t *i, void *uc) {
	sig = s;
	code = i->si_code;
	addr = (uint64_t)i->si_addr;
	at = rip(uc);
	siglongjmp(back, 1);
}
/* Executes an instruction that must fault. label names its address; the handler
 * leaves by siglongjmp, so that getting behind it is a failure. */
#define RAISE(label, text, ...) \
	if (sigsetjmp(back, 1) == 0) { \
		__asm__ volatile(#label ": " text : : __VA_ARGS__ : "rax", "rdx", "memory", "cc"); \
		CHECK(0); \
	}
extern char div_at[], ud_at[], bp_at[], null_at[], noncanon_at[], bus_at[], priv_at[], ro_at[], cd_at[], last_at[];
int main(void) {
	int all[] = {SIGFPE, SIGILL, SIGTRAP, SIGSEGV, SIGBUS};
	for (int i = 0; i < 5; i++) on(all[i], h, 0);
	for (volatile int k = 0; k < 3; k++) { /* the second and third time from code that is translated already */
		RAISE(div_at, "div %0\n jmp .", "r"(0l));
		CHECK(sig == SIGFPE && code == FPE_INTDIV && addr == (uint64_t)div_at && at == (uint64_t)div_at);
		RAISE(ud_at, "ud2", "r"(0l));
		CHECK(sig == SIGILL && code == ILL_ILLOPN && addr == (uint64_t)ud_at && at == (uint64_t)ud_at);
		RAISE(bp_at, "int3", "r"(0l));
		CHECK(sig == SIGTRAP && code == SI_KERNEL && at == (uint64_t)bp_at + 1);
		RAISE(null_at, "movl %%eax, 16(%0)", "r"(0l));
		CHECK(sig == SIGSEGV && code == SEGV_MAPERR && addr == 16 && at == (uint64_t)null_at);
		/* the kernel does not know the address of a general protection fault */
		RAISE(noncanon_at, "movl (%0), %%eax", "r"(0x8000000000000000ul));
		CHECK(sig == SIGSEGV && code == SI_KERNEL && addr == 0 && at == (uint64_t)noncanon_at);
		RAISE(priv_at, "hlt", "r"(0l));
		CHECK(sig == SIGSEGV && code == SI_KERNEL && at == (uint64_t)priv_at);
		RAISE(ro_at, "movb %%al, (%0)", "r"(main));
		CHECK(sig == SIGSEGV && code == SEGV_ACCERR && addr == (uint64_t)main && at == (uint64_t)ro_at);
		RAISE(cd_at, "int $0x42", "r"(0l));
		CHECK(sig == SIGSEGV && code == SI_KERNEL && at == (uint64_t)cd_at);
		/* in the middle of a block: the instructions before it have happened, it has not */
		RAISE(last_at, "push $1\n pop %%rdx\n add $1, %%rdx\n lea 5(%%rdx), %%rax\n 1: movq $3, (%%rdx)\n .set fault_at, 1b", "r"(0l));
		extern char fault_at[];
		CHECK(sig == SIGSEGV && addr == 2 && at == (uint64_t)fault_at);
		/* a mapping beyond the end of its file */
		FILE *f = tmpfile();
		char *m = mmap(0, 4096, PROT_READ, MAP_SHARED, fileno(f), 0);
		CHECK(m != MAP_FAILED);
		RAISE(bus_at, "movb 5(%0), %%al", "r"(m));
		CHECK(sig == SIGBUS && code == BUS_ADRERR && addr == (uint64_t)m + 5 && at == (uint64_t)bus_at);
		munmap(m, 4096);
		fclose(f);
	}
	return OK();
}
