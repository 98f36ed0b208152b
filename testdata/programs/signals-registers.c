/* A fault handler sees the registers as the program had them, and what it
 * changes in them holds. */
/* expect stdout: ok */
#include "check.h"
static volatile int n;
static uint64_t want[16];
/* rdx last and rax apart: the handler changes these two. */
static const int order[] = {REG_RBX, REG_RBP, REG_R12, REG_R13, REG_R14, REG_R15, REG_RSI, REG_RDI, REG_R8, REG_R9, REG_R10, REG_R11, REG_RCX, REG_RDX};
static void h(int s, siginfo_t *i, void *uc) {
	(void)s, (void)i;
	greg_t *g = ((ucontext_t *)uc)->uc_mcontext.gregs;
	for (int k = 0; k < 14; k++) CHECK(g[order[k]] == 0x1000 + k);
	CHECK((g[REG_EFL] & 0x8d5) == 0x8d5 - 0x010 - 0x800 || (g[REG_EFL] & 1));
	CHECK(g[REG_RAX] == 40);
	g[REG_RAX] = (greg_t)&want[3];
	g[REG_RDX] = 4712;
	n++;
}
int main(void) {
	on(SIGSEGV, h, 0);
	for (int i = 0; i < 3; i++) {
		uint64_t got = 0, out = 0;
		want[3] = 17;
		__asm__ volatile(
			"push %%rbx; push %%rbp\n"
			"mov $0x1000, %%ebx; mov $0x1001, %%ebp; mov $0x1002, %%r12d; mov $0x1003, %%r13d; mov $0x1004, %%r14d; mov $0x1005, %%r15d\n"
			"mov $0x1006, %%esi; mov $0x1007, %%edi; mov $0x1008, %%r8d; mov $0x1009, %%r9d; mov $0x100a, %%r10d; mov $0x100b, %%r11d\n"
			"mov $0x100c, %%ecx; mov $0x100d, %%edx; mov $40, %%eax; stc\n"
			"movq (%%rax), %%rax\n" /* faults; goes on with rax changed */
			"pop %%rbp; pop %%rbx\n"
			: "=a"(got), "=d"(out) : : "rcx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
		CHECK(got == 17 && out == 4712 && n == i + 1);
	}
	return OK();
}
