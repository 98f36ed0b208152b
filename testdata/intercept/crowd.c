// Very many functions, of which some are called.
#include <stdio.h>

__asm__(".text\n.p2align 4\n.globl crowd\ncrowd:\n"
	".rept 50000\nlea 1(%rdi),%rax\nmov %rax,%rcx\nret\n.p2align 4\n.endr\n");
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
