/* Writable code that is entered with alignment checked (EFLAGS.AC), at every
   offset: whoever looks at it meanwhile must do so by aligned loads. Java virtual
   machines tell processors apart in this way. */
/* expect stdout: ok */
#include "check.h"
#include <sys/mman.h>
static int checked_call(void *fn) {
	int r;
	__asm__ volatile("sub $128, %%rsp\n\t"
	                 "pushf\n\torl $0x40000, (%%rsp)\n\tpopf\n\t"
	                 "call *%1\n\t"
	                 "pushf\n\tandl $~0x40000, (%%rsp)\n\tpopf\n\t"
	                 "add $128, %%rsp"
	                 : "=&a"(r) : "r"(fn) : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
	return r;
}
int main(void) {
	unsigned char *at = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(at != MAP_FAILED);
	for (int round = 0; round < 3; round++)
		for (int off = 0; off < 40; off++)
			for (int pad = 0; pad < 20; pad++) {
				unsigned char *p = at + 64 * off + off, *fn = p;
				for (int i = 0; i < pad; i++) *p++ = 0x90;
				*p++ = 0xb8; /* mov eax, imm32 */
				*p++ = (unsigned char)(off + round);
				*p++ = (unsigned char)pad;
				*p++ = 0;
				*p++ = 0;
				*p++ = 0xc3;
				CHECK(checked_call(fn) == off + round + 256 * pad);
			}
	puts("ok");
	return 0;
}
