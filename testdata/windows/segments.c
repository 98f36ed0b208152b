/* Sets the bases of gs and fs while it runs natively, and reads through both in work,
   which a window opens at. Prints the addresses that are read. */
#include <asm/prctl.h>
#include <stdio.h>
#include <sys/syscall.h>

static unsigned long area[64], old;

/* work reads fs:24 first: what is read through gs the tracer executes, and looks at both then. */
__asm__(".text\n .globl work\n .type work,@function\nwork:\n mov %fs:24,%rdx\n mov %gs:16,%rax\n add %rdx,%rax\n ret\n .size work,.-work\n");
unsigned long work(void);

static long bases(int code, unsigned long addr) {
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(SYS_arch_prctl), "D"(code), "S"(addr) : "rcx", "r11", "memory");
	return r;
}

int main(void) {
	area[2] = 40, area[35] = 2;
	bases(ARCH_GET_FS, (unsigned long)&old);
	bases(ARCH_SET_GS, (unsigned long)area);
	bases(ARCH_SET_FS, (unsigned long)(area + 32));
	unsigned long sum = work(); /* nothing here may need thread-local memory */
	bases(ARCH_SET_FS, old);
	printf("%lu %#lx %#lx\n", sum, (unsigned long)(area + 2), (unsigned long)(area + 35));
	return 0;
}
