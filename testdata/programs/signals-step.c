/* A program that sets the trap flag sees a trap behind each instruction. */
/* expect stdout: ok */
/* skip translate: a trap flag that the program sets traps behind instructions of instrumentation too */
/* skip count: a trap flag that the program sets traps behind instructions of instrumentation too */
/* skip record: a trap flag that the program sets traps behind instructions of instrumentation too */
/* skip discard: a trap flag that the program sets traps behind instructions of instrumentation too */
/* skip main: a trap flag that the program sets traps behind instructions of instrumentation too */
#include "check.h"
static volatile int n, bad;
static volatile uint64_t at[16];
static void h(int s, siginfo_t *i, void *uc) {
	(void)s;
	if (i->si_code != TRAP_TRACE) bad = 1;
	if (n < 16) at[n] = rip(uc);
	n++;
	greg_t *g = ((ucontext_t *)uc)->uc_mcontext.gregs;
	if (n >= 6) g[REG_EFL] &= ~0x100l;
}
extern char step_from[];
int main(void) {
	on(SIGTRAP, h, 0);
	__asm__ volatile("pushf; orl $0x100, (%%rsp); popf\nstep_from: nop; nop; nop; nop; nop; nop; nop; nop" : : : "memory", "cc");
	CHECK(n == 6 && !bad);
	for (int i = 0; i < 6; i++) CHECK(at[i] == (uint64_t)step_from + 1 + i);
	return OK();
}
