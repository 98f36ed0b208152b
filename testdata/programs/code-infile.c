/* Code of files is patched between calls of a function that executes it: the program's own, a file's that is mapped, dropped again, by its memory as a file. With an argument, the mapped file is written. */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
typedef int (*fn)(void);
#define ROUNDS 20
__attribute__((noinline, aligned(4096), naked)) int answer(void) { __asm__("mov $42, %eax\n\tret\n\t.balign 4096"); }
static fn volatile ask = answer;
/* functions in so many pages that they are not looked through each time */
#define FAR 98304
extern char far[];
__asm__(".text\n\t.balign 4096\nfar:\n\t.rept 8\n\tret\n\t.skip 98303\n\t.endr\n");
/* what is called in the page of the function whose calls are watched: a tracer has written there */
int near(void);
__asm__(".section .text.page,\"ax\"\n\t.balign 4096\nnear:\n\tmov $0, %eax\n\tret\n\t.text\n");
__attribute__((noinline, section(".text.page"))) int work(void) {
	for (int i = 0; i < 8; i++) ((void (*)(void))(far + i * FAR))();
	return ask() + near();
}
/* mov $v, %eax; ret */
static void put(unsigned char *p, int v) { unsigned char c[] = {0xb8, v, v >> 8, 0, 0, 0xc3}; memcpy(p, c, 6); }
static void patch(unsigned char *p, int v) {
	CHECK(mprotect(p, 4096, PROT_READ | PROT_WRITE) == 0);
	put(p, v);
	CHECK(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0);
}
/* map is a file of one page of such code, at a path that stays. */
static unsigned char *map(int *fd, char *name, int v) {
	unsigned char c[4096] = {0}, *p;
	*fd = mkstemp(name);
	put(c, v);
	CHECK(*fd >= 0 && write(*fd, c, sizeof c) == sizeof c);
	p = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, *fd, 0);
	CHECK(p != MAP_FAILED);
	return p;
}
int main(int argc, char **argv) {
	char name[] = "code-XXXXXX";
	unsigned char c[8];
	int fd, mem;
	CHECK(work() == 42 && work() == 42 && (long)work - (long)near < 2048);
	for (int i = 1; i < ROUNDS; i++) {
		patch((unsigned char *)near, i);
		CHECK(work() == 42 + i);
	}
	patch((unsigned char *)near, 0);
	for (int i = 1; i < ROUNDS; i++) {
		patch((unsigned char *)answer, i);
		CHECK(work() == i);
	}
	for (int i = 100; i < 100 + ROUNDS; i++) {
		put(c, i);
		CHECK((mem = open("/proc/self/mem", O_RDWR)) >= 0 && pwrite(mem, c, 6, (long)answer) == 6 && close(mem) == 0);
		CHECK(work() == i);
	}
	unsigned char *p = map(&fd, name, 7);
	ask = (fn)p;
	CHECK(work() == 7 && work() == 7);
	for (int i = 1; i < ROUNDS; i++) {
		patch(p, 200 + i);
		CHECK(work() == 200 + i);
		if (i % 3) continue;
		CHECK(madvise(p, 4096, MADV_DONTNEED) == 0 && work() == 7);
	}
	for (int i = 300; argc > 1 && i < 300 + ROUNDS; i++) {
		put(c, i);
		CHECK(madvise(p, 4096, MADV_DONTNEED) == 0 && pwrite(fd, c, 6, 0) == 6 && work() == i);
		put(c, i + 100);
		CHECK(pwrite(fd, c, 6, 0) == 6 && work() == i + 100);
	}
	CHECK(unlink(name) == 0);
	return OK();
}
