package sys

/*
#include "slack.h"
*/
import "C"

import "golang.org/x/sys/unix"

// Slack is how late the kernel might wake the program's first thread when it was started, in nanoseconds (internal/monitor changes that).
func Slack() int { return int(C.alleria_slack) }

// OwnSlack gives the calling thread that again: processes that it creates, or executes as, have what natively they would have.
func OwnSlack() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(Slack()), 0, 0, 0) }
