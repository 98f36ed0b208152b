// As many processes as the argument says, each of which executes a program of its own, live at once: when all have begun, "ready" is printed, and they end when
// the standard input does.
//
// Expectation: exit status 0.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 2) { // a child: 9 is the pipe to say so
        if (write(9, "x", 1) != 1)
            return 1;
        pause();
        return 1;
    }
    int n = atoi(argv[1]), fds[2];
    pid_t *pids = calloc(n, sizeof *pids);
    if (pipe(fds) || dup2(fds[1], 9) < 0)
        return 1;
    for (int i = 0; i < n; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            execl("/proc/self/exe", "child", (char *)0);
            _exit(1);
        }
    }
    char c;
    for (int i = 0; i < n; i++)
        if (read(fds[0], &c, 1) != 1)
            return 1;
    puts("ready");
    fflush(stdout);
    while (read(0, &c, 1) > 0)
        ;
    for (int i = 0; i < n; i++) {
        int status;
        kill(pids[i], SIGTERM);
        if (waitpid(pids[i], &status, 0) != pids[i] || !WIFSIGNALED(status))
            return 1;
    }
    return 0;
}
