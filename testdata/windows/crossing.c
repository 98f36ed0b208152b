/* A process that waits for what its child does: before it is there, while it works, between its end and the rest. The pipe
 * has each part begin when the other process has done its own. */
#include <sys/wait.h>
#include <unistd.h>
static volatile int sink;
#define PART(name) __attribute__((noinline)) void name(void) { for (int i = 0; i < 1000; i++) sink++; }
PART(before)
PART(during)
PART(between)
PART(after)
__attribute__((noinline)) void child(int in, int out) {
	char c;
	getppid();
	(void)!write(out, "a", 1);
	(void)!read(in, &c, 1);
}
int main(void) {
	int up[2], down[2];
	char c;
	if (pipe(up) || pipe(down)) return 1;
	if (fork() == 0) {
		(void)!read(down[0], &c, 1);
		child(down[0], up[1]);
		_exit(0);
	}
	before();
	(void)!write(down[1], "x", 1);
	(void)!read(up[0], &c, 1);
	during();
	(void)!write(down[1], "x", 1);
	wait(0);
	between();
	after();
	return 0;
}
