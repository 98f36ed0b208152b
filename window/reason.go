package window

import (
	"fmt"
	"strings"

	"alleria/config"
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
		return cause(c.Cause)
	case c.Why != "":
		return c.Why
	case c.Opened:
		return "start of the process"
	}
	return "end of the process"
}

// cause names an event as it stands in the configuration: its element and what
// tells it from others of the kind.
func cause(e *config.Event) string {
	words := []string{e.Kind.String()}
	add := func(ok bool, format string, args ...any) {
		if ok {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(e.Name != "", "%s", e.Name)
	add(e.Path != "", "%s", e.Path)
	switch e.Kind {
	case config.EventAddress:
		add(e.HasValue, "%#x", e.Value)
		add(!e.HasValue, "%s+%#x", e.Image, e.Offset)
	case config.EventSyscall:
		add(e.HasNumber, "%d", e.Number)
	default:
		add(e.Number > 0, "%d", e.Number)
	}
	add(e.Threshold > 0, "%d", e.Threshold)
	add(e.After > 0, "%v", e.After)
	add(e.Total > 0, "%d", e.Total)
	add(e.Reads > 0, "reads %d", e.Reads)
	add(e.Writes > 0, "writes %d", e.Writes)
	add(e.LargerEqual > 0, "at least %d", e.LargerEqual)
	add(e.SmallerEqual > 0, "at most %d", e.SmallerEqual)
	add(e.Period > 0, "%d of %d", e.Burst, e.Period)
	return strings.Join(words, " ")
}
