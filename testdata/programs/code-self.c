/* Code that changes the instructions right behind itself. */
/* expect stdout: ok */
#include "check.h"
int main(void) {
	/* movb dil -> the immediate of the next mov; mov eax, imm32; ret */
	static const unsigned char code[] = {0x40, 0x88, 0x3d, 1, 0, 0, 0, 0xb8, 0, 0, 0, 0, 0xc3};
	unsigned char *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(p, code, sizeof code);
	for (int i = 0; i < 100; i++) CHECK(((int (*)(int))p)(i) == i);
	/* rep stosb over what follows it, as unpackers do: rdi, rcx given, al = 0x90 (nop) */
	static const unsigned char unpack[] = {0xb0, 0x90, 0xf3, 0xaa, 0x0f, 0x0b, 0x0f, 0x0b, 0xb8, 7, 0, 0, 0, 0xc3};
	unsigned char *q = p + 256;
	memcpy(q, unpack, sizeof unpack);
	int r;
	void *d = q + 4;
	long n = 4;
	__asm__ volatile("call *%3" : "=a"(r), "+D"(d), "+c"(n) : "r"(q) : "memory");
	CHECK(r == 7);
	return OK();
}
