package config

import (
	"fmt"
	"strings"
)

// The events on what threads have executed, exactly counted.
var (
	accessesSpec = eventSpec{kind: EventAccesses, traits: Counts | Stays,
		element: element{name: "Accesses",
			doc: "Fires when the given number of memory accesses has executed: total, or reads and writes. Where both reads and writes " +
				"are given, both must be reached.",
			attrs: []attribute{
				{name: "total", kind: countValue, doc: "how many accesses, reads and writes together; excludes the attributes reads and writes"},
				{name: "reads", kind: countValue, doc: "how many reads"},
				{name: "writes", kind: countValue, doc: "how many writes"},
				eventProcess, eventThread, eventAnyThread, eventSince,
			}},
		decode: decodeAccesses,
		words: func(e *Event, of string) string {
			what := strings.Join(nonEmpty(boundWords("", e.Total), suffixed(e.Reads, " reads"), suffixed(e.Writes, " writes")), " and ")
			return e.countWords(what+ifText(e.Total > 0, " memory accesses")) + of
		},
	}
	instructionsSpec = eventSpec{kind: EventInstructions, traits: Counts | Stays,
		element: element{name: "Instructions",
			doc: "Fires when the given number of instructions has executed. The window opens or closes right after the last one " +
				"counted.",
			attrs: []attribute{
				{name: "threshold", kind: count1Value, required: true, doc: "how many instructions"},
				eventProcess, eventThread, eventAnyThread, eventSince,
			}},
		decode: decodeCounted,
		words: func(e *Event, of string) string {
			return e.countWords(countText(e.Threshold)+" instructions") + of
		},
	}
	sampleSpec = eventSpec{kind: EventSample, traits: Counts | Bursts,
		element: element{name: "Sample",
			doc: "Samples in bursts: the window reopens every period and closes itself after burst. It can only be in On, and alone there.",
			attrs: []attribute{
				{name: "period", kind: count1Value, required: true, doc: "instructions from one opening to the next"},
				{name: "burst", kind: count1Value, required: true, doc: "instructions recorded after each opening; less than period"},
				eventProcess,
			}},
		decode: decodeSample,
		words: func(e *Event, of string) string {
			return fmt.Sprintf("every %s instructions%s, for %s", countText(e.Period), of, countText(e.Burst))
		},
	}
)

// decodeAccesses decodes the bounds of Accesses, with 0 as no bound again. Values
// decide and not presence: total="0" reads="5" is how a generator of such files
// may well write it.
func decodeAccesses(d *decoder, n *node, e *Event, on bool) {
	e.Total, e.Reads, e.Writes = n.count("total"), n.count("reads"), n.count("writes")
	switch {
	case e.Total > 0 && e.Reads+e.Writes > 0:
		d.rule(n.get("total").Pos, "Accesses gives total besides reads or writes", "give total alone, or reads and writes")
	case e.Total == 0 && e.Reads == 0 && e.Writes == 0 && !n.bad:
		d.rule(n.Pos, "Accesses gives no count", "total, or reads, writes or both are needed, above 0")
	}
	decodeCounted(d, n, e, on)
}

// decodeCounted looks at what Accesses and Instructions have in common.
func decodeCounted(d *decoder, n *node, e *Event, on bool) {
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

// decodeSample takes a burst that is shorter than its period. Equal is refused too: the window would
// close and open in the same instruction, which is a window that is always open, said badly.
func decodeSample(d *decoder, n *node, e *Event, _ bool) {
	e.Period, e.Burst = n.count("period"), n.count("burst")
	if e.Period != 0 && e.Burst >= e.Period {
		d.rule(n.get("burst").Pos, fmt.Sprintf("a burst of %d does not end within a period of %d", e.Burst, e.Period),
			"burst must be less than period")
	}
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
