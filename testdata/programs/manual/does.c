/* does WHAT: ends with 0 where kernel and processor do it as the manuals say, with 1 or by a signal where they do not. Some virtual machines don't. */
#include "../32bit.h"
#include <sys/prctl.h>
static sigjmp_buf back;
static void h(int s, siginfo_t *i, void *u) { siglongjmp(back, 1); }
int main(int argc, char **argv) {
	CHECK(argc == 2);
	if (strcmp(argv[1], "int80") == 0) { /* 32-bit calls by 64-bit programs */
		long r;
		__asm__ volatile("int $0x80" : "=a"(r) : "0"(20) : "memory", "r8", "r9", "r10", "r11");
		return r != getpid();
	}
	if (strcmp(argv[1], "tsc-refusal") == 0) { /* a time stamp faults where the program has asked for it */
		unsigned a, d;
		on(SIGSEGV, h, SA_NODEFER);
		CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
		if (sigsetjmp(back, 1)) return 0;
		__asm__ volatile("rdtsc" : "=a"(a), "=d"(d));
		return 1;
	}
	if (strcmp(argv[1], "nested-task") == 0) { /* a call leaves the flag NT as it was */
		uint64_t f;
		__asm__ volatile("pushf; orl $0x4000, (%%rsp); popf; syscall; pushf; pop %0; pushf; andl $~0x4000, (%%rsp); popf" : "=r"(f) : "a"(SYS_getppid) : "rcx", "r11", "memory", "cc");
		return !(f & 0x4000);
	}
	if (strcmp(argv[1], "refuse-transactions") == 0) { /* without transactions xbegin is invalid; some processors hide theirs, and abort each */
		on(SIGILL, h, SA_NODEFER);
		if (sigsetjmp(back, 1)) return 0;
		__asm__ volatile("xbegin 1f; xend; 1:" : : : "eax", "memory");
		return 1;
	}
	if (strcmp(argv[1], "32bit-code") == 0) /* 64-bit programs execute 32-bit code, which calls the kernel */
		return run32(low32(), call32) != (uint64_t)getpid();
	return 99;
}
