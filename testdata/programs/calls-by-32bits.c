/* The 32-bit table of calls, by int 0x80: what creates processes, changes mappings, waits and is interrupted. */
/* expect stdout: ok */
/* needs: does-int80 */
/* armed: work */
#include "check.h"
#include <sched.h>
static volatile unsigned sum;
__attribute__((noinline)) static void work(void) { for (unsigned i = 0; i < 100; i++) sum = sum * 5 + i; }
static long call32(long nr, long a, long b, long c, long d, long e) {
	long r;
	__asm__ volatile("int $0x80" : "=a"(r) : "0"(nr), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e) : "memory", "r8", "r9", "r10", "r11");
	return (int)r;
}
static volatile int hits;
static void h(int s, siginfo_t *i, void *u) { hits++; }
int main(void) {
	int st;
	if (call32(20, 0, 0, 0, 0, 0) != getpid()) return OK(); /* a kernel without it */
	/* fork, vfork, clone */
	pid_t c = call32(2, 0, 0, 0, 0, 0);
	if (c == 0) {
		work();
		_exit(3);
	}
	CHECK(c > 0 && waitpid(c, &st, 0) == c && st == 3 << 8);
	c = call32(120, SIGCHLD, 0, 0, 0, 0);
	if (c == 0) {
		work();
		_exit(4);
	}
	CHECK(c > 0 && waitpid(c, &st, 0) == c && st == 4 << 8);
	/* vfork: the parent waits. Nothing but the call and the end in the child. */
	long r;
	__asm__ volatile("int $0x80; test %%eax, %%eax; jnz 1f; mov $1, %%eax; mov $5, %%ebx; int $0x80; 1:"
		: "=a"(r) : "0"(190l) : "rbx", "memory", "cc", "r8", "r9", "r10", "r11");
	CHECK((int)r > 0 && waitpid((int)r, &st, 0) == (int)r && st == 5 << 8);
	/* code that is protected, changed and protected again through it */
	unsigned char *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	CHECK(p != MAP_FAILED);
	for (int i = 0; i < 20; i++) {
		unsigned char code[] = {0xb8, i, 0, 0, 0, 0xc3};
		memcpy(p, code, sizeof code);
		CHECK(call32(125, (long)p, 4096, PROT_READ | PROT_EXEC, 0, 0) == 0);
		CHECK(((int (*)(void))p)() == i && ((int (*)(void))p)() == i);
		CHECK(call32(125, (long)p, 4096, PROT_READ | PROT_WRITE, 0, 0) == 0);
	}
	/* an interrupted call: pause ends by a signal; nanosleep goes on after one without handler */
	on(SIGALRM, h, 0);
	struct itimerval tv = {{0, 0}, {0, 20000}};
	setitimer(ITIMER_REAL, &tv, 0);
	CHECK(call32(29, 0, 0, 0, 0, 0) == -EINTR && hits == 1);
	/* and one that is begun again */
	on(SIGALRM, h, SA_RESTART);
	int fd[2];
	CHECK(pipe(fd) == 0);
	c = fork();
	if (c == 0) {
		usleep(60000);
		CHECK(write(fd[1], "x", 1) == 1);
		_exit(0);
	}
	setitimer(ITIMER_REAL, &tv, 0);
	char *b = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	CHECK(call32(3, fd[0], (long)b, 1, 0, 0) == 1 && *b == 'x' && hits == 2);
	CHECK(waitpid(c, &st, 0) == c && st == 0);
	/* another program */
	c = fork();
	if (c == 0) {
		strcpy(b, "/bin/true");
		*(int *)(b + 32) = (int)(long)b, *(int *)(b + 36) = 0;
		call32(11, (long)b, (long)(b + 32), (long)(b + 36), 0, 0);
		_exit(9);
	}
	CHECK(waitpid(c, &st, 0) == c && st == 0);
	work();
	return OK();
}
