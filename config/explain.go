package config

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Explain writes, in plain words, what the configuration will do, window by
// window: when each opens and closes and what is recorded meanwhile.
//
// It is written for somebody who wonders why a recording is empty or huge. So
// what is left out is said wherever it could surprise, and what is general and
// goes without saying (every process, every thread) takes one line at most.
func (c *Config) Explain(w io.Writer) error {
	e := &explainer{Writer: bufio.NewWriter(w)}
	for i, win := range c.Windows {
		// A blank line between windows, none at the end: callers put text of their own
		// behind.
		if i > 0 {
			e.WriteByte('\n')
		}
		e.window(win)
		if len(c.Windows) == 1 && win.closesForGood() {
			e.line(1, "After that, the rest of the process runs natively, at full speed.")
		}
		e.profile(win)
	}
	if len(c.Windows) > 1 {
		e.WriteByte('\n')
		e.line(0, "Windows that are open at the same time record an instruction once, with everything that any of them asks for.")
	}
	if len(c.Types.Types)+len(c.Types.Pointers) > 0 {
		e.WriteByte('\n')
		e.types(&c.Types)
	}
	if err := e.Flush(); err != nil {
		return fmt.Errorf("explanation: %w", err)
	}
	return nil
}

// closesForGood tells a window that cannot open again once it has closed. With
// several windows nothing follows from it, as another may still open.
func (w *Window) closesForGood() bool { return w.Till != nil && !w.Reopenable }

// lineWidth is where lines are broken: the width of a terminal, so that the
// continuation keeps its indentation, which a terminal would not give it.
const lineWidth = 100

// explainer writes indented lines. Write errors stick in the bufio.Writer and
// come out of its Flush.
type explainer struct{ *bufio.Writer }

// line writes one line, indented like the elements nest and broken between
// words where it is too long. Plain indentation rather than bullets or a tree
// of rules: it survives being pasted anywhere and being read aloud.
func (e *explainer) line(depth int, format string, args ...any) {
	indent := strings.Repeat("  ", depth)
	at := 0
	// By spaces alone: names in the text may hold other white space, and are not ours
	// to change.
	for _, word := range strings.Split(fmt.Sprintf(format, args...), " ") {
		// Counted in bytes: names that are not ASCII break a little early.
		switch {
		case at == 0:
			at, _ = e.WriteString(indent)
		case at+1+len(word) > lineWidth:
			e.WriteByte('\n')
			at, _ = e.WriteString(indent + "    ") // two levels: what is nested has one
		default:
			e.WriteByte(' ')
			at++
		}
		e.WriteString(word)
		at += len(word)
	}
	e.WriteByte('\n')
}

// window explains when a window opens and closes, in the order of time.
func (e *explainer) window(w *Window) {
	e.line(0, "Window %d%s", w.Number, ifText(w.Name != "", ", "+w.Name))
	// Four ways to begin, worded so that each says whether it can happen again: that
	// is what one asks first of an empty or an endless recording.
	switch {
	case w.On == nil && w.Till == nil:
		e.line(1, "Open from the first instruction of each process to its end.")
		return
	case w.On == nil:
		e.line(1, "Open from the first instruction of each process.")
	case w.On.Kind == EventSample:
		e.line(1, "Opens every %s instructions%s, each time for %s instructions.", countText(w.On.Period), w.On.processWords(), countText(w.On.Burst))
		return // what follows would speak of a Till that there cannot be
	case w.Reopenable:
		e.when("Opens, and reopens after each closing, when ", w.On)
	default:
		e.when("Opens once, when ", w.On)
	}
	if w.Till == nil {
		e.line(1, "Stays open until the process ends.")
	} else {
		e.when("Closes when ", w.Till)
	}
}

// when tells an event in the sentence that it belongs to; those inside of a
// combined one get a line each, because they don't fit into a sentence.
func (e *explainer) when(begin string, ev *Event) {
	// All and One cannot be empty in a file that loads, so having children tells them
	// from the others.
	if len(ev.Children) == 0 {
		e.line(1, "%s%s.", begin, ev.words())
		return
	}
	e.line(1, "%s%s:", begin, ev.groupWords())
	for _, c := range ev.Children {
		e.event(2, c)
	}
}

// event explains an event and, indented, those inside.
func (e *explainer) event(depth int, ev *Event) {
	if len(ev.Children) == 0 {
		e.line(depth, "%s", ev.words())
		return
	}
	e.line(depth, "%s:", ev.groupWords())
	for _, c := range ev.Children {
		e.event(depth+1, c)
	}
}

// groupWords opens the list of what All and One combine. A list of one is worded
// like any other: it is legal, and rare enough.
func (e *Event) groupWords() string {
	if e.Kind == EventAll {
		return "all of these have happened, in any order"
	}
	return "one of these happens"
}

// ifText keeps optional parts of sentences in the sentence.
func ifText(cond bool, s string) string {
	if cond {
		return s
	}
	return ""
}
