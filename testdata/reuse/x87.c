/* Has the x87 write the address of its last instruction, and says whether it is the program's own. */
#include <locale.h>
#include <stdio.h>
#include <string.h>
extern char __executable_start, etext;
__attribute__((noinline)) static unsigned told(char *env) {
	double x = 1.5;
	unsigned v;
	__asm__ volatile("fldl %1; fstp %%st(0); fnstenv %0" : "=m"(*(char(*)[28])env) : "m"(x));
	memcpy(&v, env + 12, 4);
	return v;
}
int main(void) {
	char env[28];
	unsigned v = 0;
	setlocale(LC_ALL, "");
	for (int i = 0; i < 3; i++) v = told(env);
	printf("%s\n", v - (unsigned)(unsigned long)&__executable_start < (unsigned)(&etext - &__executable_start) ? "own" : "not its own");
	return 0;
}
