/* SIGCHLD, and what wait says about children's ends. */
/* expect stdout: ok */
#include "check.h"
static volatile int n, status, code;
static volatile pid_t pid;
static void h(int s, siginfo_t *i, void *uc) {
	(void)s, (void)uc;
	pid = i->si_pid, status = i->si_status, code = i->si_code;
	n++;
}
int main(void) {
	on(SIGCHLD, h, SA_RESTART);
	for (int i = 0; i < 10; i++) {
		int st, was = n;
		pid_t c = fork();
		if (c == 0) {
			if (i & 1) _exit(i);
			raise(SIGKILL);
		}
		CHECK(c > 0 && waitpid(c, &st, 0) == c);
		while (n == was) idle();
		CHECK(pid == c);
		if (i & 1) CHECK(WIFEXITED(st) && WEXITSTATUS(st) == i && code == CLD_EXITED && status == i);
		else CHECK(WIFSIGNALED(st) && WTERMSIG(st) == SIGKILL && code == CLD_KILLED && status == SIGKILL);
	}
	return OK();
}
