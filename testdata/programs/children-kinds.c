/* All the ways to start another program. */
/* expect stdout: ok */
#include "check.h"
#include <sched.h>
#include <spawn.h>
extern char **environ;
static char stack[65536];
static int child(void *p) { execl("/bin/sh", "sh", "-c", "exit 6", (char *)0); return p != 0; }
/* Shares the address space and ends without executing: what it wrote is there. */
static int noexec(void *p) { *(int *)p = 12; return 8; }
int main(void) {
	int st;
	for (int i = 0; i < 3; i++) {
		pid_t c = vfork();
		if (c == 0) {
			execl("/bin/sh", "sh", "-c", "exit 4", (char *)0);
			_exit(1);
		}
		CHECK(c > 0 && waitpid(c, &st, 0) == c && WEXITSTATUS(st) == 4);
		volatile int shared = 0;
		c = vfork();
		if (c == 0) {
			shared = 9;
			_exit(shared);
		}
		CHECK(waitpid(c, &st, 0) == c && WEXITSTATUS(st) == 9 && shared == 9);
		char *argv[] = {"sh", "-c", "exit 5", 0};
		CHECK(posix_spawn(&c, "/bin/sh", 0, 0, argv, environ) == 0);
		CHECK(waitpid(c, &st, 0) == c && WEXITSTATUS(st) == 5);
		/* its child reports the error through memory that it shares */
		CHECK(posix_spawn(&c, "/nonexistent", 0, 0, argv, environ) == ENOENT);
		c = clone(child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, 0);
		CHECK(c > 0 && waitpid(c, &st, 0) == c && WEXITSTATUS(st) == 6);
		int v = 0;
		c = clone(noexec, stack + sizeof stack, CLONE_VM | SIGCHLD, &v);
		CHECK(c > 0 && waitpid(c, &st, 0) == c && WEXITSTATUS(st) == 8 && v == 12);
		CHECK(WEXITSTATUS(system("exit 7")) == 7);
		FILE *f = popen("echo piped | tr a-z A-Z", "r");
		char line[32];
		CHECK(fgets(line, sizeof line, f) && strcmp(line, "PIPED\n") == 0 && pclose(f) == 0);
	}
	return OK();
}
