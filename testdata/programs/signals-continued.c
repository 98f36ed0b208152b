/* A child is stopped and continued a moment later, at any moment of its beginning: nobody who asks is told that it has stopped, since
 * SIGCONT takes back a stop that has not happened yet, and ends one that has. */
/* expect stdout: 60 children */
#include "check.h"
#include <sys/wait.h>

int main(int argc, char **argv) {
	if (argc > 1) return 0;
	int n = 0;
	for (; n < 60; n++) {
		int status;
		pid_t child = fork();
		if (child == 0) {
			execl("/proc/self/exe", argv[0], "child", (char *)0);
			_exit(1);
		}
		if (n % 2) usleep(n * 100);
		kill(child, SIGSTOP);
		usleep(n % 5 * 500);
		kill(child, SIGCONT);
		alarm(20);
		CHECK(waitpid(child, &status, WUNTRACED) == child);
		CHECK(!WIFSTOPPED(status));
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	printf("%d children\n", n);
	return 0;
}
