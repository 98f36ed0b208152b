/* Instructions that a program may not execute, with operands where there is no memory: they fault for the first reason. */
/* expect stdout: ok */
#include "check.h"
static sigjmp_buf back;
static volatile long trap, at;
static void caught(int sig, siginfo_t *info, void *context) {
	(void)sig, (void)info;
	trap = ((ucontext_t *)context)->uc_mcontext.gregs[REG_TRAPNO];
	at = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	siglongjmp(back, 1);
}
static const unsigned char code[][8] = {
	{0x6e},                   /* outsb */
	{0xf3, 0x6e},             /* rep outsb */
	{0x6f},                   /* outsd */
	{0x0f, 0x00, 0x10},       /* lldt [rax] */
	{0x0f, 0x00, 0x18},       /* ltr [rax] */
	{0x0f, 0x01, 0x10},       /* lgdt [rax] */
	{0x0f, 0x01, 0x18},       /* lidt [rax] */
	{0x0f, 0x01, 0x30},       /* lmsw [rax] */
	{0xf3, 0x0f, 0xc7, 0x30}, /* vmxon [rax] */
	{0x0f, 0xc7, 0x30},       /* vmptrld [rax] */
};
int main(void) {
	on(SIGSEGV, caught, 0);
	on(SIGILL, caught, 0);
	unsigned char *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
	for (unsigned i = 0; i < sizeof code / sizeof *code; i++) {
		memset(p, 0xc3, 16);
		memcpy(p, code[i], code[i][0] == 0x6e || code[i][0] == 0x6f ? 1 : code[i][0] == 0xf3 && code[i][1] == 0x6e ? 2 : code[i][0] == 0xf3 ? 4 : 3);
		trap = 0;
		if (!sigsetjmp(back, 1)) {
			uint64_t sp;
			__asm__ volatile("mov %%rsp, %0; call *%1" : "=&r"(sp) : "r"(p), "a"(8), "d"(0), "c"(1), "S"(8), "D"(8) : "memory");
		}
		CHECK((trap == 13 || trap == 6) && at == (long)p); /* no page fault */
	}
	return OK();
}
