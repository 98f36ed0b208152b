/* Handlers within handlers, masks during them, SA_NODEFER, SA_RESETHAND. */
/* expect stdout: ok */
#include "check.h"
static volatile int depth, most, usr2;
static void h2(int s, siginfo_t *i, void *uc) {
	(void)s, (void)i, (void)uc;
	usr2++;
	CHECK(depth > 0);
}
static void h1(int s, siginfo_t *i, void *uc) {
	(void)i, (void)uc;
	if (++depth > most) most = depth;
	raise(SIGUSR2);
	sigset_t now;
	sigprocmask(SIG_BLOCK, 0, &now);
	CHECK(!sigismember(&now, s));
	if (depth < 5) raise(s);
	depth--;
}
/* Raises itself: without SA_NODEFER it runs again only after it has returned. */
static volatile int runs;
static void h3(int s, siginfo_t *i, void *uc) {
	(void)i, (void)uc;
	int was = ++runs;
	if (was < 3) {
		raise(s); /* blocked until we return */
		CHECK(runs == was);
	}
}
int main(void) {
	on(SIGUSR1, h1, SA_NODEFER);
	on(SIGUSR2, h2, 0);
	raise(SIGUSR1);
	CHECK(depth == 0 && most == 5 && usr2 == 5);
	on(SIGUSR1, h3, 0);
	raise(SIGUSR1);
	CHECK(runs == 3);
	on(SIGUSR1, h3, SA_RESETHAND);
	raise(SIGUSR1);
	struct sigaction a;
	CHECK(sigaction(SIGUSR1, 0, &a) == 0 && a.sa_handler == SIG_DFL);
	return OK();
}
