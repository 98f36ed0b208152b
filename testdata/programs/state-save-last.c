/* The address of an area that state is saved to is made behind many stores, in one block: recording leaves the save to the next. */
/* expect stdout: ok */
#include "check.h"
#include <string.h>
static char area[1024] __attribute__((aligned(64)));
void save(void *to, long, long, long);
__asm__("save: mov %rax,(%rdi); mov %rbx,8(%rdi); mov %rcx,16(%rdi); mov %rdx,24(%rdi); mov %rsi,32(%rdi); mov %rdi,40(%rdi); mov %rbp,48(%rdi); mov %rsp,56(%rdi);"
	"mov %r8,64(%rdi); mov %r9,72(%rdi); mov %r10,80(%rdi); mov %r11,88(%rdi); mov %r12,96(%rdi); mov %r13,104(%rdi); mov %r14,112(%rdi); mov %r15,120(%rdi);"
	"lea 512(%rdi),%rcx; fxsave (%rcx); ret");
int main(void)
{
	for (int i = 0; i < 3; i++)
		save(area, 1, 2, 3);
	unsigned short control;
	memcpy(&control, area + 512, 2);
	CHECK(control == 0x37f);
	return OK();
}
