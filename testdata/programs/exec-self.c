/* execve of another program, after attempts that fail: it goes on being
 * recorded. Signal mask, ignored signals and descriptors pass through. */
/* expect stdout: 5 4 3 2 1 end */
/* expect exit: 7 */
#include "check.h"
int main(int argc, char **argv) {
	int n = argc > 1 ? atoi(argv[1]) : 5;
	if (argc > 1) {
		sigset_t s;
		struct sigaction a;
		CHECK(sigprocmask(SIG_BLOCK, 0, &s) == 0 && sigismember(&s, SIGUSR2));
		CHECK(sigaction(SIGUSR1, 0, &a) == 0 && a.sa_handler == SIG_IGN && fcntl(77, F_GETFD) == 0);
	} else {
		sigset_t s;
		sigemptyset(&s);
		sigaddset(&s, SIGUSR2);
		sigprocmask(SIG_BLOCK, &s, 0);
		signal(SIGUSR1, SIG_IGN);
		CHECK(dup2(0, 77) == 77);
	}
	if (n == 0) return printf("end\n"), 7;
	printf("%d ", n);
	fflush(stdout);
	char num[8];
	snprintf(num, sizeof num, "%d", n - 1);
	char *args[] = {argv[0], num, 0};
	char *env[] = {0};
	CHECK(execve("/nonexistent", args, env) == -1 && errno == ENOENT);
	CHECK(execve("/etc/passwd", args, env) == -1 && errno == EACCES);
	execve("/proc/self/exe", args, env);
	CHECK(0);
}
