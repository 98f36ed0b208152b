/* A system call by an instruction of its own, and code right behind it, 20 times: a window that the call opens natively has that code. */
#include <unistd.h>

__attribute__((noinline, noclone)) long call(int number)
{
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(number) : "rcx", "r11", "memory");
	return r;
}

__attribute__((noinline, noclone)) void spin(int n)
{
	for (int i = 0; i < n; i++)
		__asm__ volatile("nop");
}

int main(void)
{
	for (int i = 0; i < 20; i++) {
		call(110); /* getppid */
		spin(20);
		call(102); /* getuid */
	}
	return 0;
}
