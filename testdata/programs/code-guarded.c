/* Code that is left alone for a while and then written where it lies, in every way that there is. */
/* expect stdout: ok */
#include "check.h"
#include <sys/socket.h>
#include <sys/uio.h>
#define PAGE 4096
typedef int fn(int);
static const unsigned char add[] = {0x8d, 0x87, 0, 0, 0, 0, 0xc3}; /* lea eax, [rdi+add]; ret */
static void code(unsigned char *c, int n) {
	memcpy(c, add, sizeof add);
	memcpy(c + 2, &n, 4);
}
static void emit(unsigned char *p, int n) {
	unsigned char c[sizeof add];
	code(c, n);
	memcpy(p, c, sizeof c);
}
static unsigned char *pages(int n) {
	unsigned char *p = mmap(0, n * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
	return p;
}
static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1000 + (double)t.tv_nsec / 1e6;
}
/* settle executes a function and nothing else for some milliseconds. */
static void settle(unsigned char *p, int want) {
	for (double end = now() + 6; now() < end;)
		for (int k = 0; k < 20; k++, idle()) CHECK(((fn *)p)(k) == want + k);
}
static void check(unsigned char *p, int want) {
	for (int k = 0; k < 2; k++) CHECK(((fn *)p)(k) == want + k);
	settle(p, want);
}

/* stores: into another function, in the same page and in another, into the page's data, and across two pages */
static void stores(void) {
	unsigned char *p = pages(2);
	for (int i = 0; i < 6; i++) {
		emit(p, i), emit(p + PAGE - 4, 100 + i), emit(p + PAGE + 64, 200 + i);
		check(p, i), check(p + PAGE - 4, 100 + i), check(p + PAGE + 64, 200 + i);
		p[1000] = (unsigned char)i; /* no code */
		CHECK(((fn *)p)(1) == i + 1);
	}
	memset(p + 8, 0xcc, PAGE); /* and with one call of a library */
	emit(p, 7), check(p, 7);
}

/* own: code that changes the instruction right behind its store:
 * mov byte [rip+1], sil; mov eax, imm8...; ret */
static void own_code(void) {
	unsigned char *p = pages(1);
	static const unsigned char c[] = {0x40, 0x88, 0x35, 1, 0, 0, 0, 0xb8, 5, 0, 0, 0, 0xc3};
	memcpy(p + 100, c, sizeof c);
	for (int i = 0; i < 6; i++) {
		CHECK(((int (*)(int, int))(p + 100))(0, i + 1) == i + 1);
		emit(p, i), check(p, i);
	}
}

static volatile int stop, wrote, seen;
static unsigned char *shared;
static void *executes(void *q) {
	while (!stop) {
		int w = wrote, v = ((fn *)shared)(0);
		CHECK(v >= w && v <= w + 1);
		seen = v;
		idle();
	}
	return q;
}
static void *reads(void *q) { CHECK(read((int)(long)q, shared, 7) == 7); return 0; }

static void threads(void) {
	shared = pages(1);
	emit(shared, 0);
	pthread_t t;
	pthread_create(&t, 0, executes, 0);
	for (int i = 1; i < 20; i++) {
		for (double end = now() + 4; now() < end;) idle();
		*(volatile int *)(shared + 2) = i;
		wrote = i;
		while (seen < i) idle();
	}
	stop = 1;
	pthread_join(t, 0);
	/* a call that waits for longer than the code has to be left alone */
	int fd[2];
	unsigned char c[sizeof add];
	CHECK(pipe(fd) == 0);
	pthread_create(&t, 0, reads, (void *)(long)fd[0]);
	for (int i = 0; i < 4; i++) settle(shared, 19);
	code(c, 77);
	CHECK(write(fd[1], c, 7) == 7);
	pthread_join(t, 0);
	check(shared, 77);
	close(fd[0]), close(fd[1]);
}

static void kernel(void) {
	unsigned char *p = pages(3), c[2 * PAGE] = {0};
	int fd[2], f = memfd_create("code", 0), n = 1000;
	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, fd) == 0);
	emit(p, n), check(p, n);
	for (int i = 0; i < 2; i++) {
		code(c, ++n);
		CHECK(write(fd[1], c, 7) == 7 && read(fd[0], p, 7) == 7);
		check(p, n);
		code(c, ++n);
		CHECK(send(fd[1], c, 7, 0) == 7 && recv(fd[0], p, 7, 0) == 7);
		check(p, n);
		code(c, ++n);
		struct iovec v[2] = {{p, 3}, {p + 3, 4}};
		struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
		CHECK(write(fd[1], c, 7) == 7 && readv(fd[0], v, 2) == 7);
		check(p, n);
		code(c, ++n);
		CHECK(write(fd[1], c, 7) == 7 && recvmsg(fd[0], &m, 0) == 7);
		check(p, n);
		/* of which only a part is guarded */
		code(c + PAGE, ++n);
		emit(p + PAGE, 1), check(p + PAGE, 1);
		CHECK(pwrite(f, c, sizeof c, 0) == sizeof c && pread(f, p, sizeof c, 0) == sizeof c);
		check(p + PAGE, n);
		code(c, n);
		CHECK(write(fd[1], c, 7) == 7 && read(fd[0], p, 7) == 7);
		check(p, n);
		/* past all rights */
		struct iovec from = {c, 7}, to = {p, 7};
		code(c, ++n);
		CHECK(process_vm_writev(getpid(), &from, 1, &to, 1, 0) == 7);
		check(p, n);
		int mem = open("/proc/self/mem", O_RDWR);
		code(c, ++n);
		CHECK(mem >= 0 && pwrite(mem, c, 7, (off_t)p) == 7);
		check(p, n);
		close(mem);
		CHECK(pipe((int *)(p + 512)) == 0 && close(((int *)(p + 512))[0]) == 0 && close(((int *)(p + 512))[1]) == 0);
		check(p, n);
	}
	close(fd[0]), close(fd[1]), close(f);
}

/* calls whose memory begins near guarded pages, and far in front of them */
static void around(void) {
	enum { BEFORE = 40 };
	unsigned char *p = pages(BEFORE + 2), *c = calloc(BEFORE + 2, PAGE), *code_at = p + BEFORE * PAGE;
	int f = memfd_create("long", 0), n = 2000;
	size_t all = (BEFORE + 1) * PAGE;
	CHECK(c && pwrite(f, c, all, 0) == (ssize_t)all);
	emit(code_at, n), check(code_at, n);
	for (int i = 0; i < 3; i++) {
		code(c + BEFORE * PAGE, ++n);
		CHECK(pwrite(f, c, all, 0) == (ssize_t)all);
		CHECK(pread(f, p, all, 0) == (ssize_t)all); /* from 160 KiB before */
		check(code_at, n);
		code(c + BEFORE * PAGE, ++n);
		CHECK(pwrite(f, c, all, 0) == (ssize_t)all);
		CHECK(pread(f, code_at - 8, 16, BEFORE * PAGE - 8) == 16); /* from a few bytes before */
		check(code_at, n);
		CHECK(pread(f, code_at - 16, 16, 0) == 16); /* up to them */
		CHECK(pread(f, code_at + PAGE, 16, 0) == 16); /* behind them */
		check(code_at, n);
		code(c + BEFORE * PAGE, ++n);
		CHECK(pwrite(f, c, all, 0) == (ssize_t)all && lseek(f, BEFORE * PAGE, SEEK_SET) == BEFORE * PAGE);
		CHECK(read(f, code_at, 7) == 7);
		check(code_at, n);
	}
	close(f), free(c);
}

static void mappings(void) {
	unsigned char *p = pages(4), *q = pages(8);
	emit(p, 1), check(p, 1);
	CHECK(mprotect(p, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
	emit(p, 2), check(p, 2);
	CHECK(mprotect(p, PAGE, PROT_READ | PROT_WRITE) == 0);
	emit(p, 3);
	CHECK(mprotect(p, 4 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
	check(p, 3);
	CHECK(madvise(p, PAGE, MADV_DONTNEED) == 0 && p[0] == 0);
	emit(p + PAGE, 4), check(p + PAGE, 4);
	p = mremap(p, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q);
	CHECK(p == q);
	check(p + PAGE, 4);
	emit(p + PAGE, 5), check(p + PAGE, 5);
	CHECK(mmap(p, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p && p[PAGE] == 0);
	emit(p, 6), check(p, 6);
	CHECK(munmap(p, 4 * PAGE) == 0);
}

static sigjmp_buf back;
static volatile int faults;
static unsigned char *page;
static void fault(int sig, siginfo_t *si, void *uc) {
	(void)sig, (void)uc;
	faults++;
	CHECK(si->si_addr == page + 3);
	siglongjmp(back, 1);
}
static void writes(int sig, siginfo_t *si, void *uc) {
	(void)sig, (void)si, (void)uc;
	emit(page, 9); /* with every signal blocked */
}

static void signals(void) {
	page = pages(1);
	struct sigaction a, was;
	memset(&a, 0, sizeof a);
	a.sa_sigaction = writes, a.sa_flags = SA_SIGINFO;
	sigfillset(&a.sa_mask);
	sigset_t segv, mask;
	sigemptyset(&segv), sigaddset(&segv, SIGSEGV);
	CHECK(sigaction(SIGUSR1, &a, 0) == 0);
	on(SIGSEGV, fault, 0);
	for (int i = 0; i < 2; i++) {
		emit(page, 8), check(page, 8);
		raise(SIGUSR1);
		CHECK(sigaction(SIGSEGV, 0, &was) == 0 && was.sa_sigaction == fault);
		check(page, 9);
		CHECK(sigprocmask(SIG_BLOCK, &segv, 0) == 0);
		emit(page, 10);
		CHECK(sigprocmask(SIG_UNBLOCK, &segv, &mask) == 0 && sigismember(&mask, SIGSEGV) && sigaction(SIGSEGV, 0, &was) == 0 && was.sa_sigaction == fault);
		check(page, 10);
		/* a fault of the program's own, in the same page */
		CHECK(mprotect(page, PAGE, PROT_READ | PROT_EXEC) == 0);
		if (!sigsetjmp(back, 1)) *(volatile char *)(page + 3) = 1;
		CHECK(faults == i + 1 && ((fn *)page)(1) == 11);
		CHECK(mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
	}
	CHECK(signal(SIGSEGV, SIG_IGN) != SIG_ERR);
	emit(page, 11), check(page, 11), emit(page, 12), check(page, 12);
	CHECK(sigaction(SIGSEGV, 0, &was) == 0 && was.sa_handler == SIG_IGN);
	signal(SIGSEGV, SIG_DFL);
	/* a handler on a stack that begins in a page of code, below that: frames of some processors are larger than half a page */
	stack_t st = {.ss_flags = 0}, old;
	unsigned char *stack = pages(16), *above = stack + 15 * PAGE + 3072;
	emit(above, 5), check(above, 5);
	st.ss_sp = stack, st.ss_size = 15 * PAGE + 2048, st.ss_flags = 0;
	CHECK(sigaltstack(&st, &old) == 0);
	a.sa_flags |= SA_ONSTACK;
	CHECK(sigaction(SIGUSR1, &a, 0) == 0);
	check(above, 5);
	raise(SIGUSR1);
	check(page, 9), check(above, 5);
	st.ss_flags = SS_DISABLE;
	CHECK(sigaltstack(&st, 0) == 0);
}

static void children(void) {
	unsigned char *p = pages(1);
	for (int i = 0; i < 3; i++) {
		emit(p, i), check(p, i);
		pid_t c = fork();
		if (c == 0) {
			check(p, i);
			emit(p, 50 + i), check(p, 50 + i);
			emit(p, 60 + i), check(p, 60 + i);
			_exit(0);
		}
		int st;
		check(p, i);
		CHECK(waitpid(c, &st, 0) == c && st == 0);
		check(p, i);
		if ((c = vfork()) == 0) {
			p[2] = (unsigned char)(70 + i);
			_exit(0);
		}
		CHECK(waitpid(c, &st, 0) == c && st == 0);
		check(p, 70 + i);
	}
}

int main(void) {
	stores(), own_code(), threads(), kernel(), around(), mappings(), signals(), children();
	return OK();
}
