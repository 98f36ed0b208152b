/* One memory, two mappings: written through one, run through the other. */
/* expect stdout: ok */
#include "check.h"
typedef int fn(int);
int main(void) {
	int fd = memfd_create("jit", 0);
	CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
	unsigned char *w = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	unsigned char *x = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	CHECK(w != MAP_FAILED && x != MAP_FAILED);
	for (int i = 0; i < 200; i++) {
		unsigned char c[] = {0x8d, 0x87, (unsigned char)i, 0, 0, 0, 0xc3};
		memcpy(w + 8 * (i & 1), c, sizeof c);
		for (int k = 0; k < 3; k++) CHECK(((fn *)(x + 8 * (i & 1)))(k) == i + k);
	}
	return OK();
}
