/* A program that executes another after giving up its rights: another user, without a /proc of its own. */
/* expect stdout: ok */
/* armed: work */
#include "check.h"
#include <grp.h>
#include <sched.h>
#include <sys/stat.h>
static volatile unsigned sum;
__attribute__((noinline)) static void work(void) { for (unsigned i = 0; i < 100; i++) sum = sum * 5 + i; }
int main(int argc, char **argv) {
	if (argc > 1) {
		work();
		pid_t c = fork(); /* without rights as well */
		if (c == 0) {
			work();
			_exit(3);
		}
		int st;
		CHECK(waitpid(c, &st, 0) == c && st == 3 << 8);
		return OK();
	}
	int user = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK(user >= 0);
	if (getuid() == 0) {
		CHECK(setgroups(0, 0) == 0 && setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
	} else
		(void)!unshare(CLONE_NEWUSER);
	char *next[] = {argv[0], "again", 0}, *none[] = {0};
	work();
	fexecve(user, next, none);
	CHECK(!"executed");
}
