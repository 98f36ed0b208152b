/* Segments of a program's own: gs and fs by selectors, in threads and children, and code in one. */
/* expect stdout: ok */
/* needs: does-32bit-code */
/* tells: 32-bit code */
/* armed: work */
#include "32bit.h"
#include <asm/ldt.h>
enum { data = 1 << 3 | 7, code = 2 << 3 | 7 };
static volatile unsigned sum;
__attribute__((noinline)) static void work(void) { for (unsigned i = 0; i < 100; i++) sum = sum * 5 + i; }
static void segment(unsigned n, void *at, unsigned contents) {
	struct user_desc d = {.entry_number = n, .base_addr = (uint64_t)at, .limit = 0xffff, .seg_32bit = 1, .contents = contents, .useable = 1};
	CHECK(syscall(SYS_modify_ldt, 1, &d, sizeof d) == 0);
}
static void load(unsigned sel) { __asm__ volatile("mov %0, %%gs" : : "r"(sel)); }
static unsigned selector(void) { unsigned v; __asm__ volatile("mov %%gs, %0" : "=r"(v)); return v; }
static unsigned at4(void) { unsigned v; __asm__ volatile("movl %%gs:4, %0" : "=r"(v)); return v; }
static void *thread(void *p) {
	CHECK(at4() == 0x1234 && selector() == data);
	load(0);
	CHECK(selector() == 0);
	for (int i = 0; i < 20; i++) {
		load(data);
		work();
		CHECK(at4() == 0x1234);
	}
	return p;
}
static unsigned far_call(struct low *l) { /* its code returns by a far return, with a return address of 32 bits */
	unsigned char *p = l->code + 1024;
	struct { uint32_t off; uint16_t sel; } __attribute__((packed)) to = {512, code};
	memcpy(l->code + 512, "\xb8\7\0\0\0\x40\xcb", 7); /* mov eax, 7; inc eax; retf */
	memcpy(p, "\xff\x18\xc3", 3); /* lcall *(%rax); ret */
	memcpy(p + 16, &to, sizeof to);
	unsigned r;
	__asm__ volatile("mov %%rsp, %%rbx; mov %2, %%rsp; call *%1; mov %%rbx, %%rsp" : "=a"(r) : "r"(p), "r"(l->stack + sizeof l->stack), "0"(p + 16) : "rbx", "rcx", "rdx", "memory");
	return r;
}
int main(void) {
	struct low *l = low32();
	pthread_t t;
	int status;
	*(int *)(l->stack + 4) = 0x1234;
	segment(1, l->stack, 0);
	segment(2, l->code, 2);
	for (int i = 0; i < 30; i++) {
		load(data);
		CHECK(selector() == data && at4() == 0x1234);
		work();
		CHECK(getppid() > 0 && selector() == data && at4() == 0x1234);
		CHECK(far_call(l) == 8);
		work();
	}
	CHECK(pthread_create(&t, 0, thread, 0) == 0 && pthread_join(t, 0) == 0);
	pid_t child = fork();
	if (child == 0) {
		CHECK(at4() == 0x1234);
		work();
		CHECK(selector() == data && far_call(l) == 8);
		_exit(7);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	CHECK(at4() == 0x1234);
	return OK();
}
