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
	if words := e.Kind.spec().words; words != nil {
		return words(e, e.processWords())
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
