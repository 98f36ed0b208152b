/* Returns and jumps to where a byte cannot be read, or only just: the fault is at the target, and the registers are those behind the branch; what may be executed is. */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
static sigjmp_buf back;
static volatile uint64_t addr, at, sp, was;
static volatile int sig, code, changed, faulted;
static void h(int s, siginfo_t *i, void *uc) {
	greg_t *r = ((ucontext_t *)uc)->uc_mcontext.gregs;
	sig = s, code = i->si_code, addr = (uint64_t)i->si_addr, at = rip(uc), sp = r[REG_RSP], faulted++;
	changed = r[REG_RCX] != 0x1c1c1c1c1c1c || r[REG_RDX] != 0x1d1d1d1d1d1d || !(r[REG_EFL] & 1);
	siglongjmp(back, 1);
}
#define WITH "mov $0x1c1c1c1c1c1c, %%rcx; mov $0x1d1d1d1d1d1d, %%rdx; stc; "
__attribute__((noinline)) static void by_return(uint64_t to) {
	__asm__ volatile("mov %%rsp, %0; push %1; " WITH "ret" : "=m"(was) : "r"(to) : "rcx", "rdx", "memory");
}
__attribute__((noinline)) static void by_jump(uint64_t to) {
	__asm__ volatile("mov %%rsp, %0; " WITH "jmp *%1" : "=m"(was) : "a"(to) : "rcx", "rdx", "memory");
}
static void faults(uint64_t to, int by, int why) {
	for (int k = 0; k < 2; k++) {
		sig = 0;
		if (sigsetjmp(back, 1) == 0) (k ? by_return : by_jump)(to);
		CHECK(sig == by && code == why && addr == to && at == to && sp == was && !changed);
	}
}
/* returns to code that returns here, with 42 */
__attribute__((noinline)) static long through(void *to) {
	long v;
	__asm__ volatile("lea 1f(%%rip), %%rcx; push %%rcx; push %1; ret; 1:" : "=a"(v) : "r"(to) : "rcx", "memory");
	return v;
}
__attribute__((noinline)) int work(int n) { return n + 1; }
int main(void) {
	on(SIGSEGV, h, 0);
	on(SIGBUS, h, 0);
	unsigned char *p = mmap(0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const unsigned char code42[] = {0xb8, 42, 0, 0, 0, 0xc3};
	memcpy(p, code42, sizeof code42);
	p[0x800] = 0xc3; /* what stands in rax is returned */
	p[4095] = 0xc3;
	CHECK(munmap(p + 4096, 4096) == 0 && mprotect(p, 4096, PROT_EXEC) == 0); /* where the processor has protection keys it cannot be read */
	CHECK(mprotect(p + 8192, 4096, PROT_NONE) == 0);
	int fd = open("/proc/self/exe", O_RDONLY);
	uint64_t size = lseek(fd, 0, SEEK_END), behind = (size + 4095) / 4096 * 4096;
	unsigned char *f = mmap(0, behind + 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	CHECK(f != MAP_FAILED);
	for (int i = 0; i < 3; i++) {
		faults(0, SIGSEGV, SEGV_MAPERR);
		faults(0x123456, SIGSEGV, SEGV_MAPERR);
		faults((uint64_t)p + 4096, SIGSEGV, SEGV_MAPERR);
		faults((uint64_t)p + 8192, SIGSEGV, SEGV_ACCERR);
		faults((uint64_t)f + behind + 16, SIGBUS, BUS_ADRERR);
		faults(0xffff800000001234ul, SIGSEGV, SEGV_MAPERR); /* the kernel's half: canonical */
		int had = faulted;
		CHECK(through(p) == 42);
		sigset_t all, old, now;
		sigfillset(&all);
		CHECK(sigprocmask(SIG_SETMASK, &all, &old) == 0);
		CHECK(through(p) == 42);
		through(p + 4095);
		CHECK(sigprocmask(SIG_SETMASK, &old, &now) == 0 && sigismember(&now, SIGSEGV) && sigismember(&now, SIGBUS));
		CHECK(faulted == had);
		CHECK(work(i) == i + 1);
	}
	return OK();
}
