package config

import (
	"fmt"
	"strings"
)

// onlyEvent decodes the event in On or Till. Further ones were reported by the
// shape check and are not looked at.
func (d *decoder) onlyEvent(n *node) *Event {
	for _, c := range n.children {
		if k := eventKindOf(c.name); k != EventNone {
			return d.event(c, k, n.name == "On")
		}
	}
	return nil
}

// event decodes an event and those inside. on tells that it stands in an On.
func (d *decoder) event(n *node, kind EventKind, on bool) *Event {
	// What most kinds share is read for all of them: an attribute that a kind does not
	// take was refused by the shape check, so that it reads as absent here.
	e := &Event{
		Pos: n.Pos, Kind: kind,
		Process: n.ordinal("process"), Thread: n.ordinal("thread"),
		AnyThread: n.flag("anyThread"), SinceOpen: trim(n.text("since")) == "open",
		Threshold: n.count("threshold"),
	}
	switch kind {
	case EventAll, EventOne:
		for _, c := range n.children {
			if k := eventKindOf(c.name); k != EventNone {
				e.Children = append(e.Children, d.event(c, k, on))
			}
		}
	// Not both: they could contradict each other, and an image that has the name but
	// not the path would be neither right nor wrong.
	case EventLoad, EventUnload:
		e.Name, e.Path = n.text("name"), n.text("path")
		d.exactlyOne(n, "path", "name")
		d.imageNames(n, "name", "path")
	case EventCall, EventReturn:
		d.functionEvent(n, e)
	case EventThreads:
		d.threadsEvent(n, e)
	case EventAccesses:
		d.accessesEvent(n, e)
		d.countedEvent(n, e, on)
	case EventInstructions:
		d.countedEvent(n, e, on)
	// The threshold is a time here and has been read as a count above, which would
	// make 250 and 250ms differ.
	case EventTime:
		e.Threshold, e.After = 0, n.duration("threshold")
	case EventSyscall:
		e.Name = n.text("name")
		e.Number, e.HasNumber = n.number("number")
		// Names are not looked up in a table: a kernel may be newer than this program,
		// and record knows what its own has.
		d.exactlyOne(n, "name", "number")
	case EventAddress:
		d.addressEvent(n, e)
	default:
		d.numberedEvent(n, e)
	}
	return e
}

// numberedEvent decodes the events that have numbers only.
func (d *decoder) numberedEvent(n *node, e *Event) {
	switch e.Kind {
	case EventSignal, EventExec, EventFork:
		// An ordinal and not a number: 0 is "any" for all three, as it is for
		// processes and threads.
		e.Number = uint64(n.ordinal("number"))
		if e.Kind == EventSignal && e.Number > 64 {
			d.rule(n.get("number").Pos, fmt.Sprintf("there is no signal %d", e.Number), "signals are numbered from 1 to 64")
		}
	case EventSample:
		// Equal is refused too: the window would close and open in the same
		// instruction, which is a window that is always open, said badly.
		e.Period, e.Burst = n.count("period"), n.count("burst")
		if e.Period != 0 && e.Burst >= e.Period {
			d.rule(n.get("burst").Pos, fmt.Sprintf("a burst of %d does not end within a period of %d", e.Burst, e.Period),
				"burst must be less than period")
		}
	}
}

// functionEvent decodes what Call and Return add. A threshold counts over all
// threads, so together with a thread it has no meaning that both halves of the
// sentence agree on; the published profiler refused it too.
func (d *decoder) functionEvent(n *node, e *Event) {
	e.Name, e.Decorated = n.text("name"), n.flag("decorated")
	e.ImageName, e.ImagePath = n.text("imageName"), n.text("imagePath")
	if got := n.given("imageName", "imagePath"); len(got) > 1 {
		d.rule(got[1].Pos, fmt.Sprintf("%s gives %s besides %s", n.name, got[1].name, got[0].name), "at most one of imageName and imagePath can be given")
	}
	// Neither is right as well, and means the main executable. That is the default of
	// the published profiler, which old files rely on.
	d.imageNames(n, "imageName", "imagePath")
	d.functionName(n)
	if e.Threshold > 0 && e.Thread > 0 {
		d.rule(n.get("threshold").Pos, fmt.Sprintf("%s gives both threshold and thread", n.name),
			"a threshold counts over all threads: keep one of them")
	}
}

// threadsEvent decodes the bounds of Threads. A bound of 0 is no bound, as in
// the published profiler: no process has less than one live thread when its
// threads are counted.
func (d *decoder) threadsEvent(n *node, e *Event) {
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

// accessesEvent decodes the bounds of Accesses, with 0 as no bound again. Values
// decide and not presence: total="0" reads="5" is how a generator of such files
// may well write it.
func (d *decoder) accessesEvent(n *node, e *Event) {
	e.Total, e.Reads, e.Writes = n.count("total"), n.count("reads"), n.count("writes")
	switch {
	case e.Total > 0 && e.Reads+e.Writes > 0:
		d.rule(n.get("total").Pos, "Accesses gives total besides reads or writes", "give total alone, or reads and writes")
	case e.Total == 0 && e.Reads == 0 && e.Writes == 0 && !n.bad:
		d.rule(n.Pos, "Accesses gives no count", "total, or reads, writes or both are needed, above 0")
	}
}

// countedEvent looks at what Accesses and Instructions have in common.
func (d *decoder) countedEvent(n *node, e *Event, on bool) {
	// One thread is some thread: the pair says the same twice and is harmless.
	if e.AnyThread && e.Thread > 0 {
		d.warn(n.get("anyThread").Pos, "anyThread has no effect besides thread", "remove one of them")
	}
	// It would fire only after something else had opened the window, which nothing
	// can; inside of an All or One it is no better.
	if e.SinceOpen && on {
		d.warn(n.get("since").Pos, "an On cannot count from an opening that it has yet to cause", "remove since")
	}
}

// addressEvent decodes the two ways to name an address. Presence decides here,
// because 0 is a possible offset and value.
func (d *decoder) addressEvent(n *node, e *Event) {
	e.Image = n.text("image")
	e.Value, e.HasValue = n.number("value")
	e.Offset, _ = n.number("offset")
	image, offset, value := n.get("image"), n.get("offset"), n.get("value")
	// Five messages rather than one, since the attribute to remove or add is a
	// different one each time and is what gets the place.
	const right = "image and offset are given, or value alone"
	switch {
	case value != nil && image != nil:
		d.rule(image.Pos, "Address gives image besides value", right)
	case value != nil && offset != nil:
		d.rule(offset.Pos, "Address gives offset besides value", right)
	case value == nil && image == nil && offset == nil:
		d.rule(n.Pos, "Address gives no address", right)
	case value == nil && image == nil:
		d.rule(n.Pos, "Address gives offset but no image", right)
	case value == nil && offset == nil:
		d.rule(n.Pos, "Address gives image but no offset", right)
	}
}

// functionName warns of a name with its parameters: names are compared without.
func (d *decoder) functionName(n *node) {
	a := n.get("name")
	if a == nil || n.flag("decorated") || !strings.HasSuffix(a.value, ")") {
		return
	}
	// The last parenthesis: what stands before it may hold others, of function types
	// among template arguments.
	open := strings.LastIndexByte(a.value, '(')
	// operator() and (anonymous namespace) are names, not parameters.
	if open <= 0 || strings.HasSuffix(a.value[:open], "operator") || strings.HasSuffix(a.value, "(anonymous namespace)") {
		return
	}
	d.warn(a.Pos, fmt.Sprintf("name=%q can match no function: names are compared without parameters", short(a.value)),
		fmt.Sprintf("write %q", short(a.value[:open])))
}

// imageNames warns of names and paths that no image can have.
func (d *decoder) imageNames(n *node, name, path string) {
	// Warnings: on Linux a file name may hold a *, and the file may be meant for a run
	// under another root.
	if a := n.get(name); a != nil {
		switch {
		case strings.Contains(a.value, "/"):
			d.warn(a.Pos, fmt.Sprintf("%s=%q can match no image: a file name holds no slash", name, short(a.value)), "use "+path)
		case strings.Contains(a.value, "*"):
			d.warn(a.Pos, fmt.Sprintf("the * in %s=%q is taken literally", name, short(a.value)), "only function names have wildcards")
		}
	}
	if a := n.get(path); a != nil && a.value != "" && !strings.HasPrefix(a.value, "/") {
		d.warn(a.Pos, fmt.Sprintf("%s=%q can match no image: a full path begins with a slash", path, short(a.value)), "use "+name+", or the full path")
	}
}
