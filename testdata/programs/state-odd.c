/* What no program should do, and what happens to it then: natively and traced. */
/* expect stdout: ok */
/* needs: does-tsc-refusal */
#include "check.h"
#include <sys/prctl.h>
static sigjmp_buf back;
static volatile int sig, code;
static volatile unsigned long at, addr;
static void h(int s, siginfo_t *i, void *u) { sig = s, code = i->si_code, at = rip(u), addr = (unsigned long)i->si_addr; siglongjmp(back, 1); }
static volatile unsigned sum;
__attribute__((noinline)) static void work(void) { for (unsigned i = 0; i < 100; i++) sum = sum * 5 + i; }
#define FAULTS(how) (sigsetjmp(back, 1) == 0 ? (how, 0) : 1)
/* an instruction that reaches into a page that is not there, and is another one later */
static void edge(void) {
	unsigned char *p = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED && munmap(p + 4096, 4096) == 0);
	for (int i = 0; i < 3; i++) {
		p[4093] = 0xb8, p[4094] = 5, p[4095] = 0; /* mov, cut off */
		CHECK(FAULTS(((void (*)(void))(p + 4093))()));
		CHECK(sig == SIGSEGV && at == (unsigned long)p + 4093 && addr == (unsigned long)p + 4096);
		p[4093] = 0x90, p[4094] = 0x90, p[4095] = 0xc3;
		((void (*)(void))(p + 4093))();
		p[4095] = 0x90;
		CHECK(FAULTS(((void (*)(void))(p + 4093))()));
		CHECK(sig == SIGSEGV && at == (unsigned long)p + 4096);
	}
	munmap(p, 4096);
}
static void badframe(void) {
	sig = 0;
	pid_t c = fork();
	if (c == 0) {
		signal(SIGSEGV, SIG_DFL);
		__asm__ volatile("mov $8, %%rsp; mov $15, %%eax; syscall" : : : "memory");
		_exit(1);
	}
	int st;
	CHECK(waitpid(c, &st, 0) == c && WIFSIGNALED(st) && WTERMSIG(st) == SIGSEGV);
}
static void vsys(void) {
	FILE *m = fopen("/proc/self/maps", "r");
	char line[512];
	int have = 0;
	while (fgets(line, sizeof line, m)) have |= strstr(line, "[vsyscall]") != 0;
	fclose(m);
	if (!have) return;
	CHECK(FAULTS(((long (*)(void *, void *))0xffffffffff600000)((void *)8, 0)));
	CHECK(sig == SIGSEGV);
	CHECK(FAULTS(((long (*)(void *))0xffffffffff600400)((void *)8)));
	CHECK(sig == SIGSEGV);
}
static void tsc(void) {
	CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
	for (int i = 0; i < 20; i++) work();
	CHECK(syscall(SYS_getppid) > 0);
	void *m = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(munmap(m, 4096) == 0);
	sig = 0;
	CHECK(FAULTS(({ unsigned a, d; __asm__ volatile("rdtsc" : "=a"(a), "=d"(d)); })));
	CHECK(sig == SIGSEGV);
	CHECK(prctl(PR_SET_TSC, PR_TSC_ENABLE) == 0);
	unsigned a, d;
	__asm__ volatile("rdtsc" : "=a"(a), "=d"(d));
}
int main(int argc, char **argv) {
	int what = argc > 1 ? atoi(argv[1]) : 15;
	on(SIGSEGV, h, SA_NODEFER), on(SIGBUS, h, SA_NODEFER);
	work();
	if (what & 1) edge();
	if (what & 2) badframe();
	if (what & 4) vsys();
	if (what & 8) tsc();
	work();
	return OK();
}
