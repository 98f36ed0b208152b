/* expect stdout: 25500
   Very many functions, fn0 to fn49999, of which every 997th is called twenty times. */
#include <stdio.h>

__asm__(".altmacro\n.macro function n\n.type fn\\n,@function\nfn\\n: lea 1(%rdi),%rax\nmov %rax,%rcx\nret\n.size fn\\n,.-fn\\n\n.p2align 4\n.endm\n"
	".text\n.p2align 4\n.globl crowd\ncrowd:\n.set i,0\n.rept 50000\nfunction %i\n.set i,i+1\n.endr\n.noaltmacro\n");
extern char crowd[];

int main(void)
{
	long sum = 0;
	for (int round = 0; round < 20; round++)
		for (long i = 0; i < 50; i++)
			sum += ((long (*)(long))(crowd + 16 * 997 * i))(i);
	printf("%ld\n", sum);
	return 0;
}
