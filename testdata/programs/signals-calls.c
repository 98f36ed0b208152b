/* System calls that signals interrupt: restarted with SA_RESTART, EINTR
 * without, the rest of the time from nanosleep. */
/* expect stdout: ok */
#include "check.h"
static volatile sig_atomic_t n;
static int fd;
static void h(int s, siginfo_t *i, void *uc) {
	(void)s, (void)i, (void)uc;
	if (++n % 3 == 0) CHECK(write(fd, "x", 1) == 1);
}
int main(void) {
	int p[2];
	CHECK(pipe(p) == 0);
	fd = p[1];
	char c;
	on(SIGALRM, h, SA_RESTART);
	struct itimerval it = {{0, 60000}, {0, 60000}}, off = {0};
	/* The handler writes at every third signal: read is restarted twice, then returns. */
	for (int i = 1; i <= 5; i++) {
		setitimer(ITIMER_REAL, &it, 0);
		CHECK(read(p[0], &c, 1) == 1 && c == 'x');
		setitimer(ITIMER_REAL, &off, 0);
		CHECK(n >= 3 * i);
		while (n % 3) n++; /* none may be left over for the next round */
	}
	n = 0;
	on(SIGALRM, h, 0);
	setitimer(ITIMER_REAL, &it, 0);
	CHECK(read(p[0], &c, 1) == -1 && errno == EINTR);
	struct timespec ts = {5, 0}, rem = {0};
	CHECK(nanosleep(&ts, &rem) == -1 && errno == EINTR && rem.tv_sec == 4);
	setitimer(ITIMER_REAL, &off, 0);
	sigset_t none;
	sigemptyset(&none);
	alarm(1);
	n = 0;
	CHECK(sigsuspend(&none) == -1 && errno == EINTR && n == 1);
	return OK();
}
