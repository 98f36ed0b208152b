/* Job control: the program stops, a child of its continues it, also in the
 * middle of a sleep, which lasts no shorter for it. */
/* expect stdout: ok */
#include "check.h"
static volatile int conts;
static void h(int s, siginfo_t *i, void *uc) { (void)s, (void)i, (void)uc; conts++; }
/* A child that sends us sig after a while and continues us after another. */
static pid_t helper(int sig) {
	pid_t parent = getpid(), c = fork();
	if (c == 0) {
		usleep(30000);
		kill(parent, sig);
		usleep(60000);
		kill(parent, SIGCONT);
		_exit(0);
	}
	return c;
}
int main(void) {
	int st;
	on(SIGCONT, h, 0);
	pid_t c = helper(SIGCONT);
	raise(SIGSTOP);
	CHECK(waitpid(c, &st, 0) == c || errno == EINTR);
	CHECK(conts >= 1);
	signal(SIGCONT, SIG_DFL);
	while (wait(&st) > 0) ;
	c = helper(SIGSTOP);
	/* stopped in the middle of a sleep */
	struct timespec ts = {0, 150000000}, a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	CHECK(nanosleep(&ts, 0) == 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	CHECK((b.tv_sec - a.tv_sec) * 1000000000l + b.tv_nsec - a.tv_nsec >= 150000000);
	CHECK(waitpid(c, &st, 0) == c);
	/* stopped while it computes */
	volatile long sum = 0;
	c = helper(SIGTSTP);
	while (waitpid(c, &st, WNOHANG) == 0) sum++;
	return OK();
}
