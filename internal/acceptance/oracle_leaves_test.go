package acceptance

import (
	"debug/elf"
	"fmt"
	"strings"

	"alleria/engine/x86"
)

// The events of a trace. attrs are attributes besides those that say what happens; times
// is how often it has to, 0 for once without a threshold.

// threshold is the attribute for that many times.
func threshold(times int) string { return attributeUnless("threshold", times, 0) }

func (tr *oracleTrace) calls(fn *oracleSymbol, name, attrs string, times int) *oracleEvent {
	return &oracleEvent{element: fmt.Sprintf(`Call name="%s"%s%s`, name, attrs, threshold(times)), times: times, phase: phaseEntry,
		happens: func(i int) bool { return tr.facts[i].entered == fn }}
}

func (tr *oracleTrace) returns(fn *oracleSymbol, name, attrs string, times int) *oracleEvent {
	return &oracleEvent{element: fmt.Sprintf(`Return name="%s"%s%s`, name, attrs, threshold(times)), times: times, phase: phaseReturn,
		happens: func(i int) bool { return tr.facts[i].returned[fn] }}
}

func (tr *oracleTrace) arrives(at uint64, attrs string, times int) *oracleEvent {
	return &oracleEvent{element: "Address" + attrs + threshold(times), times: times, phase: phaseEntry,
		happens: func(i int) bool { return tr.facts[i].addr == at }}
}

func (tr *oracleTrace) enters(call uint64, attrs string, times int) *oracleEvent {
	return &oracleEvent{element: "Syscall" + attrs + threshold(times), times: times, phase: phaseCall,
		happens: func(i int) bool { return i > 0 && tr.facts[i-1].in.Cat == x86.CatSYSCALL && tr.facts[i-1].call == call }}
}

// signals is a signal that is delivered in front of an instruction; first is the first byte
// of what raises it, 0 for any.
func (tr *oracleTrace) signals(attrs string, first byte) *oracleEvent {
	return &oracleEvent{element: "Signal" + attrs, phase: phaseSignal, happens: func(i int) bool {
		return tr.facts[i].signalled && (first == 0 || tr.byteAt(tr.facts[i-1].to) == first)
	}}
}

// byteAt reads the main executable.
func (tr *oracleTrace) byteAt(addr uint64) byte {
	f, err := elf.Open(tr.prog)
	if err != nil {
		return 0
	}
	defer f.Close()
	for _, s := range f.Sections {
		if at := addr - tr.images[0].bias; s.Type == elf.SHT_PROGBITS && at >= s.Addr && at < s.Addr+s.Size {
			b := make([]byte, 1)
			if _, err := s.ReadAt(b, int64(at-s.Addr)); err == nil {
				return b[0]
			}
		}
	}
	return 0
}

// begins is an event that happens when the program stands before its first instruction,
// and has not arrived there.
func (tr *oracleTrace) begins(element string) *oracleEvent {
	return &oracleEvent{element: element, phase: phaseCall, happens: func(i int) bool { return i == 0 }}
}

// done is what has been done since a boundary, or since the start.
type done struct{ instructions, reads, writes int }

// doneBy is what has been done by a boundary.
func (tr *oracleTrace) doneBy(i int) done {
	if i == 0 {
		return done{}
	}
	return done{i, int(tr.facts[i-1].reads), int(tr.facts[i-1].writes)}
}

// counts is an event on what has been done; attrs may have since="open".
func (tr *oracleTrace) counts(element, attrs string, reached func(d done) bool) *oracleEvent {
	e := &oracleEvent{element: element + attrs, since: strings.Contains(attrs, `since="open"`)}
	e.level = func(i, opened int) bool {
		d := tr.doneBy(i)
		if e.since {
			from := tr.doneBy(opened)
			d = done{d.instructions - from.instructions, d.reads - from.reads, d.writes - from.writes}
		}
		return reached(d)
	}
	return e
}

func (tr *oracleTrace) instructions(n int, attrs string) *oracleEvent {
	return tr.counts(fmt.Sprintf(`Instructions threshold="%d"`, n), attrs, func(d done) bool { return d.instructions >= n })
}

// accesses is an event on counts of them; 0: that one is not counted.
func (tr *oracleTrace) accesses(total, reads, writes int, attrs string) *oracleEvent {
	element := "Accesses" + attributeUnless("total", total, 0) + attributeUnless("reads", reads, 0) + attributeUnless("writes", writes, 0)
	return tr.counts(element, attrs, func(d done) bool {
		return d.reads+d.writes >= total && d.reads >= reads && d.writes >= writes
	})
}

// sampling makes a window one that opens and closes by itself.
func (tr *oracleTrace) sampling(w *oracleWindow, period, burst int) {
	w.on = &oracleEvent{element: fmt.Sprintf(`Sample period="%d" burst="%d"`, period, burst), since: true,
		level: func(i, _ int) bool { return i > 0 && i%period == 0 }}
	w.till = &oracleEvent{since: true, level: func(i, opened int) bool { return i-opened >= burst }}
}

// all and oneOf combine events.
func all(children ...*oracleEvent) *oracleEvent {
	return &oracleEvent{element: "All", all: true, children: children}
}

func oneOf(children ...*oracleEvent) *oracleEvent {
	return &oracleEvent{element: "One", children: children}
}
