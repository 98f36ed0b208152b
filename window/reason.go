package window

import (
	"fmt"
)

// Reason says in words what made the change, and of a window that closes, whether
// functions whose return it awaited were left otherwise.
func (c *Change) Reason() string {
	switch {
	case c.Gone == 1:
		return c.made() + GoneMark + "once"
	case c.Gone > 1:
		return c.made() + GoneMark + fmt.Sprintf("%d times", c.Gone)
	}
	return c.made()
}

// GoneMark is what stands in a reason between what made the change and how often a
// function was left by a longjmp, an exception, or the end of its thread.
const GoneMark = "; left without a return "

// made says what made the change.
func (c *Change) made() string {
	switch {
	case c.Cause != nil:
		return c.Cause.Brief()
	case c.Why != "":
		return c.Why
	case c.Opened:
		return "start of the process"
	}
	return "end of the process"
}
