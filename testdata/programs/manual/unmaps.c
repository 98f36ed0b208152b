/* A program that unmaps everything that it does not know. */
#include "../check.h"
static volatile unsigned sum;
__attribute__((noinline)) static void work(void) { for (unsigned i = 0; i < 100; i++) sum = sum * 5 + i; }
int main(void) {
	work();
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	struct { unsigned long a, b; } r[256];
	int n = 0;
	while (fgets(line, sizeof line, f))
		if (strstr(line, "memfd:alleria") && n < 256) { sscanf(line, "%lx-%lx", &r[n].a, &r[n].b); n++; }
	for (int i = 0; i < n; i++) munmap((void *)r[i].a, r[i].b - r[i].a);
	work();
	return OK();
}
