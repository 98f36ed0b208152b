/* A program without privileges locks all of its memory, which is less than it may lock */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
#include <sys/resource.h>
static long locked(void) { /* kB */
	char line[256];
	long n = -1;
	FILE *f = fopen("/proc/self/status", "r");
	CHECK(f != 0);
	while (fgets(line, sizeof line, f)) sscanf(line, "VmLck: %ld", &n);
	fclose(f);
	return n;
}
__attribute__((noinline)) static int work(int n) { __asm__ volatile(""); return n + 1; }
int main(void) {
	CHECK(work(1) == 2);
	struct rlimit limit;
	CHECK(getrlimit(RLIMIT_MEMLOCK, &limit) == 0);
	if (limit.rlim_max < 8 << 20) return OK(); /* it may not lock what it has */
	if (geteuid() == 0) CHECK(setresuid(65534, 65534, 65534) == 0);
	limit.rlim_cur = limit.rlim_max = 8 << 20;
	CHECK(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
	for (int i = 0; i < 3; i++) {
		CHECK(mlockall(MCL_CURRENT | (i ? MCL_FUTURE : 0)) == 0);
		long before = locked();
		CHECK(before > 500 && before < 8 << 10);
		char *p = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(p != MAP_FAILED && locked() - before == (i ? 1 << 10 : 0));
		CHECK(munmap(p, 1 << 20) == 0);
		CHECK(munlockall() == 0 && locked() == 0);
	}
	limit.rlim_cur = 65536;
	CHECK(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
	CHECK(mlockall(MCL_CURRENT) == -1 && errno == ENOMEM && locked() == 0);
	CHECK(mlockall(MCL_FUTURE) == 0 && locked() == 0);
	return OK();
}
