/* A program that looks at the first bytes of a function of its own: by loads, and by system calls that read its memory. What it finds is what the compiler wrote. */
/* expect stdout: ok */
/* skip intercepted: it would find the jump, without --unpatched */
#include "check.h"
#include <sys/uio.h>
enum { BYTES = 12 };
extern const unsigned char twin[], work_code[];
long work(long n);
#define BODY(name) "	.p2align 6\n	.type " name ", @function\n" name ":	lea 3(%rdi), %rax\n	add $1, %rax\n	sub $2, %rax\n	ret\n	.size " name ", .-" name "\n"
__asm__("	.text\n	.globl work\n	.globl work_code\nwork_code:\n" BODY("work") BODY("twin"));
static const char *way;
static int bad;
static void same(const char *by, const unsigned char *got) {
	if (memcmp(got, twin, BYTES) == 0) return;
	bad++;
	fprintf(stderr, "%s: by %s: ", way, by);
	for (int i = 0; i < BYTES; i++) fprintf(stderr, "%02x ", got[i]);
	fprintf(stderr, "\n");
}
static void look(const char *when) {
	const void *code = (const void *)work;
	unsigned char b[BYTES];
	int p[2], fd;
	way = when;
	CHECK(pipe(p) == 0);
	memcpy(b, code, BYTES);
	same("loads", b);
	CHECK(write(p[1], code, BYTES) == BYTES && read(p[0], b, BYTES) == BYTES);
	same("write", b);
	struct iovec at = {(void *)code, BYTES}, to = {b, BYTES};
	CHECK(writev(p[1], &at, 1) == BYTES && read(p[0], b, BYTES) == BYTES);
	same("writev", b);
	CHECK(process_vm_readv(getpid(), &to, 1, &at, 1, 0) == BYTES);
	same("process_vm_readv", b);
	CHECK((fd = open("/proc/self/mem", O_RDONLY)) >= 0 && pread(fd, b, BYTES, (off_t)(uintptr_t)code) == BYTES && close(fd) == 0);
	same("/proc/self/mem", b);
	pid_t child = fork();
	__asm__ volatile("" : "+r"(code) :: "memory");
	if (child == 0) {
		memcpy(b, code, BYTES);
		same("a child", b);
		_exit(bad);
	}
	int s;
	CHECK(waitpid(child, &s, 0) == child);
	if (s) bad++;
	CHECK(close(p[0]) == 0 && close(p[1]) == 0);
}
int main(void) {
	look("before");
	for (long i = 0; i < 3; i++) {
		CHECK(work(i) == i + 2);
		look("between calls");
	}
	for (long i = 0; i < 3000; i++) CHECK(work(i) == i + 2);
	look("after many");
	if (bad) return 1;
	return OK();
}
