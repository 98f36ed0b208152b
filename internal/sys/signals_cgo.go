package sys

/*
#include <signal.h>

static void nothing(int sig) { (void)sig; }

// unharmed has a signal do nothing, unless it is ignored.
static void unharmed(int sig) {
	struct sigaction a = {.sa_handler = nothing, .sa_flags = SA_ONSTACK | SA_RESTART}, was;
	if (sigaction(sig, 0, &was) || was.sa_handler == SIG_IGN) return;
	sigaction(sig, &a, 0);
}
*/
import "C"

// The signals that Go's runtime does not let anybody ask for: it takes the first for a fault, and the second is one C library's.
const (
	sigStackFault = 16
	sigSyncCall   = 34
)

// Unharmed has the signals do nothing to this process that signal.Notify does not take. Programs that it executes get them as they were.
func Unharmed() {
	C.unharmed(sigStackFault)
	C.unharmed(sigSyncCall)
}
