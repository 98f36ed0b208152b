/* Calls and jumps to addresses that are not canonical: the processor faults at the branch, whose registers are those in front of it. */
/* expect stdout: ok */
/* armed: work */
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
extern char by_register[], by_memory[], by_jump[], by_stack[];
__attribute__((noinline)) static void call_register(void) {
	__asm__ volatile("mov %%rsp, %0; .globl by_register; by_register: call *%1" : "=m"(was) : "r"(bad) : "memory");
}
__attribute__((noinline)) static void call_memory(void) {
	__asm__ volatile("mov %%rsp, %0; .globl by_memory; by_memory: call *%1" : "=m"(was) : "m"(bad) : "memory");
}
__attribute__((noinline)) static void jump_memory(void) {
	__asm__ volatile("mov %%rsp, %0; lea %1, %%rax; .globl by_jump; by_jump: jmp *-8(%%rax)" : "=m"(was) : "m"((&bad)[1]) : "rax", "memory");
}
__attribute__((noinline)) static void call_stack(void) { /* an operand that the call's own push moves */
	__asm__ volatile("push %1; mov %%rsp, %0; .globl by_stack; by_stack: call *(%%rsp)" : "=m"(was) : "r"(bad + 1) : "memory");
}
static void faults(void (*f)(void), char *where) {
	sig = 0, at = sp = 0, addr = 1;
	if (sigsetjmp(back, 1) == 0) f();
	CHECK(sig == SIGSEGV && code == SI_KERNEL && addr == 0);
	CHECK(at == (uint64_t)where);
	CHECK(sp == was);
}
__attribute__((noinline)) int work(int n) { return n + 1; }
int main(void) {
	on(SIGSEGV, h, SA_NODEFER);
	for (int i = 0; i < 3; i++) {
		faults(call_register, by_register);
		faults(call_memory, by_memory);
		faults(jump_memory, by_jump);
		faults(call_stack, by_stack);
		CHECK(work(i) == i + 1);
	}
	return OK();
}
