/* System calls by the back doors: int 0x80 with the 32-bit table, vsyscall, an
 * unknown number, flags and registers around a call. */
/* expect stdout: ok */
/* needs: does-int80 */
#include "check.h"
int main(void) {
	long r;
	__asm__ volatile("int $0x80" : "=a"(r) : "0"(20) : "memory", "r8", "r9", "r10", "r11");
	CHECK(r == getpid() || r == -ENOSYS);
	if (r == getpid()) { // rt_sigprocmask's change stays
		uint64_t *set = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
		sigset_t mask;
		*set = 1 << (SIGUSR1 - 1);
		__asm__ volatile("int $0x80" : "=a"(r) : "0"(175), "b"(SIG_BLOCK), "c"(set), "d"(0), "S"(8) : "memory", "r8", "r9", "r10", "r11");
		CHECK(r == 0 && !sigprocmask(SIG_BLOCK, 0, &mask) && sigismember(&mask, SIGUSR1));
	}
	CHECK(syscall(100000) == -1 && errno == ENOSYS);
	uint64_t c, f, fl = 0x40 | 1, fl2;
	__asm__ volatile("push %4; popf; lea 1f(%%rip), %%rdx; syscall; 1: pushf; pop %2; sub %%rdx, %%rcx"
		: "=a"(r), "=&c"(c), "=&r"(fl2), "=&d"(f) : "r"(fl | 0x202), "0"(39l) : "r11", "memory", "cc");
	CHECK(r == getpid() && c == 0 && (fl2 & 0x8d5) == fl);
	uint64_t r11;
	__asm__ volatile("stc; syscall; mov %%r11, %1" : "=a"(r), "=r"(r11) : "0"(39l) : "rcx", "r11", "memory", "cc");
	CHECK((r11 & 0x301) == 0x201); /* interrupts on, no trap flag, carry */
	FILE *m = fopen("/proc/self/maps", "r");
	char line[512];
	int vsys = 0;
	while (fgets(line, sizeof line, m)) vsys |= strstr(line, "[vsyscall]") != 0;
	if (vsys) {
		long t = ((long (*)(void *))0xffffffffff600400)(0), now = time(0);
		CHECK(now - t <= 1);
		struct timeval tv = {0};
		CHECK(((long (*)(void *, void *))0xffffffffff600000)(&tv, 0) == 0 && now - tv.tv_sec <= 1);
	}
	/* getcpu and clocks, by the vdso */
	struct timespec a, b;
	for (int i = 0; i < 100; i++) {
		CHECK(clock_gettime(CLOCK_MONOTONIC, &a) == 0 && clock_gettime(CLOCK_MONOTONIC, &b) == 0);
		CHECK(b.tv_sec > a.tv_sec || b.tv_nsec >= a.tv_nsec);
	}
	return OK();
}
