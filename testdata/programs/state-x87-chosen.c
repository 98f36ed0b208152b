/* xsave and its kind write what EAX and EDX name. Where that is not the x87's state, what lies in its place stays, whatever it
 * is, and so do registers and flags; where it is, it tells where the last x87 instruction lies. */
/* expect stdout: ok */
/* needs: xsavec */
#include "check.h"
extern char divides[];
static char area[8192] __attribute__((aligned(64)));

/* The compacted form needs no other header than zeros; what is behind bit 0 lies elsewhere. */
#define SAVE(name, ins)                                                                                                          \
	__attribute__((noinline)) static void name(uint32_t low) {                                                               \
		uint64_t a = 0x5555555500000000 | low, c = 0x0123456789abcdef, d = 0, equal;                                     \
		__asm__ volatile("cmp %2, %2\n" ins " (%4)\nsete %b3"                                                             \
				 : "+a"(a), "+d"(d), "+c"(c), "=&b"(equal)                                                         \
				 : "r"(area)                                                                                       \
				 : "memory", "cc");                                                                                \
		CHECK(a == (0x5555555500000000 | low) && d == 0 && c == 0x0123456789abcdef && (equal & 1));                       \
	}
SAVE(save, "xsave64")
SAVE(save32, "xsave")
SAVE(savec, "xsavec64")
SAVE(savec32, "xsavec")

int main(void) {
	void (*const saves[])(uint32_t) = {save, save32, savec, savec32};
	const uint64_t old = 0x00007f1234567890;
	for (int k = 0; k < 2000; k++) {
		uint32_t low = (uint32_t)k * 2 & 0xee;
		memset(area, 0, sizeof area);
		memcpy(area + 8, &old, 8);
		saves[k % 4](low);
		CHECK(memcmp(area + 8, &old, 8) == 0);
	}
	/* a division by zero that waits: the processor tells where it is */
	uint16_t cw = 0x37b;
	for (int k = 0; k < 40; k++) {
		memset(area, 0, sizeof area);
		memcpy(area + 8, &old, 8);
		__asm__ volatile("fninit\nfldcw %0\nfld1\nfldz\ndivides: fdivrp" : : "m"(cw));
		saves[k % 4]((uint32_t)k * 2 | 1);
		__asm__ volatile("fnclex\nfninit");
		uint64_t told;
		memcpy(&told, area + 8, 8);
		CHECK(k % 2 ? (uint32_t)told == (uint32_t)(uint64_t)divides : told == (uint64_t)divides);
	}
	puts("ok");
	return 0;
}
