/* Functions whose calls are counted while the program runs natively. The first
   argument names one; it is called as often as the second says, and the program
   checks what it can see of itself meanwhile. With a third argument it says on
   standard error how the function began at the end: "jump", "int3" or "own". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static volatile long sink;
static long s;

__attribute__((noinline)) long plain(long n) { return sink += n; }
__attribute__((noinline)) long frames(long n, long m) {
	char room[64];
	snprintf(room, sizeof room, "%ld %ld", n, m);
	return sink += room[0] + m;
}
__attribute__((noinline)) long choice(long n) {
	if (n == 7) return 1;
	return sink += 3;
}
static __attribute__((noinline)) long tail_of(long n) { return plain(n + 1); }

/* By hand: what compilers seldom write. */
long one(long), two(long), four(long), looping(long), body(long), beside(long), beyond(long), table(long), carry(long, long), first(long *), second(long *),
	relative(long), locked(long), redzone(long), around(long), indirect(long);
asm(".text\n"
    ".macro f name\n .p2align 4\n .globl \\name\n .type \\name,@function\n\\name:\n.endm\n"
    ".macro e name\n .size \\name,.-\\name\n.endm\n"
    "f one\n ret\n e one\n"
    "f two\n nop\n ret\n e two\n"
    "f four\n mov %edi,%eax\n nop\n ret\n e four\n"
    /* a loop to the second instruction */
    "f looping\n mov %rdi,%rax\n 1: dec %rdi\n add $2,%rax\n test $3,%dil\n jne 1b\n ret\n e looping\n"
    /* two functions that share another's body behind its first instruction */
    "f beside\n lea 5(%rdi),%rax\n jmp 2f\n e beside\n"
    "f body\n mov %rdi,%rax\n 2: add $7,%rax\n add $9,%rax\n ret\n e body\n"
    "f beyond\n lea 6(%rdi),%rax\n .byte 0xe9\n .long 2b-.-4\n e beyond\n"
    /* a jump table to the second instruction */
    "f table\n mov %rdi,%rax\n 3: inc %rax\n test $15,%al\n je 4f\n lea 5f(%rip),%rcx\n jmp *(%rcx)\n 4: ret\n e table\n"
    ".section .data.rel.ro,\"aw\"\n .p2align 3\n 5: .quad 3b\n .text\n"
    /* the carry flag is a parameter */
    "f carry\n mov %rdi,%rax\n adc %rsi,%rax\n ret\n e carry\n"
    ".globl call_carry\n call_carry: mov $1,%esi\n stc\n call carry\n ret\n"
    /* the first and the second displaced instruction may fault */
    "f first\n mov (%rdi),%rax\n add $1,%rax\n ret\n e first\n"
    "f second\n push %rbx\n mov (%rdi),%rbx\n lea 1(%rbx),%rax\n test %rax,%rax\n pop %rbx\n ret\n e second\n"
    "f relative\n cmpl $5,sink(%rip)\n lea 3(%rdi),%rax\n ret\n e relative\n"
    "f locked\n lock incl sink(%rip)\n mov %rdi,%rax\n xor %ecx,%ecx\n ret\n e locked\n"
    /* uses the red zone, and is jumped to with something in it */
    "f redzone\n mov -8(%rsp),%rax\n sub %rdi,%rax\n mov %rax,-16(%rsp)\n add -16(%rsp),%rax\n ret\n e redzone\n"
    ".globl call_redzone\n call_redzone: lea 9(%rdi),%rax\n mov %rax,-8(%rsp)\n jmp redzone\n"
    /* a loop to the very start, which is no call */
    "f around\n sub $1,%rdi\n mov %rdi,%rax\n test $1,%dil\n ret\n e around\n"
    "f indirect\n mov %rdi,%rax\n xor %ecx,%ecx\n jmp *beyond_at(%rip)\n e indirect\n"
    ".data\n .p2align 3\n beyond_at: .quad beyond\n .text\n");
long call_carry(long), call_redzone(long);

/* Where a handler finds the thread must be code of the program's. */
static volatile sig_atomic_t handled, traced;
static unsigned long seen[1 << 16];
static void *target;

static const struct itimerval soon = {{0, 0}, {0, 300}};

static void look(int sig, siginfo_t *info, void *ctx) {
	ucontext_t *u = ctx;
	if (handled < 1 << 16) seen[handled] = u->uc_mcontext.gregs[REG_RIP];
	handled++;
	void *frame[32];
	int n = backtrace(frame, 32);
	char *at = (char *)frame[n - 1];
	extern char _start[];
	if (at >= _start && at < _start + 64) traced++; /* down to where it begins */
	sink += plain(1) ? 0 : 1;
	if (handled < 300) setitimer(ITIMER_REAL, &soon, NULL); /* a slow tracer must not see nothing else */
}

static sigjmp_buf out;
static long fixed = 41;
static unsigned long bad;

/* A fault is the program's own, at the address that it has there. */
static void fault(int sig, siginfo_t *info, void *ctx) {
	ucontext_t *u = ctx;
	unsigned long at = u->uc_mcontext.gregs[REG_RIP];
	if (at != (unsigned long)target + (target == (void *)second) || info->si_addr != (void *)8) bad++;
	if (++handled & 1) siglongjmp(out, 1);
	u->uc_mcontext.gregs[REG_RDI] = (long)&fixed;
}

static void step(int sig, siginfo_t *info, void *ctx) {
	unsigned long at = ((ucontext_t *)ctx)->uc_mcontext.gregs[REG_RIP];
	if (at - (unsigned long)target < 64) handled++;
}

static void hear(int sig, void (*f)(int, siginfo_t *, void *)) {
	struct sigaction a = {.sa_sigaction = f, .sa_flags = SA_SIGINFO};
	sigemptyset(&a.sa_mask);
	sigaction(sig, &a, NULL);
}

static long many;
static void *worker(void *arg) {
	long r = 0;
	for (long i = 0; i < many; i++) r += plain(1) != 0;
	return (void *)r;
}

/* How many of the places where handlers found the thread are not the program's. */
static int strange(void) {
	char line[512];
	int n = 0;
	FILE *f = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, f)) {
		unsigned long from, to;
		if (!strstr(line, "/memfd:alleria") || sscanf(line, "%lx-%lx", &from, &to) != 2) continue;
		for (int i = 0; i < handled && i < 1 << 16; i++) n += seen[i] >= from && seen[i] < to;
	}
	fclose(f);
	return n;
}

static void timed(long n) {
	struct itimerval off = {{0, 0}, {0, 0}};
	hear(SIGALRM, look);
	setitimer(ITIMER_REAL, &soon, NULL);
	for (long i = 0; i < n; i++) s += frames(i & 63, i);
	setitimer(ITIMER_REAL, &off, NULL);
	s = 0;
	printf("%d strange, %d lost\n", strange(), handled - traced);
}

static void children(long n) {
	for (long i = 0; i < n; i++) {
		s += plain(i);
		if (i % 50) continue;
		pid_t p = i % 100 ? fork() : vfork();
		if (p == 0) {
			if (i % 100) for (int k = 0; k < 20; k++) sink += plain(k) & 1;
			_exit(sink != 0 ? 5 : 6);
		}
		int st = 0;
		waitpid(p, &st, 0);
		s += WEXITSTATUS(st);
	}
}

static void library(const char *path, long n) {
	for (long i = 0; i < n;) {
		void *h = dlopen(path, RTLD_NOW);
		long (*f)(long) = (long (*)(long))dlsym(h, "in_library");
		for (int k = 0; k < 50 && i < n; k++, i++) s += f(i);
		target = f;
		if (i < n) dlclose(h);
	}
}

static void stepped(long n) {
	hear(SIGTRAP, step);
	for (long i = 0; i < n; i++) {
		if (i == n / 2) asm volatile("pushfq\n orl $0x100,(%%rsp)\n popfq" ::: "memory", "cc");
		s += relative(i);
		if (i == n / 2 + 2) asm volatile("pushfq\n andl $~0x100,(%%rsp)\n popfq" ::: "memory", "cc");
	}
	printf("%d steps\n", handled);
}

static void faulting(long (*f)(long *), long n) {
	long v = 3;
	target = f;
	hear(SIGSEGV, fault);
	for (volatile long i = 0; i < n; i++) {
		if (i % 40 != 39) s += f(&v);
		else if (!sigsetjmp(out, 1)) s += f((long *)8);
		else s++;
	}
	printf("%d faults, %lu bad\n", handled, bad);
}

#ifndef LIBRARY
int main(int argc, char **argv) {
	const char *what = argv[1];
	long n = atol(argv[2]);
	struct { const char *name; long (*f)(long); } simple[] = {{"plain", plain}, {"choice", choice}, {"one", one}, {"two", two}, {"four", four},
		{"looping", looping}, {"body", body}, {"table", table}, {"relative", relative}, {"locked", locked}, {"around", around}, {"beyond", indirect}};
	void *warm[2];
	backtrace(warm, 2); /* it loads a library the first time */
	for (unsigned k = 0; k < sizeof simple / sizeof *simple; k++) {
		if (strcmp(what, simple[k].name)) continue;
		target = !strcmp(what, "beyond") ? (void *)beyond : (void *)simple[k].f;
		for (long i = 0; i < n; i++) {
			long r = simple[k].f(i);
			s += k == 2 || k == 3 ? 1 : r; /* which return nothing */
		}
		if (!strcmp(what, "body")) for (long i = 0; i < n; i++) s += beside(i) + beyond(i);
	}
	if (!strcmp(what, "carry")) for (long i = 0; i < n; i++) s += call_carry(i), target = carry;
	if (!strcmp(what, "redzone")) for (long i = 0; i < n; i++) s += call_redzone(i), target = redzone;
	if (!strcmp(what, "frames")) timed(n), target = frames;
	if (!strcmp(what, "first")) faulting(first, n);
	if (!strcmp(what, "second")) faulting(second, n);
	if (!strcmp(what, "children")) children(n), target = plain;
	if (!strcmp(what, "tail")) for (long i = 0; i < n; i++) s += tail_of(i), target = plain;
	if (!strcmp(what, "library")) library(argv[3], n);
	if (!strcmp(what, "stepped")) target = relative, stepped(n);
	if (!strcmp(what, "threads")) {
		pthread_t t[4];
		many = n / 4;
		target = plain;
		for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, worker, NULL);
		for (int i = 0; i < 4; i++) {
			void *r;
			pthread_join(t[i], &r);
			s += (long)r;
		}
		sink = 0;
	}
	printf("%s %ld\n", what, s);
	if (argc > (strcmp(what, "library") ? 3 : 4)) {
		unsigned char *c = target;
		if (!memcmp(c, "\xf3\x0f\x1e\xfa", 4)) c += 4;
		fprintf(stderr, "%s\n", c[0] == 0xe9 ? "jump" : c[0] == 0xcc ? "int3" : "own");
	}
	return 0;
}
#else
__attribute__((noinline)) long in_library(long n) { return sink += n; }
#endif
