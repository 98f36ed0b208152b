package stream

import (
	"alleria/abp"
	"alleria/analysis/lanes"
)

// Lines is a Sink that takes executions apart into references to lines (of a cache, say), in their order, and hands them on many at a
// time: a call for each took as long as all else of it.
type Lines struct {
	accesses *Accesses    // plans, and what is not plain
	vector   *lanes.Lines // nil: one by one
	shift    uint
	keys     []uint64 // each a line's number plus one
	n        int
	many     int  // keys that are handed on at once, about
	mixed    bool // some that wait are of lines that do not matter, perhaps
	full     func(keys []uint64)
}

// NewLines calls full for so many references to lines of 1 << shift bytes in a process's executions, or some more, and for the rest by Flush.
// The keys that it gets are the lines' numbers plus one, and overwritten afterwards.
func NewLines(p *abp.Process, shift uint, many int, full func(keys []uint64)) *Lines {
	l := newLines(p, shift, many, full)
	l.vector = lanes.NewLines(shift)
	return l
}

// newLines takes accesses one by one.
func newLines(p *abp.Process, shift uint, many int, full func(keys []uint64)) *Lines {
	l := &Lines{shift: shift & 63, many: many, keys: make([]uint64, many+lanes.MostAccesses), full: full}
	l.accesses = NewAccesses(p, func(addr uint64, size uint32, _ bool) { l.refer(addr, size) })
	return l
}

// Walks tells whether Walk may be called.
func (l *Lines) Walks() bool { return l.vector != nil }

// Walk is Walker's.
func (l *Lines) Walk(state *abp.Exec, words []uint64, w *Walked) {
	l.vector.Base(state.FSBase)
	for {
		for w.Reach(l.vector.Blocks()); ; l.hand() {
			if w.At, l.n = l.vector.Run(words, w.At, l.keys, l.n, l.many, w.Execs); l.n < l.many {
				break
			}
		}
		b, exec := w.Next(l.accesses.proc, words)
		if b == nil {
			return
		}
		l.Stretch(state, exec)
		w.Pass(b, exec)
	}
}

// Sample says that lines matter alone whose hash (lanes.Hash) is not more than most. Others may come all the same.
func (l *Lines) Sample(most uint64) {
	if l.vector != nil {
		l.vector.Sample(most)
		l.mixed = true
	}
}

// Passed is how many references there were since it was asked last that were not handed on, to lines that do not matter.
func (l *Lines) Passed() uint64 {
	if l.vector == nil {
		return 0
	}
	return l.vector.Passed()
}

// Flush hands on what waits.
func (l *Lines) Flush() {
	if l.n > 0 {
		l.hand()
	}
}

// hand hands on what there is.
func (l *Lines) hand() {
	l.full(l.keys[:l.n])
	l.n, l.mixed = 0, false
}

// Mixed tells who is handed lines of a sample whether some of them may not matter.
func (l *Lines) Mixed() bool { return l.mixed || l.vector == nil }

// Stretch takes whole executions.
func (l *Lines) Stretch(state *abp.Exec, words []uint64) {
	a := l.accesses
	if l.vector != nil {
		l.vector.Base(state.FSBase)
	}
	for i := 0; i < len(words); {
		if l.vector != nil {
			if i = l.vectors(words, i); i == len(words) {
				return
			}
		}
		id := words[i]
		if id >= uint64(len(a.plans)) || a.plans[id].words == 0 {
			a.plan(uint32(id))
			if l.vector != nil {
				if l.vector.Add(a.proc.Block(uint32(id))); l.vector.Has(uint32(id)) {
					continue
				}
			}
		}
		p := &a.plans[id]
		exec := words[i : i+p.words]
		i += p.words
		if p.plain {
			l.whole(p, exec)
		} else {
			a.Stretch(state, exec)
		}
	}
}

// vectors takes whole executions eight accesses at a time, as far as it knows them, and returns where it stopped.
func (l *Lines) vectors(words []uint64, at int) int {
	for {
		at, l.n = l.vector.Run(words, at, l.keys, l.n, l.many, nil)
		if l.n < l.many {
			return at
		}
		l.hand()
	}
}

// whole takes an execution of a block with plain accesses alone.
func (l *Lines) whole(p *accessPlan, exec []uint64) {
	l.mixed = true
	n, keys, shift := l.n, l.keys, l.shift&63
	for k := range p.ops {
		op := &p.ops[k]
		addr := op.offset
		if op.word >= 0 {
			addr += exec[1+int(op.word)]
		}
		line := addr >> shift
		if (addr+uint64(op.size)-1)>>shift != line { // in several lines, or of no size
			l.n = n
			l.refer(addr, op.size)
			n = l.n
			continue
		}
		keys[n] = line + 1
		if n++; n >= l.many {
			l.n = n
			l.hand()
			n, l.mixed = 0, true
		}
	}
	l.n = n
}

// Single takes an execution that may be cut or emulated.
func (l *Lines) Single(x *abp.Exec) { l.accesses.Single(x) }

// refer refers to the lines of an access.
func (l *Lines) refer(addr uint64, size uint32) {
	l.mixed = true
	last := (addr + uint64(max(size, 1)) - 1) >> l.shift
	for line := addr >> l.shift; ; line++ {
		l.keys[l.n] = line + 1
		if l.n++; l.n >= l.many {
			l.hand()
			l.mixed = true
		}
		if line == last {
			return
		}
	}
}
