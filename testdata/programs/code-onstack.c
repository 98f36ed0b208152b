/* Code that changes the instructions right behind itself by way of rsp and rbp, which lay elsewhere when it was executed before. */
/* expect stdout: ok */
#include "check.h"

/* at calls code with rsp and rbp where they are said to be. */
long at(void *code, void *sp, uint64_t v);
__asm__("at: push %rbp; lea back(%rip), %r9; mov %rsp, %r8; mov %rsi, %rsp; mov %rsi, %rbp; jmp *%rdi\n"
        ".globl back\nback: mov %r8, %rsp; pop %rbp; ret\n");

/* Each has mov eax, 1; jmp *r9 behind the store of rdx. */
static const struct {
	unsigned char code[24];
	int n, above; /* of the code in front, and where rsp is above its end */
} kinds[] = {
	{{0x52}, 1, 8},                                                   /* push rdx */
	{{0x48, 0x89, 0x54, 0x24, 0xf8}, 5, 8},                           /* mov [rsp-8], rdx */
	{{0x48, 0x89, 0x55, 0x10}, 4, -16},                               /* mov [rbp+16], rdx */
	{{0x48, 0x83, 0xec, 0x40, 0x52}, 5, 0x48},                        /* sub rsp, 64; push rdx */
	{{0x48, 0x8d, 0x6d, 0x40, 0x48, 0x89, 0x55, 0x00}, 8, -0x40},     /* lea rbp, [rbp+64]; mov [rbp], rdx */
	{{0x55, 0x5c, 0x48, 0x89, 0x54, 0x24, 0xf8}, 7, 8},               /* push rbp; pop rsp; mov [rsp-8], rdx */
	{{0x48, 0x89, 0x6d, 0x40, 0x48, 0x8b, 0x6d, 0x40, 0x48, 0x89, 0x55, 0x00}, 12, 0}, /* mov [rbp+64], rbp; mov rbp, [rbp+64]; mov [rbp], rdx */
};

static void run(unsigned char *p, unsigned char *elsewhere, int k) {
	static const unsigned char rest[] = {0xb8, 1, 0, 0, 0, 0x41, 0xff, 0xe1, 0x90};
	int n = kinds[k].n;
	memcpy(p, kinds[k].code, n);
	memcpy(p + n, rest, sizeof rest);
	for (int i = 0; i < 30; i++) {
		for (int j = 0; j < 2; j++) CHECK(at(p, elsewhere, 0) == i + 1);
		uint64_t v;
		int want = i + 2;
		memcpy(&v, p + n, 8);
		memcpy((char *)&v + 1, &want, 4);
		int got = at(p, p + n + kinds[k].above, v);
		if (got != want) dprintf(2, "kind %d, round %d: %d\n", k, i, got);
		CHECK(got == want);
	}
}

int main(void) {
	unsigned char *p = mmap(0, 3 << 16, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *elsewhere = mmap(0, 3 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED && elsewhere != MAP_FAILED);
	for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) run(p + (1 << 16) + 256 * k, elsewhere + 4096, k);
	return OK();
}
