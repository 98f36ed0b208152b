/* iretq, by which runtimes go on from an exception: flags, stack and target at once, from anywhere, out of handlers, between signals; and where the processor refuses it */
/* expect stdout: ok */
/* needs: does-nested-task */
/* armed: work */
#include "check.h"

/* to goes on at an address with flags and a stack pointer; all other registers stay. */
void to(uint64_t rip, uint64_t flags, uint64_t rsp);
uint64_t look(uint64_t flags, uint64_t *registers, uint64_t *stack);
extern char iret[], iret_nt[], iret_here[];
static uint64_t cs, ss;
__asm__(
	".globl to; to: mov ss(%rip), %rax; push %rax; push %rdx; push %rsi; mov cs(%rip), %rax; push %rax; push %rdi; .globl iret; iret: iretq\n"
	/* look goes to its own middle by iretq, on another stack, and returns the flags there; registers[] gets the others' sum, r8 to r15 and rbp. */
	".globl look; look: push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; mov %rsp, %rbx; mov %rdi, %rcx; mov %rsi, %rax; push %rax\n"
	"mov ss(%rip), %rax; push %rax; push %rdx; push %rcx; mov cs(%rip), %rax; push %rax; lea 1f(%rip), %rax; push %rax\n"
	"mov $8, %r8d; mov $9, %r9d; mov $10, %r10d; mov $11, %r11d; mov $12, %r12d; mov $13, %r13d; mov $14, %r14d; mov $15, %r15d; mov $5, %ebp; mov $2, %edx; mov $6, %esi; mov $7, %edi; mov $1, %ecx\n"
	".globl iret_here; iret_here: iretq\n"
	"1: pushf; lea (%r8,%r9), %r8; lea (%r8,%r10), %r8; lea (%r8,%r11), %r8; lea (%r8,%r12), %r8; lea (%r8,%r13), %r8; lea (%r8,%r14), %r8; lea (%r8,%r15), %r8\n"
	"lea (%r8,%rbp), %r8; lea (%r8,%rdx), %r8; lea (%r8,%rsi), %r8; lea (%r8,%rdi), %r8; lea (%r8,%rcx), %r8\n"
	"pop %rax; mov -8(%rbx), %rcx; mov %r8, (%rcx); mov %rsp, 8(%rcx); mov %rbx, %rsp; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n"
	".globl iret_nt; iret_nt_at: mov %rsp, %rbx; pushf; orl $0x4000, (%rsp); mov ss(%rip), %rax; push %rax; push %rbx; pushf; mov cs(%rip), %rax; push %rax; lea 1f(%rip), %rax; push %rax; mov 40(%rsp), %rax; push %rax; popf; iret_nt: iretq; 1: ud2\n");
void iret_nt_at(void);

static sigjmp_buf back;
static volatile uint64_t at, sp, addr, flags;
static volatile int sig, code, ticks, strange;
static void h(int s, siginfo_t *i, void *uc) {
	sig = s, code = i->si_code, addr = (uint64_t)i->si_addr, at = rip(uc), sp = ((ucontext_t *)uc)->uc_mcontext.gregs[REG_RSP];
	flags = ((ucontext_t *)uc)->uc_mcontext.gregs[REG_EFL];
	__asm__ volatile("pushf; andl $~0x4000, (%%rsp); popf" : : : "memory", "cc");
	siglongjmp(back, 1);
}
static char stack[65536] __attribute__((aligned(4096)));
/* Out of a handler, to where a fault is left behind. */
static volatile uint64_t resumed;
static void out(int s, siginfo_t *i, void *uc) {
	greg_t *g = ((ucontext_t *)uc)->uc_mcontext.gregs;
	sigset_t set;
	sigemptyset(&set), sigaddset(&set, s), sigprocmask(SIG_UNBLOCK, &set, 0);
	to(resumed, g[REG_EFL], g[REG_RSP]);
}
static void tick(int s, siginfo_t *i, void *uc) {
	ticks++;
	uint64_t r = rip(uc), p = ((ucontext_t *)uc)->uc_mcontext.gregs[REG_RSP];
	if (r == (uint64_t)iret_here) strange |= p >= (uint64_t)stack && p < (uint64_t)(stack + sizeof stack);
}
static void refused(uint64_t where, uint64_t rip, uint64_t flags, uint64_t c, uint64_t s) {
	uint64_t was = cs, had = ss;
	cs = c, ss = s, sig = 0, at = 0;
	if (sigsetjmp(back, 1) == 0) to(rip, flags, (uint64_t)(stack + 4096));
	cs = was, ss = had;
	CHECK(sig == SIGSEGV && code == SI_KERNEL && addr == 0 && at == where);
}
__attribute__((noinline)) int work(int n) { return n + 1; }
static void all(int rounds) {
	uint64_t got[2];
	for (int i = 0; i < rounds; i++) {
		uint64_t f = 0x202 | (i & 1) | (i & 2) << 1 | (i & 4) << 2 | (i & 8) << 3 | (i & 16) << 3 | (i & 32) << 6 | (i & 64) << 4;
		CHECK((look(f, got, (uint64_t *)(stack + sizeof stack) - i % 64) & ~0x10000ul) == f);
		CHECK(got[0] == 8 + 9 + 10 + 11 + 12 + 13 + 14 + 15 + 5 + 2 + 6 + 7 + 1 && got[1] == (uint64_t)((uint64_t *)(stack + sizeof stack) - i % 64));
		__asm__ volatile("cld");
		work(i);
	}
}
int main(void) {
	__asm__ volatile("mov %%cs, %0; mov %%ss, %1" : "=r"(cs), "=r"(ss));
	all(400);
	on(SIGSEGV, out, 0);
	for (volatile int i = 0; i < 100; i++)
		__asm__ volatile("lea 1f(%%rip), %%rax; mov %%rax, %0; xor %%eax, %%eax; movl $1, (%%rax); ud2; 1:" : "=m"(resumed) : : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
	on(SIGSEGV, h, SA_NODEFER);
	for (int i = 0; i < 3; i++) {
		refused((uint64_t)iret, (uint64_t)all, 0x202, 0x10, ss);
		refused((uint64_t)iret, (uint64_t)all, 0x202, cs, 0x10);
		refused((uint64_t)iret, 0x8000000000001234ul, 0x202, cs, ss);
		sig = 0;
		if (sigsetjmp(back, 1) == 0) iret_nt_at();
		CHECK(sig == SIGSEGV && code == SI_KERNEL && at == (uint64_t)iret_nt && flags & 0x4000);
		sig = 0; /* nothing can be executed there */
		if (sigsetjmp(back, 1) == 0) to((uint64_t)stack, 0x202, (uint64_t)(stack + 4096));
		CHECK(sig == SIGSEGV && at == (uint64_t)stack && addr == at && sp == (uint64_t)(stack + 4096));
	}
	on(SIGALRM, tick, SA_RESTART);
	struct itimerval it = {{0, 700}, {0, 700}};
	CHECK(setitimer(ITIMER_REAL, &it, 0) == 0);
	for (int i = 0; i < 100000 && ticks < 40; i++) all(4);
	CHECK(!strange && ticks > 0);
	return OK();
}
