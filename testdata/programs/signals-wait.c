/* Blocked and pending signals, and those that are waited for. */
/* expect stdout: ok */
#include "check.h"
#include <sys/signalfd.h>
static volatile int n;
static void h(int s, siginfo_t *i, void *uc) { (void)s, (void)i, (void)uc; n++; }
int main(void) {
	sigset_t s, p;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	sigaddset(&s, SIGUSR2);
	sigaddset(&s, SIGRTMIN);
	on(SIGUSR1, h, 0);
	CHECK(sigprocmask(SIG_BLOCK, &s, 0) == 0);
	raise(SIGUSR1);
	raise(SIGUSR1); /* standard signals do not queue: one is pending */
	CHECK(n == 0 && sigpending(&p) == 0 && sigismember(&p, SIGUSR1) && !sigismember(&p, SIGUSR2));
	int got;
	CHECK(sigwait(&s, &got) == 0 && got == SIGUSR1 && n == 0);
	union sigval v;
	for (int i = 0; i < 10; i++) {
		v.sival_int = i;
		CHECK(sigqueue(getpid(), SIGRTMIN, v) == 0); /* these do, in their order */
	}
	for (int i = 0; i < 10; i++) {
		siginfo_t in;
		CHECK(sigwaitinfo(&s, &in) == SIGRTMIN && in.si_value.sival_int == i);
	}
	struct timespec ts = {0, 1000000};
	CHECK(sigtimedwait(&s, 0, &ts) == -1 && errno == EAGAIN);
	int fd = signalfd(-1, &s, 0);
	struct signalfd_siginfo si;
	raise(SIGUSR2);
	CHECK(read(fd, &si, sizeof si) == sizeof si && si.ssi_signo == SIGUSR2);
	raise(SIGUSR1);
	CHECK(n == 0 && sigprocmask(SIG_UNBLOCK, &s, 0) == 0 && n == 1);
	return OK();
}
