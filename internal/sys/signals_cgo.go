package sys

/*
#include <signal.h>

// Go's runtime has handlers for these, and keeps to them in faults of our own.
static struct sigaction before[65];

static void sent(int sig, siginfo_t *info, void *context) {
	struct sigaction *b = &before[sig];
	if (info->si_code <= 0) return; // somebody has sent it
	if (b->sa_flags & SA_SIGINFO) {
		b->sa_sigaction(sig, info, context);
	} else if (b->sa_handler == SIG_DFL) { // the kernel means it
		sigaction(sig, b, 0);
	}
}

// unharmed has a signal do nothing where somebody has sent it, unless it is ignored. One call does mostly: each start makes them all.
static void unharmed(int sig) {
	struct sigaction a = {.sa_sigaction = sent, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART}, was = {0};
	sigfillset(&a.sa_mask);
	if (sigaction(sig, &a, &was) || (!(was.sa_flags & SA_SIGINFO) && was.sa_handler == SIG_IGN)) {
		sigaction(sig, &was, 0);
	} else if (was.sa_sigaction != sent) {
		before[sig] = was;
	}
}
*/
import "C"

import "syscall"

// Unharmed has signals do nothing to this process where somebody has sent them, from now on. Faults, and what else the kernel sends by itself, are what they were, and programs that
// it executes get them as they were.
//
// Refused: signal.Notify, each call of which waits for a thread of the runtime: 1.5 ms of each start. Nor does it take all of them.
func Unharmed(signals []syscall.Signal) {
	for _, s := range signals {
		C.unharmed(C.int(s))
	}
}
