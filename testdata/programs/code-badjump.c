/* Jumps and calls to where no code is: the fault is there, not at the jump. */
/* expect stdout: ok */
#include "check.h"
static sigjmp_buf back;
static volatile uint64_t addr, at, top;
static volatile int sig, code;
static void h(int s, siginfo_t *i, void *uc) {
	sig = s, code = i->si_code, addr = (uint64_t)i->si_addr, at = rip(uc);
	/* behind a call the return address is on top of the stack: it must be the program's own */
	uint64_t sp = ((ucontext_t *)uc)->uc_mcontext.gregs[REG_RSP];
	top = *(uint64_t *)sp;
	siglongjmp(back, 1);
}
int main(void) {
	on(SIGSEGV, h, 0);
	on(SIGBUS, h, 0);
	void *data = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (volatile int k = 0; k < 3; k++) {
		if (sigsetjmp(back, 1) == 0) ((void (*)(void))0)();
		CHECK(sig == SIGSEGV && code == SEGV_MAPERR && addr == 0 && at == 0 && own(top));
		if (sigsetjmp(back, 1) == 0) ((void (*)(void))0x123456)();
		CHECK(addr == 0x123456 && at == 0x123456 && own(top));
		if (sigsetjmp(back, 1) == 0) ((void (*)(void))data)();
		CHECK(code == SEGV_ACCERR && addr == (uint64_t)data && at == addr);
		if (sigsetjmp(back, 1) == 0) __asm__ volatile("jmp *%0" : : "r"(0x8000000000001234ul));
		CHECK(sig == SIGSEGV && code == SI_KERNEL && at != 0x8000000000001234ul); /* not canonical: the jump itself faults */
		if (sigsetjmp(back, 1) == 0) __asm__ volatile("push %0; ret" : : "r"(0x7ffl));
		CHECK(addr == 0x7ff && at == 0x7ff);
		/* code that runs off the end of what may be executed */
		unsigned char *p = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(p, 0x90, 8192);
		CHECK(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0);
		if (sigsetjmp(back, 1) == 0) ((void (*)(void))(p + 4090))();
		CHECK(addr == (uint64_t)p + 4096 && at == addr);
		munmap(p, 8192);
	}
	return OK();
}
