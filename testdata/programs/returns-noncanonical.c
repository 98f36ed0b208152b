/* Returns to addresses that are not canonical: the processor faults at them, also where many others can have led there. Code that is recorded, as all returns are, says in its ring which one it was. */
/* expect stdout: ok */
/* skip translate: which return it was is known where all code is recorded */
/* skip count: as for translate */
#include "check.h"
static sigjmp_buf back;
static volatile uint64_t at, sp, addr;
static volatile int sig, code;
static void h(int s, siginfo_t *i, void *uc) {
	sig = s, code = i->si_code, addr = (uint64_t)i->si_addr, at = rip(uc);
	sp = ((ucontext_t *)uc)->uc_mcontext.gregs[REG_RSP];
	siglongjmp(back, 1);
}
static uint64_t bad = 0x8000000000001234ul;
static volatile uint64_t was;
extern char a_return[], another_return[], popping_return[];
/* No jump by that register is among those that can have led there. */
#define RETURN(where, ret) register uint64_t to __asm__("r15") = bad; __asm__ volatile("push %1; mov %%rsp, %0; .globl " where "; " where ": " ret : "=m"(was) : "r"(to) : "memory")
__attribute__((noinline)) static void return_here(void) { RETURN("a_return", "ret"); }
__attribute__((noinline)) static void return_there(void) { RETURN("another_return", "ret"); }
__attribute__((noinline)) static void return_popping(void) { RETURN("popping_return", "ret $16"); }
static void faults(void (*f)(void), char *where) {
	sig = 0, at = sp = 0, addr = 1;
	if (sigsetjmp(back, 1) == 0) f();
	CHECK(sig == SIGSEGV && code == SI_KERNEL && addr == 0);
	CHECK(at == (uint64_t)where);
	CHECK(sp == was);
}
int main(void) {
	on(SIGSEGV, h, SA_NODEFER);
	for (int i = 0; i < 3; i++) {
		faults(return_here, a_return);
		faults(return_there, another_return);
		faults(return_popping, popping_return);
	}
	return OK();
}
