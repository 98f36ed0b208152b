package config

import (
	"fmt"
	"strings"
)

// The events on threads: they come, they go, there are so many.
var (
	creationSpec = eventSpec{kind: EventCreation,
		element: element{name: "Creation", doc: "Fires when a thread of the process starts.", attrs: threadEventAttrs},
		words:   func(e *Event, of string) string { return e.threadWords("a thread") + of + " starts" },
	}
	terminationSpec = eventSpec{kind: EventTermination,
		element: element{name: "Termination", doc: "Fires when a thread of the process ends.", attrs: threadEventAttrs},
		words:   func(e *Event, of string) string { return e.threadWords("a thread") + of + " ends" },
	}
	// No thread attribute: how many there are is a fact about a process.
	threadsSpec = eventSpec{kind: EventThreads,
		element: element{name: "Threads",
			doc: "Fires when the number of live threads satisfies the bounds, checked whenever a thread starts or ends. At " +
				"least one bound is given.",
			attrs: []attribute{
				{name: "smallerEqual", kind: countValue, doc: "at most this many live threads"},
				{name: "largerEqual", kind: countValue, doc: "at least this many live threads"},
				eventProcess,
			}},
		decode: decodeThreads,
		// The lower bound first, as one says "between two and four".
		words: func(e *Event, of string) string {
			return "the number of live threads" + of + " is " + strings.Join(nonEmpty(
				boundWords("at least", e.LargerEqual), boundWords("at most", e.SmallerEqual)), " and ")
		},
	}
)

// The attributes of the events that come in pairs.
//
// Creation and Termination are the only events that must name a process: "some
// thread of this very process starts" would fire with its first instruction.
var threadEventAttrs = []attribute{
	{name: "process", kind: ordinal1Value, required: true, doc: "the number of the process, in creation order from 1"},
	eventThread,
}

// decodeThreads decodes the bounds of Threads. A bound of 0 is no bound, as in
// the published profiler: no process has less than one live thread when its
// threads are counted.
func decodeThreads(d *decoder, n *node, e *Event, _ bool) {
	e.SmallerEqual, e.LargerEqual = n.count("smallerEqual"), n.count("largerEqual")
	switch {
	case e.SmallerEqual == 0 && e.LargerEqual == 0 && !n.bad:
		d.rule(n.Pos, "Threads gives no bound", "smallerEqual, largerEqual or both are needed, above 0")
	// A warning: the numbers may come from a script that varies them, and the other
	// windows of the file are still worth running.
	case e.SmallerEqual > 0 && e.SmallerEqual < e.LargerEqual:
		d.warn(n.Pos, fmt.Sprintf("no number of threads is at most %d and at least %d", e.SmallerEqual, e.LargerEqual),
			"use One for alternatives")
	}
}

// The events that the kernel tells of: time, system calls, signals, programs and processes.
var (
	timeSpec = eventSpec{kind: EventTime, traits: Stays,
		element: element{name: "Time", doc: "Fires when the given time has passed since the process's first instruction.",
			attrs: []attribute{
				{name: "threshold", kind: timeValue, required: true, doc: "how long, in milliseconds unless a unit is given"},
				eventProcess, eventThread,
			}},
		// The threshold is a time here and has been read as a count, which would
		// make 250 and 250ms differ.
		decode: func(_ *decoder, n *node, e *Event, _ bool) { e.Threshold, e.After = 0, n.duration("threshold") },
		// The plural also for one second: the time is a figure with a unit, not a noun.
		words: func(e *Event, of string) string {
			return timeText(e.After) + " have passed since the first instruction" + e.inThread() + of
		},
	}
	syscallSpec = eventSpec{kind: EventSyscall, traits: Occurs,
		element: element{name: "Syscall", doc: "Fires when the system call is entered. Exactly one of name and number is given.",
			attrs: []attribute{
				{name: "name", kind: textValue, doc: "the name of the system call, such as openat"},
				{name: "number", kind: numberValue, doc: "its number on x86-64"},
				eventProcess, eventThread, eventThreshold,
			}},
		decode: decodeSyscall, words: syscallWords,
		number: func(e *Event) string { return ifText(e.HasNumber, fmt.Sprint(e.Number)) },
	}
	signalSpec = eventSpec{kind: EventSignal,
		element: element{name: "Signal", doc: "Fires when a signal is delivered.",
			attrs: []attribute{{name: "number", kind: ordinalValue, doc: "the number of the signal; absent or 0: any"}, eventProcess}},
		decode: decodeSignal, words: signalWords,
	}
	execSpec = eventSpec{kind: EventExec, decode: decodeNth,
		element: element{name: "Exec", doc: "Fires when the process executes another program.", attrs: nthEventAttrs},
		words:   func(e *Event, of string) string { return "another program is executed" + nthTime(e.Number) + of },
	}
	forkSpec = eventSpec{kind: EventFork, decode: decodeNth,
		element: element{name: "Fork", doc: "Fires when the process creates a child process.", attrs: nthEventAttrs},
		words:   func(e *Event, of string) string { return "a child process is created" + nthTime(e.Number) + of },
	}
)

// What Exec and Fork take.
var nthEventAttrs = []attribute{
	{name: "number", kind: ordinalValue, doc: "the occurrence at which the event fires, from 1; absent or 0: any"}, eventProcess,
}

// decodeSyscall takes a name or a number.
// Names are not looked up in a table: a kernel may be newer than this program,
// and record knows what its own has.
func decodeSyscall(d *decoder, n *node, e *Event, _ bool) {
	e.Name = n.text("name")
	e.Number, e.HasNumber = n.number("number")
	d.exactlyOne(n, "name", "number")
}

// decodeNth reads an ordinal and not a number: 0 is "any", as it is for processes and threads.
func decodeNth(_ *decoder, n *node, e *Event, _ bool) { e.Number = uint64(n.ordinal("number")) }

func decodeSignal(d *decoder, n *node, e *Event, on bool) {
	decodeNth(d, n, e, on)
	if e.Number > 64 {
		d.rule(n.get("number").Pos, fmt.Sprintf("there is no signal %d", e.Number), "signals are numbered from 1 to 64")
	}
}

// syscallWords has the number where the file gives one: turning it into a name would need the table
// of the kernel that the trace will run on.
func syscallWords(e *Event, of string) string {
	name := e.Name
	if e.HasNumber {
		name = fmt.Sprintf("number %d", e.Number)
	}
	return "the system call " + name + " is entered" + nthTime(e.Threshold) + e.inThread() + of
}

func signalWords(e *Event, of string) string {
	if e.Number == 0 {
		return "a signal is delivered" + of
	}
	return fmt.Sprintf("signal %d is delivered%s", e.Number, of)
}
