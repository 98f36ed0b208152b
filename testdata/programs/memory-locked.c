/* All memory is locked, now and in future, as programs do that must not wait for pages */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
#include <sys/resource.h>

/* resident is how many megabytes the process has in memory, shared ones too. */
static long resident(void) {
	char b[128] = "";
	int fd = open("/proc/self/statm", O_RDONLY);
	CHECK(fd >= 0 && read(fd, b, sizeof b - 1) > 0 && close(fd) == 0);
	return strtol(strchr(b, ' '), 0, 10) / 256;
}

__attribute__((noinline)) static int work(int n) { __asm__ volatile(""); return n + 1; }
int main(void) {
	CHECK(work(1) == 2);
	struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	if (setrlimit(RLIMIT_MEMLOCK, &unlimited) != 0) return OK(); /* without rights there is nothing to see */
	long before = resident();
	CHECK(mlockall(MCL_CURRENT) == 0);
	CHECK(mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
	char *p = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
	memset(p, 1, 1 << 20);
	/* A tracer may have some memory here of its own, but not all that it has room for. */
	CHECK(resident() - before < 1000);
	CHECK(mlockall(0) == -1 && errno == EINVAL);
	CHECK(munlockall() == 0);
	return OK();
}
