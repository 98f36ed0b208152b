package config

import (
	"fmt"
	"strings"
)

// words says in a clause when an event fires, to stand after "when": "main of
// the main executable is entered". Clauses are composed from parts that are
// empty where they don't apply, in one order for all events: what, which time,
// which thread, which process.
func (e *Event) words() string {
	// Before the switch: nearly every clause ends in it.
	of := e.processWords()
	switch e.Kind {
	case EventCreation:
		return e.threadWords("a thread") + of + " starts"
	case EventTermination:
		return e.threadWords("a thread") + of + " ends"
	case EventLoad:
		// Of name and path one is always empty, which saves asking for the other.
		return "the image " + e.Name + e.Path + " is loaded" + of
	case EventUnload:
		return "the image " + e.Name + e.Path + " is unloaded" + of
	case EventCall:
		return e.functionWords() + " is entered" + e.occurrenceWords() + e.inThread() + of
	case EventReturn:
		return e.functionWords() + " has returned" + e.occurrenceWords() + e.inThread() + of
	// The lower bound first, as one says "between two and four".
	case EventThreads:
		return "the number of live threads" + of + " is " + strings.Join(nonEmpty(
			boundWords("at least", e.LargerEqual), boundWords("at most", e.SmallerEqual)), " and ")
	case EventAccesses:
		what := strings.Join(nonEmpty(boundWords("", e.Total), suffixed(e.Reads, " reads"), suffixed(e.Writes, " writes")), " and ")
		return e.countWords(what+ifText(e.Total > 0, " memory accesses")) + of
	case EventInstructions:
		return e.countWords(countText(e.Threshold)+" instructions") + of
	// The plural also for one second: the time is a figure with a unit, not a noun.
	case EventTime:
		return timeText(e.After) + " have passed since the first instruction" + e.inThread() + of
	}
	return e.extensionWords(of)
}

// extensionWords covers the events that the published profiler did not have.
func (e *Event) extensionWords(of string) string {
	switch e.Kind {
	// By number where the file gives one: turning it into a name would need the table
	// of the kernel that the trace will run on.
	case EventSyscall:
		name := e.Name
		if e.HasNumber {
			name = fmt.Sprintf("number %d", e.Number)
		}
		return "the system call " + name + " is entered" + e.occurrenceWords() + e.inThread() + of
	// "About to": what the window records begins or ends before that instruction.
	case EventAddress:
		where := "address " + hex(e.Value)
		if e.Image != "" {
			where = fmt.Sprintf("%s+%s", e.Image, hex(e.Offset))
		}
		return "the instruction at " + where + " is about to execute" + e.occurrenceWords()
	case EventSignal:
		if e.Number == 0 {
			return "a signal is delivered" + of
		}
		return fmt.Sprintf("signal %d is delivered%s", e.Number, of)
	case EventExec:
		return "another program is executed" + nthTime(e.Number) + of
	case EventFork:
		return "a child process is created" + nthTime(e.Number) + of
	case EventSample:
		return fmt.Sprintf("every %s instructions, for %s", countText(e.Period), countText(e.Burst))
	}
	return e.Kind.String()
}

// processWords is empty for events of the window's own process: saying so each
// time would bury the rest.
func (e *Event) processWords() string {
	if e.Process == 0 {
		return ""
	}
	return fmt.Sprintf(" in process %d", e.Process)
}

// threadWords names the thread, or says any where none is given.
func (e *Event) threadWords(any string) string {
	if e.Thread == 0 {
		return any
	}
	return fmt.Sprintf("thread %d", e.Thread)
}

// inThread is the same as an addition to a clause.
func (e *Event) inThread() string {
	if e.Thread == 0 {
		return ""
	}
	return fmt.Sprintf(" in thread %d", e.Thread)
}

// functionWords names the function with its image. The main executable is named
// although it is the default: that an event without image means it, and not all
// images, is the mistake to expect.
func (e *Event) functionWords() string {
	where := "the main executable"
	if image := e.ImageName + e.ImagePath; image != "" {
		where = image
	}
	return fmt.Sprintf("%s%s of %s", ifText(e.Decorated, "the symbol "), e.Name, where)
}

// occurrenceWords says on which time the event fires, if not on the first.
func (e *Event) occurrenceWords() string { return nthTime(e.Threshold) }

// nthTime writes an ordinal number in full; suffixes like k would not read as
// one.
func nthTime(n uint64) string {
	if n <= 1 {
		return ""
	}
	suffix := "th"
	// 11th to 13th are irregular.
	if n/10%10 != 1 && n%10 >= 1 && n%10 <= 3 {
		suffix = [...]string{"", "st", "nd", "rd"}[n%10]
	}
	return fmt.Sprintf(" for the %d%s time", n, suffix)
}

// countWords says who must have executed the count, and since when.
func (e *Event) countWords(what string) string {
	who := "all threads together have"
	switch {
	case e.Thread > 0:
		who = fmt.Sprintf("thread %d has", e.Thread)
	// Thread before anyThread: with both, a warning has said that the latter means
	// nothing.
	case e.AnyThread:
		who = "some thread has"
	}
	since := "since the process's first instruction"
	if e.SinceOpen {
		since = "since the window opened"
	}
	return fmt.Sprintf("%s executed %s %s", who, what, since)
}

// boundWords words a bound, or nothing where there is none.
func boundWords(word string, n uint64) string {
	if n == 0 {
		return ""
	}
	return strings.TrimSpace(word + " " + countText(n))
}

// suffixed words a count of something, or nothing where it is 0.
func suffixed(n uint64, suffix string) string {
	if n == 0 {
		return ""
	}
	return countText(n) + suffix
}

// nonEmpty drops the parts that turned out to say nothing.
func nonEmpty(parts ...string) []string {
	// In place: the slice was made for this call by the variadic argument.
	out := parts[:0]
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}
