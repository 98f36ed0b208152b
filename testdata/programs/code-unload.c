/* Libraries come and go; other code appears where they were. */
/* build: -ldl */
/* expect stdout: ok */
#include "check.h"
#include <dlfcn.h>
#include <math.h>
typedef double fn(double);
int main(void) {
	/* two libraries in turn, which the linker mostly maps at the same place */
	for (int i = 0; i < 10; i++) {
		void *m = dlopen(i & 1 ? "libresolv.so.2" : "libm.so.6", RTLD_NOW);
		CHECK(m);
		if (i & 1) {
			int (*ntop)(const char *, unsigned char *, unsigned long) = (int (*)(const char *, unsigned char *, unsigned long))dlsym(m, "ns_format_ttl");
			if (!ntop) ntop = 0;
		} else {
			fn *f = (fn *)dlsym(m, "cbrt");
			CHECK(f && f(27) > 2.9 && f(27) < 3.1);
		}
		CHECK(dlclose(m) == 0);
	}
	char name[] = "codeXXXXXX";
	int fd = mkstemp(name);
	CHECK(fd >= 0 && unlink(name) == 0 && ftruncate(fd, 8192) == 0);
	for (int k = 0; k < 2; k++) {
		/* mov eax, k+1; ret */
		unsigned char c[] = {0xb8, (unsigned char)(k + 1), 0, 0, 0, 0xc3};
		CHECK(pwrite(fd, c, sizeof c, 4096 * k) == sizeof c);
	}
	void *at = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 20; i++) { /* a mapping over another, without munmap between */
		CHECK(mmap(at, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 4096 * (i & 1)) == at);
		CHECK(((int (*)(void))at)() == (i & 1) + 1);
	}
	/* moved code does what it did, at its new place */
	void *to = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(mremap(at, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
	CHECK(((int (*)(void))to)() == 2);
	return OK();
}
