/* Code that changes by ways that no instruction of the program's own shows. */
/* expect stdout: ok */
#include "check.h"
#include <sys/uio.h>
typedef int (*fn)(void);
static volatile unsigned sum;
__attribute__((noinline)) static void work(void) { for (unsigned i = 0; i < 100; i++) sum = sum * 5 + i; }
/* mov $v, %eax; ret */
static int put(unsigned char *p, int v) { unsigned char c[] = {0xb8, v, v >> 8, 0, 0, 0xc3}; memcpy(p, c, 6); return v; }
/* begins in a page that cannot be written and flows into one that can */
static void flows(void) {
	unsigned char *p = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
	unsigned char *f = p + 4096 - 4;
	memset(f, 0x90, 4);
	put(p + 4096, 1);
	CHECK(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0);
	for (int i = 1; i < 50; i++) {
		put(p + 4096, i);
		CHECK(((fn)f)() == i);
	}
	munmap(p, 8192);
}
/* a private mapping of a file: written to the file, and dropped by MADV_DONTNEED */
static void files(void) {
	char name[] = "/tmp/code-XXXXXX";
	int fd = mkstemp(name);
	CHECK(fd >= 0 && unlink(name) == 0);
	unsigned char c[4096] = {0};
	put(c, 1);
	CHECK(write(fd, c, sizeof c) == sizeof c);
	unsigned char *p = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED);
	for (int i = 1; i < 20; i++) {
		put(c, i);
		CHECK(pwrite(fd, c, 6, 0) == 6);
		CHECK(((fn)p)() == i);
	}
	CHECK(mprotect(p, 4096, PROT_READ | PROT_WRITE) == 0);
	put(p, 77);
	CHECK(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0 && ((fn)p)() == 77);
	CHECK(madvise(p, 4096, MADV_DONTNEED) == 0);
	CHECK(((fn)p)() == 19);
	munmap(p, 4096);
	close(fd);
}
/* a file that keeps its name: written by what it was opened with before it was mapped (0), and by what it is opened with later (1 to 3), when another process has made it; also by a shared mapping */
static void named(int later) {
	char name[64];
	sprintf(name, "/tmp/code-named-%d", getpid());
	unlink(name);
	unsigned char c[4096] = {0}, *s = 0;
	put(c, 1);
	pid_t child = later ? fork() : 0;
	int fd = -1;
	if (child == 0) {
		fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
		CHECK(fd >= 0 && write(fd, c, sizeof c) == sizeof c);
		if (later) _exit(0);
	}
	if (later) CHECK(waitpid(child, 0, 0) == child && (fd = open(name, O_RDONLY)) >= 0);
	unsigned char *p = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED && ((fn)p)() == 1);
	if (later) CHECK(close(fd) == 0 && (fd = later == 1 ? open(name, O_WRONLY) : later == 2 ? (int)syscall(SYS_open, name, O_RDWR) : creat(name, 0600)) >= 0);
	if (later == 3) CHECK(write(fd, c, sizeof c) == sizeof c);
	if (later % 2 == 0) CHECK((s = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) != MAP_FAILED);
	for (int i = 2; i < 20; i++) {
		put(c, i);
		CHECK(pwrite(fd, c, 6, 0) == 6 && ((fn)p)() == i);
		if (s) put(s, i + 100);
		if (s) CHECK(((fn)p)() == i + 100);
	}
	munmap(p, 4096);
	if (s) munmap(s, 4096);
	CHECK(close(fd) == 0 && unlink(name) == 0);
}
/* one address: code that the program makes, then a file's, then another file's; others have made those */
static void turns(void) {
	char name[2][64];
	unsigned char *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	put(p, 1);
	CHECK(((fn)p)() == 1);
	for (int k = 0; k < 2; k++) sprintf(name[k], "/tmp/code-turns-%d-%d", getpid(), k);
	pid_t child = fork();
	if (child == 0)
		for (int k = 0; k < 2; k++) {
			unsigned char c[4096] = {0};
			put(c, 21 + k);
			int fd = open(name[k], O_WRONLY | O_CREAT | O_TRUNC, 0600);
			CHECK(fd >= 0 && write(fd, c, sizeof c) == sizeof c);
			if (k) _exit(0);
		}
	CHECK(waitpid(child, 0, 0) == child);
	for (int i = 0; i < 4; i++) {
		int fd = open(name[i % 2], O_RDONLY);
		CHECK(fd >= 0 && mmap(p, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) == p && ((fn)p)() == 21 + i % 2 && close(fd) == 0);
	}
	CHECK(unlink(name[0]) == 0 && unlink(name[1]) == 0 && munmap(p, 4096) == 0);
}
/* by the kernel's hand: /proc/self/mem, process_vm_writev, read */
static void kernel(void) {
	unsigned char *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), c[8];
	put(p, 1);
	CHECK(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0 && ((fn)p)() == 1);
	int fd = open("/proc/self/mem", O_RDWR);
	CHECK(fd >= 0);
	for (int i = 2; i < 20; i++) {
		put(c, i);
		CHECK(pwrite(fd, c, 6, (long)p) == 6 && ((fn)p)() == i);
	}
	close(fd);
	CHECK(mprotect(p, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
	for (int i = 2; i < 20; i++) {
		put(c, i + 100);
		struct iovec a = {c, 6}, b = {p, 6};
		CHECK(process_vm_writev(getpid(), &a, 1, &b, 1, 0) == 6 && ((fn)p)() == i + 100);
	}
	munmap(p, 4096);
}
/* by rsp, rbp and push, right behind the store */
static void stacks(void) {
	unsigned char *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 1; i < 20; i++) {
		/* mov %rsp,%rdx; lea 8+X(%rip),%rsp; push %rdi; mov %rdx,%rsp; 8 bytes: mov $0,%eax; ret; nop; nop */
		unsigned char c[] = {0x48, 0x89, 0xe2, 0x48, 0x8d, 0x25, 12, 0, 0, 0, 0x57, 0x48, 0x89, 0xd4, 0xb8, 0, 0, 0, 0, 0xc3, 0x90, 0x90};
		memcpy(p, c, sizeof c);
		unsigned long w = 0x9090c30000000000ul | 0xb8 | (unsigned long)i << 8;
		CHECK(((int (*)(unsigned long))p)(w) == i);
		/* mov %rbp,%rdx; lea 9(%rip),%rbp; mov %rdi,0(%rbp); mov %rdx,%rbp */
		unsigned char d[] = {0x48, 0x89, 0xea, 0x48, 0x8d, 0x2d, 7, 0, 0, 0, 0x48, 0x89, 0x7d, 0, 0x48, 0x89, 0xd5, 0xb8, 0, 0, 0, 0, 0xc3, 0x90, 0x90};
		memcpy(p, d, sizeof d);
		CHECK(((int (*)(unsigned long))p)(w + 256) == i + 1);
	}
	munmap(p, 4096);
}
/* one page at two addresses, in all orders */
static void dual(void) {
	for (int order = 0; order < 3; order++) {
		int fd = memfd_create("code", 0);
		CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
		unsigned char *x = 0, *w = 0;
		if (order == 0) x = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
		w = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		put(w, 5);
		if (order == 1) x = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
		if (order == 2) x = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		for (int i = 1; i < 20; i++) {
			put(w, i);
			CHECK(((fn)x)() == i);
		}
		munmap(x, 4096), munmap(w, 4096), close(fd);
	}
}
int main(int argc, char **argv) {
	int what = argc > 1 ? atoi(argv[1]) : 127;
	work();
	if (what & 1) flows();
	if (what & 2) files();
	if (what & 4) kernel();
	if (what & 8) stacks();
	if (what & 16) dual();
	if (what & 64) turns();
	for (int later = 0; what & 32 && later < 4; later++) named(later);
	work();
	return OK();
}
