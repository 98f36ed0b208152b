/* A block goes on in another page by a jump, and that page's code is replaced between calls:
 * what was translated along the jump must not be executed again. */
/* expect stdout: 1 2 3 4 5 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096

static void put(unsigned char *page, int value)
{
	unsigned char code[] = { 0xb8, 0, 0, 0, 0, 0xc3 }; // mov eax, value; ret
	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
	code[1] = value;
	memcpy(page, code, sizeof code);
	mprotect(page, PAGE, PROT_READ | PROT_EXEC);
}

int main(void)
{
	unsigned char *p = mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int distance = PAGE - 5;
	p[0] = 0xe9; // jmp to the second page
	memcpy(p + 1, &distance, 4);
	mprotect(p, PAGE, PROT_READ | PROT_EXEC);
	for (int i = 1; i <= 5; i++) {
		put(p + PAGE, i);
		printf(i < 5 ? "%d " : "%d\n", ((int (*)(void))p)());
	}
	return 0;
}
