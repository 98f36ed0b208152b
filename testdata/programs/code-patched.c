/* With an argument, a program that patches a function of its own file's code, and takes the right to write all of that back: the mapping is what it was. */
/* expect stdout: 42 */
#include "check.h"
#include <time.h>
extern void _init(void);
__attribute__((noinline, aligned(4096), naked)) int answer(void) { __asm__("mov $42, %eax\n\tret"); }
static int (*volatile ask)(void) = answer;
int main(int argc, char **argv) {
	int want = 42;
	if (argc > 1) {
		char *from = (char *)((uintptr_t)_init & -4096), *to = (char *)(((uintptr_t)&etext + 4095) & -4096);
		CHECK(mprotect(from, to - from, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
		((unsigned char *)answer)[1] = want = 43;
		CHECK(mprotect(from, to - from, PROT_READ | PROT_EXEC) == 0);
	}
	clock_t end = clock() + CLOCKS_PER_SEC / 4;
	for (long i = 0; i % 1000 || clock() < end; i++)
		CHECK(ask() == want);
	printf("%d\n", want);
	return 0;
}
