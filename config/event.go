package config

import (
	"fmt"
	"strings"
	"time"
)

// EventKind is what an Event waits for.
type EventKind uint8

// The kinds of events, named like their elements.
const (
	EventNone EventKind = iota
	EventAll
	EventOne
	EventCreation
	EventTermination
	EventLoad
	EventUnload
	EventCall
	EventReturn
	EventThreads
	EventAccesses
	EventInstructions
	EventTime
	EventSyscall
	EventAddress
	EventSignal
	EventExec
	EventFork
	EventSample
)

// Event is one node of an event tree. One struct for all kinds: a type for each
// would repeat Process, Thread and Threshold a dozen times. What a kind makes of them is in its
// spec (eventspec.go). Each field names the kinds that use it; in the
// others it is zero.
type Event struct {
	Pos
	Kind EventKind // which element it was
	// Children: All, One.
	Children []*Event

	// Process is 0 for "each process by itself". Creation and Termination
	// always name one.
	Process int
	// Thread is 0 for any. Creation, Termination, Call, Return, Accesses,
	// Instructions, Time, Syscall.
	Thread int
	// AnyThread: Accesses, Instructions. One thread alone must reach the count.
	AnyThread bool
	// SinceOpen: Accesses, Instructions. Count from the opening of the window.
	SinceOpen bool

	// Name is the image's file name (Load, Unload), the function's name (Call,
	// Return) or the system call's (Syscall).
	Name string
	// Path is the image's full path: Load, Unload.
	Path string
	// ImageName, ImagePath: Call, Return. Neither is the main executable.
	ImageName, ImagePath string
	// Decorated: Call, Return. Name is the symbol as linked and nothing else.
	Decorated bool

	// Threshold is how many instructions (Instructions), or on which occurrence
	// the event fires (Call, Return, Syscall, Address), where 0 and 1 are the first.
	Threshold uint64
	// SmallerEqual, LargerEqual: Threads. 0 is no bound.
	SmallerEqual, LargerEqual uint64
	// Accesses.
	AccessBounds
	// After is the threshold of Time.
	After time.Duration

	// Number is the system call's (Syscall, with HasNumber), the signal's
	// (Signal, 0 any) or which time it happens (Exec, Fork, 0 any).
	Number    uint64
	HasNumber bool

	// Image and Offset, or Value with HasValue: Address.
	Image    string
	Offset   uint64
	Value    uint64
	HasValue bool

	// Sample.
	Sampling
}

// AccessBounds are how many accesses make an event. 0 is no bound.
type AccessBounds struct{ Total, Reads, Writes uint64 }

// Sampling is how bursts are laid out, in instructions.
type Sampling struct{ Period, Burst uint64 }

// Walk calls f for the event and everything inside it, parents first.
func (e *Event) Walk(f func(*Event)) {
	if e == nil {
		return
	}
	f(e)
	for _, c := range e.Children {
		c.Walk(f)
	}
}

// Occurrence is Threshold read as "on the N-th time": at least 1.
func (e *Event) Occurrence() uint64 { return max(e.Threshold, 1) }

// MatchesImage tells whether an image is the one that the event names: the
// image loaded or unloaded (Load, Unload), or that holds the function (Call,
// Return), where naming none means the main executable, or the instruction
// (Address). Events about something else match no image.
func (e *Event) MatchesImage(k ImageKey) bool {
	image := e.Kind.spec().image
	if image == nil { // threads, counts and signals have nothing to do with images
		return false
	}
	path, name, given := image(e)
	if !given {
		return k.Main
	}
	return path != "" && k.HasPath(path) || name != "" && k.HasName(name)
}

// OtherImage tells whether an event may be about an image other than the main executable.
func (e *Event) OtherImage() bool {
	image := e.Kind.spec().image
	if image == nil || e.HasValue { // an absolute address is in whatever image is there
		return false
	}
	_, _, given := image(e)
	return given
}

// CountsFromStart tells an event that, once it has fired, stays so: it counts, or waits, from the process's
// first instruction.
func (e *Event) CountsFromStart() bool { return e.Kind.Is(Stays) && !e.SinceOpen }

// Brief names an event as it stands in the configuration: its element and what
// tells it from others of the kind.
func (e *Event) Brief() string {
	words := []string{e.Kind.String()}
	add := func(ok bool, format string, args ...any) {
		if ok {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(e.Name != "", "%s", e.Name)
	add(e.Path != "", "%s", e.Path)
	if number := e.Kind.spec().number; number != nil {
		text := number(e)
		add(text != "", "%s", text)
	} else {
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

// MatchesFunction tells whether a function is the one that a Call or Return
// names. Unlike for a Function of a Profile, parts that the compiler cut out of
// the function (foo.cold) are not the function: jumping there is no call of it.
func (e *Event) MatchesFunction(k FuncKey) bool {
	if !e.Kind.Is(OfFunction) {
		return false
	}
	name := canonicalName(e.Name)
	for a := -1; a < len(k.Aliases); a++ {
		key := k.alias(a)
		// Without owners: entering foo.cold is no call of foo.
		if key.glob(e.Name, e.Decorated, false) {
			return true
		}
		// A plain name that equals the symbol as linked matches too.
		if !e.Decorated && (key.Linked == name || unversioned(key.Linked) == name) && name != "" {
			return true
		}
	}
	return false
}

// unversioned strips a symbol version.
func unversioned(s string) string {
	// From the second character on: a name that is nothing but a version is a name.
	for i := 1; i < len(s); i++ {
		if s[i] == '@' {
			return s[:i]
		}
	}
	return s
}
