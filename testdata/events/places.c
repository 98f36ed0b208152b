/* Addresses that are data and amid an instruction, and a program that executes another one, where nothing lies at them. Says what they hold. */
#include <stdio.h>
#include <unistd.h>

volatile int datum = 5;

__attribute__((noinline)) int number(void)
{
	__asm__ volatile("");
	return 0x11223344;
}

int main(int argc, char **argv)
{
	printf("%d %#x\n", datum, number());
	fflush(stdout);
	if (argc > 1)
		execv(argv[1], argv + 1);
	return 7;
}
