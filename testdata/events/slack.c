/* slack N PROGRAM ARGUMENT... has PROGRAM started with a timer slack of N ns, which is its default, too. Without arguments it prints what it has, and what by default. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
	if (argc > 2) {
		int status = 0;
		prctl(PR_SET_TIMERSLACK, atol(argv[1]));
		if (fork() == 0) {
			execvp(argv[2], argv + 2);
			_exit(127);
		}
		wait(&status);
		return WEXITSTATUS(status);
	}
	printf("%d ", prctl(PR_GET_TIMERSLACK));
	prctl(PR_SET_TIMERSLACK, 0);
	printf("%d\n", prctl(PR_GET_TIMERSLACK));
	return 0;
}
