/* A store to memory 2 GB away from the code, whose address is formed by the instruction pointer, faults again and again, and goes on behind it: no register has changed. */
/* expect stdout: ok */
#include "check.h"
#include <stdint.h>
static char big[2040u << 20] __attribute__((aligned(4096)));
static int faults;
static void allow(int s, siginfo_t *si, void *v)
{
	faults++;
	CHECK(mprotect((void *)((uintptr_t)si->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE) == 0);
}
int main(void)
{
	struct sigaction sa = {.sa_sigaction = allow, .sa_flags = SA_SIGINFO};
	CHECK(sigaction(SIGSEGV, &sa, NULL) == 0);
	for (long i = 0; i < 50; i++) {
		CHECK(mprotect(big + (2000u << 20), 4096, PROT_READ) == 0);
		unsigned long a = 0x1234 + i, c = 0x77, d = 0x99;
		__asm__ volatile("movl $1, big+2000*1048576(%%rip)" : "+a"(a), "+c"(c), "+d"(d)::"memory");
		CHECK(a == 0x1234 + (unsigned long)i && c == 0x77 && d == 0x99);
	}
	CHECK(faults == 50);
	return OK();
}
