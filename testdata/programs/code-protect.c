/* A just-in-time compiler that protects its code again for each piece that it writes, as Ruby's
 * does: most of a page stays what it was. What may not be executed at the moment is not. */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
typedef int fn(int);
enum { SIZE = 1 << 20, PAGE = 4096, FUNCS = 100, ROUNDS = 1000 };
static unsigned char *p;
static int value[FUNCS];
static fn *at(int i) { return (fn *)(p + i * 40); }
/* A function with a branch, so that it is several blocks, of which one follows the other. */
static void emit(int i, int add) {
	unsigned char c[] = {0x85, 0xff,             /* test edi, edi */
		0x74, 0x06,                          /* jz over the next */
		0x81, 0xc7, 0, 0, 0, 0,              /* add edi, add */
		0x8d, 0x87, 0, 0, 0, 0, 0xc3};       /* lea eax, [rdi+add]; ret */
	memcpy(c + 6, &add, 4);
	memcpy(c + 12, &add, 4);
	memcpy((unsigned char *)at(i), c, sizeof c);
	value[i] = add;
}
static sigjmp_buf back;
static volatile uint64_t fault;
static void segv(int sig, siginfo_t *si, void *uc) {
	fault = rip(uc);
	siglongjmp(back, 1);
}
static void faults(fn *f) {
	fault = 0;
	if (!sigsetjmp(back, 1)) f(1);
	CHECK(fault == (uint64_t)f);
}
static void good(int i) { CHECK(at(i)(0) == value[i] && at(i)(2) == 2 + 2 * value[i]); }
static volatile int stop;
static void *other(void *arg) { /* a page that nobody changes, protected with the others; it may not be executed in between */
	int (*f)(int) = (fn *)(p + SIZE - PAGE);
	while (!stop) CHECK(f(3) == 45);
	return 0;
}
__attribute__((noinline)) int work(int n) { return n + 1; }
int main(void) {
	p = mmap(0, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(p != MAP_FAILED && mprotect(p, PAGE, PROT_READ | PROT_WRITE) == 0);
	CHECK(mprotect(p + SIZE - PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
	on(SIGSEGV, segv, SA_NODEFER);
	for (int i = 0; i < FUNCS; i++) emit(i, i);
	p[SIZE - PAGE] = 0xb8, p[SIZE - PAGE + 1] = 45, p[SIZE - PAGE + 5] = 0xc3; /* mov eax, 45; ret */
	CHECK(mprotect(p, SIZE, PROT_READ | PROT_EXEC) == 0);
	pthread_t th;
	CHECK(pthread_create(&th, 0, other, 0) == 0);
	for (int i = 0; i < FUNCS; i++) good(i);
	for (int n = 0; n < ROUNDS; n++) {
		int i = n % FUNCS;
		CHECK(mprotect(p, PAGE, PROT_READ | PROT_WRITE) == 0);
		if (n % 50 == 7) faults(at((i + 1) % FUNCS)); /* written and not yet protected */
		if (n % 3) emit(i, n);
		CHECK(mprotect(p, SIZE, PROT_READ | PROT_EXEC) == 0);
		for (int k = 0; k < FUNCS; k += 7) good((i + k) % FUNCS);
		good(i);
		if (n == ROUNDS / 2) CHECK(work(n) == n + 1);
	}
	stop = 1;
	CHECK(pthread_join(th, 0) == 0);
	/* A block that reaches into the next page, of which one changes. */
	CHECK(mprotect(p, 2 * PAGE, PROT_READ | PROT_WRITE) == 0);
	unsigned char c[] = {0x8d, 0x87, 1, 0, 0, 0, 0x8d, 0x80, 2, 0, 0, 0, 0xc3}; /* lea eax, [rdi+1]; lea eax, [rax+2]; ret */
	memcpy(p + PAGE - 6, c, sizeof c);
	fn *over = (fn *)(p + PAGE - 6);
	CHECK(mprotect(p, 2 * PAGE, PROT_READ | PROT_EXEC) == 0 && over(5) == 8);
	for (int n = 0; n < 20; n++) {
		CHECK(mprotect(p + n % 2 * PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
		p[n % 2 ? PAGE + 2 : PAGE - 4] = n;
		CHECK(mprotect(p, 2 * PAGE, PROT_READ | PROT_EXEC) == 0);
		CHECK(over(5) == 5 + (n % 2 ? n - 1 : n) + (n == 0 ? 2 : n % 2 ? n : n - 1));
		good(3);
	}
	/* The same code again, elsewhere's content in its place, and writable while it is executed. */
	for (int n = 0; n < 10; n++) {
		unsigned char copy[PAGE];
		memcpy(copy, p, PAGE);
		CHECK(munmap(p, PAGE) == 0);
		faults(at(3));
		CHECK(mmap(p, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
		memcpy(p, copy, PAGE);
		CHECK(mprotect(p, PAGE, PROT_READ | PROT_EXEC | (n % 2 ? PROT_WRITE : 0)) == 0);
		good(3);
		if (n % 2) emit(3, 100 + n);
		good(3);
		CHECK(mprotect(p, PAGE, PROT_READ | PROT_EXEC) == 0);
		good(3);
	}
	return OK();
}
