package config

// eventSpec is everything that the language knows of one kind of event: how it is
// written, what it means, how it is told. A kind is added here: its constant in event.go, its
// spec in the file of its family (event_*.go), and its line in eventSpecs; how it is
// found out about is the session's to add.
type eventSpec struct {
	kind EventKind
	// element is its row of the language: name, sentence, attributes.
	element
	traits Traits
	// decode fills in what the kind has besides the attributes that are read for all; nil: nothing.
	// on tells that the event stands in an On.
	decode func(d *decoder, n *node, e *Event, on bool)
	// words says in a clause when the event fires, to stand after "when", without the process;
	// of, which names the process, goes where the clause wants it.
	words func(e *Event, of string) string
	// image is the image that the event is about, by path or by name; about is false for
	// one that means the main executable. nil: the kind has nothing to do with images.
	image func(e *Event) (path, name string, given bool)
	// number writes the number of Number and Value for Brief; nil: Number, where it is above 0.
	number func(e *Event) string
}

// Traits are what kinds of events have in common for those who watch for them.
type Traits uint16

const (
	// Group is an event of events: All, One.
	Group Traits = 1 << iota
	// Occurs is a kind whose Threshold says on which occurrence it fires.
	Occurs
	// AtCode is a kind whose occurrences are arrivals at instructions: code can count them.
	AtCode
	// OfFunction is a kind that names a function, entered or returned from.
	OfFunction
	// OfImage is a kind about an image that comes or goes.
	OfImage
	// Counts is a kind that fires when threads have executed so much.
	Counts
	// Stays is a kind that, once it has happened, has happened for good, unless it counts from an opening.
	Stays
	// Bursts is the kind that opens and closes its window in turn.
	Bursts
)

// eventSpecs is indexed by EventKind; a test holds the two together.
var eventSpecs = [...]eventSpec{
	EventNone: {},
	EventAll:  allSpec, EventOne: oneSpec,
	EventCreation: creationSpec, EventTermination: terminationSpec,
	EventLoad: loadSpec, EventUnload: unloadSpec,
	EventCall: callSpec, EventReturn: returnSpec,
	EventThreads:  threadsSpec,
	EventAccesses: accessesSpec, EventInstructions: instructionsSpec,
	EventTime: timeSpec, EventSyscall: syscallSpec, EventAddress: addressSpec,
	EventSignal: signalSpec, EventExec: execSpec, EventFork: forkSpec, EventSample: sampleSpec,
}

// spec is a kind's row; that of no event for what is none.
func (k EventKind) spec() *eventSpec {
	if int(k) >= len(eventSpecs) {
		k = EventNone
	}
	return &eventSpecs[k]
}

// Is tells whether a kind has all of some traits.
func (k EventKind) Is(t Traits) bool { return k.spec().traits&t == t }

// String returns the element's name.
func (k EventKind) String() string {
	if int(k) >= len(eventSpecs) {
		return "EventKind?"
	}
	return eventSpecs[k].name
}

// eventKindOf is the inverse of String; EventNone for what is no event.
func eventKindOf(name string) EventKind {
	for k := range eventSpecs {
		if eventSpecs[k].name == name {
			return EventKind(k)
		}
	}
	return EventNone
}

// eventElements is everything that may stand in On and Till. The rows without
// "thread" in the published profiler's tables are kept without it here: giving
// every event every attribute would make the table shorter and let through what
// nobody could run.
//
// Thresholds come in two kinds. Where a count is the event (Instructions, Time)
// it is required and above 0; where it says on which occurrence the event fires
// (Call, Return, Syscall, Address) it may be left out, and 0 is the same as
// that, because old files write it so.
//
// What the published profiler did not have: Syscall, Address, Signal, Exec,
// Fork, Sample, and the attribute since.
var eventElements = elementsOfEvents()

// eventNames lists what may stand in All, One, On and Till. Sample is not among
// them: it makes a window reopen by itself and so only makes sense as the whole
// of an On.
var eventNames = namesOfEvents()

// elementsOfEvents makes the rows of the language: of the specs, with what may stand in groups.
func elementsOfEvents() []element {
	var out []element
	for _, s := range eventSpecs[EventNone+1:] {
		el := s.element
		// Not marked as an event, which would let it stand in Till and All: it says when
		// to open and when to close in one.
		el.event = s.traits&Bursts == 0
		if s.traits&Group != 0 {
			el.groups = []group{{namesOfEvents(), 1, 0}}
		}
		out = append(out, el)
	}
	return out
}

func namesOfEvents() []string {
	var out []string
	for _, s := range eventSpecs[EventNone+1:] {
		if s.traits&Bursts == 0 {
			out = append(out, s.name)
		}
	}
	return out
}

// Attributes that many events share, said once so that their documentation
// cannot drift apart.
var (
	eventProcess = attribute{name: "process", kind: ordinalValue,
		doc: "the number, in creation order, of the process in which the event is counted; the event then applies to the windows of all " +
			"processes. Absent or 0: each process counts for itself"}
	eventThread = attribute{name: "thread", kind: ordinalValue,
		doc: "the number of the thread, in creation order within its process; absent or 0: any"}
	eventAnyThread = attribute{name: "anyThread", kind: boolValue,
		doc: "true: a single thread has to reach the count, whichever it is; otherwise, with no thread given, all threads together"}
	eventThreshold = attribute{name: "threshold", kind: countValue,
		doc: "the occurrence at which the event fires, counted over all threads; absent or 0: the first"}
	eventSince = attribute{name: "since", kind: enumValue, values: []string{"start", "open"},
		doc: "where counting starts: start, at the process's first instruction (also after a reopening), or open, at the " +
			"opening of this window; absent: start"}
)

// The events of events. What is inside them is decoded and explained by those who go down
// the tree: a spec that did so would have to name all others.
var (
	allSpec = eventSpec{kind: EventAll, traits: Group,
		element: element{name: "All", doc: "Fires once each of the events inside has fired, in any order. All and One nest freely."}}
	oneSpec = eventSpec{kind: EventOne, traits: Group,
		element: element{name: "One", doc: "Fires as soon as one of the events inside fires. All and One nest freely."}}
)
