/* A program that sets the trap flag sees a trap behind each instruction: at every
 * iteration of a repeated one, none behind a system call, and none in the handler. */
/* expect stdout: 1 2 3 3b 3c 8 d d d f 10 11 16 19 20 21 22 29 2a 31 32 */
#include "check.h"
static volatile int n, bad;
static volatile uint64_t at[64];
extern char step_from[], step_end[];
static char from[8] = "abcdefg", to[8];
static void h(int s, siginfo_t *i, void *uc) {
	(void)s;
	if (i->si_code != TRAP_TRACE || i->si_addr != (void *)rip(uc)) bad = 1;
	if (n < 64) at[n] = rip(uc);
	n++;
	greg_t *g = ((ucontext_t *)uc)->uc_mcontext.gregs;
	if (!(g[REG_EFL] & 0x100)) { /* behind the popf that clears it */
		if (rip(uc) != (uint64_t)step_end) bad = 2;
		return;
	}
	g[REG_R8]++; /* a handler's changes hold */
}
int main(void) {
	static uint64_t count, flags, pid; /* not on the stack, which moves below */
	on(SIGTRAP, h, 0);
	__asm__ volatile("sub $128, %%rsp; mov %3, %%rsi; mov %4, %%rdi; xor %%r8d, %%r8d\n"
		"pushf; orl $0x100, (%%rsp); popf\n"
		"step_from: nop; nop; push %%rcx\n"
		"call 2f\n"
		"mov $3, %%ecx; rep movsb; nop\n"
		"nop; mov $39, %%eax; syscall\n"
		"nop; mov %%rax, %2\n"
		"pushf; pop %%rax; mov %%rax, %1\n"
		"pushf; andl $~0x100, (%%rsp); popf\n"
		"step_end: mov %%r8, %0; jmp 3f\n"
		"2: nop; ret\n"
		"3: lea 136(%%rsp), %%rsp"
		: "=m"(count), "=m"(flags), "=m"(pid) : "r"(from), "r"(to) : "rax", "rcx", "rsi", "rdi", "r8", "r11", "memory", "cc");
	CHECK(!bad && count == (uint64_t)n - 1 && (flags & 0x100) && pid == (uint64_t)getpid() && memcmp(to, "abc", 4) == 0);
	for (int i = 0; i < n; i++) printf("%lx%c", at[i] - (uint64_t)step_from, i + 1 < n ? ' ' : '\n');
	return 0;
}
