/* Files that are opened for reading change no code, whatever they are; a process's own memory that is opened for writing does. Registers and flags are what
 * the kernel leaves. */
/* expect stdout: ok */
#include "check.h"
typedef int (*fn)(void);

static void put(unsigned char *p, int n) { memcpy(p, (unsigned char[]){0xb8, n, 0, 0, 0, 0xc3}, 6); }

/* The call by hand, with the zero flag set in front of it. */
static long opens(const char *path, long flags) {
	long res;
	unsigned long c, r11, equal;
	register long mode __asm__("r10") = 0;
	__asm__ volatile("cmp %%rax, %%rax\nleaq 1f(%%rip), %%rcx\nmovq %%rcx, %1\nmovl $257, %%eax\nsyscall\n1: sete %b2\nsubq %%rcx, %1\nmovq %%r11, %3"
			 : "=&a"(res), "=&r"(c), "=&r"(equal), "=&r"(r11)
			 : "D"((long)AT_FDCWD), "S"(path), "d"(flags), "r"(mode)
			 : "rcx", "r11", "memory", "cc");
	CHECK(c == 0 && (equal & 1) && (r11 & 0x40)); /* rcx: the address behind the call; r11: the flags */
	return res;
}

/* In a process of its own: once it has opened its memory what it writes is looked at. */
static void writes(long flags) {
	pid_t pid = fork();
	if (pid == 0) {
		unsigned char *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), c[8];
		put(p, 1);
		CHECK(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0 && ((fn)p)() == 1);
		long fd = opens("/proc/self/mem", flags);
		CHECK(fd > 2);
		for (int i = 2; i < 20; i++) {
			put(c, i);
			CHECK(pwrite(fd, c, 6, (long)p) == 6 && ((fn)p)() == i);
		}
		_exit(0);
	}
	int status;
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

int main(void) {
	const long flags[] = {O_RDONLY, O_RDONLY | O_CLOEXEC, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, O_PATH};
	for (int k = 0; k < 2000; k++) {
		long fd = opens("/dev/null", flags[k % 4]);
		CHECK(fd > 2 && close(fd) == 0);
	}
	CHECK(opens("/nothing/there", O_RDONLY) == -ENOENT && opens("/nothing/there", O_RDWR) == -ENOENT);
	writes(O_WRONLY);
	writes(O_RDWR | O_CLOEXEC);
	return OK();
}
