/* Entries into handlers, one after the other: what each finds in its registers, its frame, its mask and on its stack, while the program
 * changes handlers, flags, masks and stacks between them. */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
#include <fenv.h>
#include <immintrin.h>
#define THAT(c) ({ CHECK(c); })
static volatile int hits, who;
static volatile uint64_t frame, stack;
static ucontext_t last;
static siginfo_t info;
static stack_t alt, other;
static sigset_t within;
static unsigned start_mxcsr;
static unsigned short start_cw;
static uint64_t start_flags;
static char start_x0[16], state[512];
static inline __attribute__((always_inline)) long call(long n, long a, long b, long c) {
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "0"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return r;
}
/* seen keeps what a handler finds. */
static void seen(int s, siginfo_t *i, void *u) {
	__asm__ volatile("stmxcsr %0; fnstcw %1; movups %%xmm9, %2; pushf; pop %3" : "=m"(start_mxcsr), "=m"(start_cw), "=m"(start_x0), "=r"(start_flags));
	hits++, frame = (uint64_t)u, stack = (uint64_t)__builtin_frame_address(0);
	memcpy(&last, u, sizeof last);
	info = *i;
	CHECK(i->si_signo == s);
	CHECK((uint64_t)i == frame + 304);
	sigprocmask(SIG_SETMASK, 0, &within);
	unsigned *fp = (unsigned *)last.uc_mcontext.fpregs;
	CHECK(fp[464 / 4] == 0x46505853 && fp[464 / 4 + 1] >= 512);
	CHECK(*(unsigned *)((char *)fp + fp[464 / 4 + 1] - 4) == 0x46505845);
	CHECK(fp[464 / 4 + 4] == fp[464 / 4 + 1] - 4); /* xstate_size */
	CHECK((fp[128] & 3) == 3);
	memcpy(state, fp, sizeof state);
}
static void first(int s, siginfo_t *i, void *u) { seen(s, i, u), who = 1; }
static void second(int s, siginfo_t *i, void *u) { seen(s, i, u), who = 2; }
static void again(int s, siginfo_t *i, void *u) {
	seen(s, i, u);
	if (who < 3 && ++who) call(SYS_tgkill, getpid(), gettid(), s);
}
static void moves(int s, siginfo_t *i, void *u) { /* returns with another alternate stack */
	seen(s, i, u);
	((ucontext_t *)u)->uc_stack = other;
}
static void changes(int s, siginfo_t *i, void *u) { on(s, second, 0); }
static void plain(int s) { hits++, who = s; } /* without a siginfo: nothing is written where it would lie */
static void chance(int s, siginfo_t *i, void *u) { hits++; }
/* raises sends the thread a signal with registers that the frame has to show. */
__attribute__((noinline)) static void raises(int sig, int expected) {
	static char x[32] __attribute__((aligned(32)));
	int before = hits;
	uint64_t r12, r13, sp;
	for (int k = 0; k < 32; k++) x[k] = before + k;
	static unsigned mxcsr, was, back;
	__asm__ volatile("stmxcsr %0" : "=m"(was));
	mxcsr = was ^ (before & 1 ? 0x2000 : 0x4000); /* rounding */
	__asm__ volatile("ldmxcsr %[m]; movups %[x], %%xmm9; mov $0x1212, %%r12; mov $0x1313, %%r13; std; syscall; cld; mov %%r12, %[a]; mov %%r13, %[b]; mov %%rsp, %[sp]; movups %%xmm9, %[x]; stmxcsr %[back]; ldmxcsr %[was]"
		: [a] "=r"(r12), [b] "=r"(r13), [sp] "=r"(sp), [back] "=m"(back), [x] "+m"(x) : "a"(SYS_tgkill), "D"(getpid()), "S"(gettid()), "d"(sig), [m] "m"(mxcsr), [was] "m"(was) : "rcx", "r11", "r12", "r13", "xmm9", "memory");
	CHECK(r12 == 0x1212 && r13 == 0x1313 && back == mxcsr);
	for (int k = 0; k < 16; k++) CHECK(x[k] == (char)(before + k));
	CHECK(hits == before + expected);
	if (!expected) return;
	greg_t *g = last.uc_mcontext.gregs;
	CHECK(info.si_code == SI_TKILL && info.si_pid == getpid());
	if (expected > 1) return;
	CHECK(g[REG_R12] == 0x1212 && g[REG_R13] == 0x1313 && (uint64_t)g[REG_RSP] == sp && own(g[REG_RIP]) && g[REG_RAX] == 0);
	CHECK(g[REG_EFL] & 0x400 && !(start_flags & 0x500));
	CHECK(*(unsigned *)(state + 24) == mxcsr && !memcmp(state + 160 + 9 * 16, x, 16));
	/* a handler begins with the state of a new program */
	CHECK(start_mxcsr == 0x1f80 && start_cw == 0x37f);
	for (int k = 0; k < 16; k++) CHECK(start_x0[k] == 0);
}
static int on_stack(stack_t *s, uint64_t a) { return a > (uint64_t)s->ss_sp && a < (uint64_t)s->ss_sp + s->ss_size; }
static int blocks(int sig) { return sigismember(&within, sig); }
__attribute__((noinline)) int work(int n) { return n + 1; }
/* small has a signal come on a stack that has no room for a frame. */
static void overflow(int s, siginfo_t *i, void *u) { _exit(on_stack(&alt, (uint64_t)u) ? 7 : 8); }
static void small(void) {
	char *p = mmap(0, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(mprotect(p + 4096, 8192, PROT_READ | PROT_WRITE) == 0);
	on(SIGSEGV, overflow, SA_ONSTACK);
	on(SIGUSR1, chance, 0);
	pid_t me = getpid();
	for (int k = 0; k < 20; k++)
		__asm__ volatile("mov %%rsp, %%rbx; mov %1, %%rsp; syscall; mov %%rbx, %%rsp" : : "a"(SYS_tgkill), "r"(p + 4096 + 8192 - 64), "D"(me), "S"(me), "d"(SIGUSR1) : "rcx", "r11", "rbx", "memory");
	__asm__ volatile("mov %1, %%rsp; syscall; ud2" : : "a"(SYS_tgkill), "r"(p + 4096 + 1024), "D"(me), "S"(me), "d"(SIGUSR1) : "rcx", "r11", "rbx", "memory");
}
int main(void) {
	alt.ss_sp = malloc(alt.ss_size = 65536), other.ss_sp = malloc(other.ss_size = 65536);
	for (int n = 0; n < 4; n++) {
		on(SIGUSR1, first, 0);
		for (int k = 0; k < 6; k++) raises(SIGUSR1, 1), THAT(who == 1 && !on_stack(&alt, stack) && blocks(SIGUSR1) && !blocks(SIGUSR2));
		on(SIGUSR1, second, 0); /* another handler */
		for (int k = 0; k < 3; k++) raises(SIGUSR1, 1), THAT(who == 2);
		on(SIGUSR1, first, SA_NODEFER); /* other flags */
		for (int k = 0; k < 3; k++) raises(SIGUSR1, 1), THAT(!blocks(SIGUSR1) && !on_stack(&alt, stack));
		on(SIGUSR1, first, SA_ONSTACK);
		for (int k = 0; k < 3; k++) raises(SIGUSR1, 1), THAT(on_stack(&alt, stack) == (n > 0));
		CHECK(sigaltstack(&alt, 0) == 0); /* another stack */
		for (int k = 0; k < 3; k++) raises(SIGUSR1, 1), THAT(on_stack(&alt, stack) && on_stack(&alt, frame));
		on(SIGUSR1, first, SA_ONSTACK), on(SIGUSR2, moves, 0); /* and one by a frame */
		for (int k = 0; k < 3; k++) raises(SIGUSR1, 1), THAT(on_stack(&alt, stack));
		for (int k = 0; k < 4; k++) raises(SIGUSR2, 1), raises(SIGUSR1, 1), THAT(on_stack(&other, stack));
		CHECK(sigaltstack(&alt, 0) == 0);
		struct sigaction a = {.sa_sigaction = first, .sa_flags = SA_SIGINFO};
		sigaddset(&a.sa_mask, SIGUSR2); /* a mask of its own */
		CHECK(sigaction(SIGUSR1, &a, 0) == 0);
		for (int k = 0; k < 3; k++) raises(SIGUSR1, 1), THAT(blocks(SIGUSR2) && blocks(SIGUSR1) && !sigismember(&last.uc_sigmask, SIGUSR2));
		sigset_t some, old;
		sigemptyset(&some), sigaddset(&some, SIGHUP);
		sigprocmask(SIG_BLOCK, &some, &old); /* another mask of the thread's */
		for (int k = 0; k < 3; k++) raises(SIGUSR1, 1), THAT(blocks(SIGHUP) && sigismember(&last.uc_sigmask, SIGHUP));
		sigprocmask(SIG_SETMASK, &old, 0);
		raises(SIGUSR1, 1), THAT(!blocks(SIGHUP));
		on(SIGUSR1, again, SA_NODEFER | SA_ONSTACK); /* within itself */
		for (int k = 0; k < 4; k++) who = 0, raises(SIGUSR1, 4);
		on(SIGUSR1, changes, 0); /* one that replaces itself */
		call(SYS_tgkill, getpid(), gettid(), SIGUSR1);
		raises(SIGUSR1, 1), THAT(who == 2);
		signal(SIGUSR1, plain);
		for (int k = 0; k < 5; k++) {
			who = 0, call(SYS_tgkill, getpid(), gettid(), SIGUSR1);
			CHECK(who == SIGUSR1);
		}
		on(SIGUSR1, first, SA_RESETHAND);
		raises(SIGUSR1, 1);
		signal(SIGUSR1, SIG_IGN);
		raises(SIGUSR1, 0);
		for (int k = 0; k < 5; k++) { /* what a signal carries */
			on(SIGRTMIN, first, 0);
			for (int j = 0; j < 3; j++) {
				union sigval v = {.sival_int = 100 * k + j};
				CHECK(sigqueue(getpid(), SIGRTMIN, v) == 0);
				CHECK(info.si_code == SI_QUEUE && info.si_value.sival_int == 100 * k + j);
			}
		}
		CHECK(work(n) == n + 1);
	}
	on(SIGALRM, chance, SA_RESTART); /* anywhere, with sums in vector registers */
	struct itimerval t = {{0, 700}, {0, 700}};
	setitimer(ITIMER_REAL, &t, 0);
	int from = hits;
	for (double want = 0; hits < from + 200;) {
		double sum = 0;
		want = 0;
		for (int k = 1; k < 2000; k++) sum += k * 0.5;
		CHECK(sum == 1999 * 2000 / 4.0);
	}
	memset(&t, 0, sizeof t);
	setitimer(ITIMER_REAL, &t, 0);
	pid_t c = fork();
	if (c == 0) small();
	int st;
	CHECK(waitpid(c, &st, 0) == c && WIFEXITED(st) && WEXITSTATUS(st) == 7);
	return OK();
}
