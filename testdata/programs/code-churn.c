/* Code that is written anew all the time, more than a code cache has room for if nothing is used again: with another thread
 * that waits in a call meanwhile, and children. */
/* expect stdout: ok */
#include "check.h"
typedef int fn(int);
enum { ROUNDS = 30, FUNCS = 600, STEP = 32 };
static int pipes[2];
static void *reader(void *arg) {
	char c;
	CHECK(read(pipes[0], &c, 1) == 1 && c == 'x');
	return 0;
}
int main(void) {
	pthread_t th;
	CHECK(pipe(pipes) == 0 && pthread_create(&th, 0, reader, 0) == 0);
	size_t size = FUNCS * STEP;
	for (int n = 0; n < ROUNDS; n++) {
		unsigned char *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(p != MAP_FAILED);
		for (int i = 0; i < FUNCS; i++) {
			unsigned char c[] = {0x85, 0xff, 0x74, 0x06, 0x81, 0xc7, 0, 0, 0, 0, 0x8d, 0x87, 0, 0, 0, 0, 0xc3}; /* as in code-protect.c */
			int add = n * FUNCS + i;
			memcpy(c + 6, &add, 4);
			memcpy(c + 12, &add, 4);
			memcpy(p + i * STEP, c, sizeof c);
		}
		CHECK(mprotect(p, size, PROT_READ | PROT_EXEC | (n % 4 == 3 ? PROT_WRITE : 0)) == 0);
		for (int i = 0; i < FUNCS; i++) {
			fn *f = (fn *)(p + i * STEP);
			int add = n * FUNCS + i;
			CHECK(f(0) == add && f(5) == 5 + 2 * add);
		}
		if (n % 20 == 10) {
			int status;
			pid_t pid = fork();
			if (pid == 0) _exit(((fn *)p)(0) == n * FUNCS ? 7 : 8);
			CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
		}
		CHECK(munmap(p, size) == 0);
	}
	CHECK(write(pipes[1], "x", 1) == 1 && pthread_join(th, 0) == 0);
	return OK();
}
