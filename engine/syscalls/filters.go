package syscalls

import (
	"sync/atomic"

	"alleria/internal/layout"
	"alleria/internal/sys"
)

// What a process may call is read where a call of ours, or of translated code, depends on it: it may have installed a
// filter while it ran natively, or by another thread, without our hearing of it. Filters that the tracer was started
// under, a container's, say, are its own as well and forbid nothing that it needs.

// Limited tells whether a thread's calls are limited by more than the tracer's own filters.
func Limited(tid int, own sys.Filters) bool {
	f, err := sys.ReadFilters(tid)
	return err == nil && f.Beyond(own)
}

// Look has translated code make no calls of its own any more if a filter of a thread's could forbid them. It tells whether nothing is
// known then that would forbid our calls.
func (c *Calls) Look(tid int) bool {
	if c.May() && Limited(tid, c.own) {
		c.forbid()
	}
	return c.May()
}

// forbid says that no call of ours may be made in the process any more.
func (c *Calls) forbid() {
	c.Filtered = true
	c.noCalls().Store(1)
}

// May tells whether nothing is known that would forbid our calls.
func (c *Calls) May() bool { return !c.Filtered }

// Hush has code make no calls of its own while it could come under a filter unseen, or again such as it may.
func (c *Calls) Hush(on bool) {
	if on == c.hushed {
		return
	}
	c.hushed = on
	if word := c.noCalls(); on {
		word.Store(1)
	} else if !c.Filtered {
		word.Store(0)
	}
}

// Unmute has code make calls of its own again, if nothing is known that forbids them.
func (c *Calls) Unmute() {
	if c.May() {
		c.noCalls().Store(0)
	}
}

// Hushed tells whether code makes none for that reason.
func (c *Calls) Hushed() bool { return c.hushed }

func (c *Calls) noCalls() *atomic.Uint32 { return c.shm.Ctl.U32(layout.NoCalls) }
