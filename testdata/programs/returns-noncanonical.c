/* Returns and jumps to addresses that are not canonical: the processor faults at them, with the registers in front of them, also where many others can have led there. */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
static sigjmp_buf back;
static volatile uint64_t at, sp, addr;
static volatile int sig, code, changed;
static uint64_t bad = 0x8000000000001234ul;
static volatile uint64_t was;
static void h(int s, siginfo_t *i, void *uc) {
	sig = s, code = i->si_code, addr = (uint64_t)i->si_addr, at = rip(uc);
	greg_t *r = ((ucontext_t *)uc)->uc_mcontext.gregs;
	sp = r[REG_RSP];
	changed = r[REG_RCX] != 0x1c1c1c1c1c1c || r[REG_RDX] != 0x1d1d1d1d1d1d || (uint64_t)r[REG_R15] != bad || !(r[REG_EFL] & 1);
	siglongjmp(back, 1);
}
extern char a_return[], another_return[], popping_return[], a_jump[], another_jump[];
#define LEAVE(where, how) register uint64_t to __asm__("r15") = bad; \
	__asm__ volatile("push %1; mov %%rsp, %0; mov $0x1c1c1c1c1c1c, %%rcx; mov $0x1d1d1d1d1d1d, %%rdx; stc; .globl " where "; " where ": " how : "=m"(was) : "r"(to) : "rcx", "rdx", "memory")
__attribute__((noinline)) static void return_here(void) { LEAVE("a_return", "ret"); }
__attribute__((noinline)) static void return_there(void) { LEAVE("another_return", "ret"); }
__attribute__((noinline)) static void return_popping(void) { LEAVE("popping_return", "ret $16"); }
__attribute__((noinline)) static void jump_here(void) { LEAVE("a_jump", "jmp *%%r15"); }
__attribute__((noinline)) static void jump_there(void) { LEAVE("another_jump", "jmp *%%r15"); }
static void faults(void (*f)(void), char *where) {
	sig = 0, at = sp = 0, addr = 1;
	if (sigsetjmp(back, 1) == 0) f();
	CHECK(sig == SIGSEGV && code == SI_KERNEL && addr == 0);
	CHECK(at == (uint64_t)where);
	CHECK(sp == was && !changed);
}
__attribute__((noinline)) int work(int n) { return n + 1; }
int main(void) {
	on(SIGSEGV, h, SA_NODEFER);
	for (int i = 0; i < 3; i++) {
		faults(return_here, a_return);
		faults(return_there, another_return);
		faults(return_popping, popping_return);
		faults(jump_here, a_jump);
		faults(jump_there, another_jump);
		CHECK(work(i) == i + 1);
	}
	return OK();
}
