/* Code that is executed often, then written, in pages that have been left alone meanwhile: it does the same in each run. */
/* expect stdout: 19204800066 -1164079296 */
#include "check.h"
typedef int fn(int);
static void emit(unsigned char *p, int n) {
	unsigned char c[] = {0x8d, 0x87, 0, 0, 0, 0, 0xc3}; /* lea eax, [rdi+n]; ret */
	memcpy(c + 2, &n, 4);
	memcpy(p, c, sizeof c);
}
/* mov ecx, edi; again: add [rsi], ecx; dec ecx; jne again; mov [rip+1], dl; mov eax, imm; ret */
static const unsigned char loop[] = {0x89, 0xf9, 0x01, 0x0e, 0xff, 0xc9, 0x75, 0xfa, 0x88, 0x15, 1, 0, 0, 0, 0xb8, 5, 0, 0, 0, 0xc3};
int main(void) {
	unsigned char *p = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long sum = 0;
	int cell = 0;
	memcpy(p + 200, loop, sizeof loop);
	for (int i = 0; i < 12; i++) {
		emit(p, i), emit(p + 4092, i);
		for (int k = 0; k < 40000; k++) sum += ((fn *)p)(k), sum += ((fn *)(p + 4092))(k);
		sum += ((int (*)(int, int *, int))(p + 200))(300000, &cell, i);
	}
	printf("%ld %d\n", sum, cell);
	return 0;
}
