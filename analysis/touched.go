package analysis

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"alleria/abp"
)

// Sharing tells how the threads of a process use a line.
type Sharing string

// Kinds of sharing. False sharing is that threads use different bytes, of which one is
// written: the line goes from one processor to the other for nothing.
const (
	SharingNone  Sharing = ""      // one thread
	SharingReads Sharing = "reads" // nobody writes
	SharingTrue  Sharing = "true"  // a byte that one writes is another's too
	SharingFalse Sharing = "false" // no such byte
)

// TouchedLine is a line of memory with who touched it.
type TouchedLine struct {
	Address uint64          `json:"address"`
	Reads   uint64          `json:"reads"`
	Writes  uint64          `json:"writes"`
	Sharing Sharing         `json:"sharing,omitempty"`
	Region  string          `json:"region,omitempty"`
	Threads []TouchedThread `json:"threads"`
	Code    []TouchedCode   `json:"code,omitempty"` // the places with the most accesses; of the first lines only
}

// TouchedThread is what one thread did to a line. Bit i of a mask is byte i (of 64) or, in
// larger lines, the part i.
type TouchedThread struct {
	Thread    uint32 `json:"thread"`
	Reads     uint64 `json:"reads"`
	Writes    uint64 `json:"writes"`
	ReadMask  uint64 `json:"read_mask"`
	WriteMask uint64 `json:"write_mask"`
}

// TouchedCode is an instruction that touches a line.
type TouchedCode struct {
	Address uint64 `json:"address"`
	Place   string `json:"place,omitempty"`
	Reads   uint64 `json:"reads"`
	Writes  uint64 `json:"writes"`
}

// touchSum is a TouchedThread with fractions, where counts are estimates.
type touchSum struct {
	thread        uint32
	reads, writes float64
	rmask, wmask  uint64
}

// touchPage is so many bytes, so that a line is found by one look-up of its page.
const touchPage = 1 << 12

// touch is what one thread did to one line.
type touch struct{ reads, writes, rmask, wmask uint64 }

// touches are the lines of one thread, by page. Frames of a thread are counted on several
// goroutines, each into one of its own.
type touches struct {
	pages map[uint64][]touch
	last  uint64 // page that was looked up last, plus one
	page  []touch
	shift uint // of a line
}

// add counts an access, in each line that it touches.
func (t *touches) add(addr, size uint64, store bool) {
	line := uint64(1) << t.shift
	for size > 0 {
		n := min(size, line-addr&(line-1))
		t.part(addr, n, store)
		addr, size = addr+n, size-n
	}
}

// part counts an access within a line.
func (t *touches) part(addr, size uint64, store bool) {
	page := addr/touchPage + 1
	if page != t.last {
		t.page = t.pages[page]
		if t.page == nil {
			t.page = make([]touch, touchPage>>t.shift)
			t.pages[page] = t.page
		}
		t.last = page
	}
	e := &t.page[addr%touchPage>>t.shift]
	off := addr & (1<<t.shift - 1)
	scale := uint(0)
	if t.shift > 6 {
		scale = t.shift - 6
	}
	first, last := off>>scale, (off+size-1)>>scale
	mask := ^uint64(0) >> (63 - (last - first)) << first
	if store {
		e.writes++
		e.wmask |= mask
	} else {
		e.reads++
		e.rmask |= mask
	}
}

// Touched counts accesses by line of memory (8 bytes to 4 KiB, a power of two) and thread,
// the most first, and says of the first top lines (0: all) which code touches them. progress
// may be nil.
func Touched(p *abp.Profile, proc *abp.Process, q abp.Query, line uint64, top int, progress *Progress) ([]TouchedLine, error) {
	if line < 8 || line > touchPage || bits.OnesCount64(line) != 1 {
		return nil, fmt.Errorf("lines of %d bytes: not a power of two from 8 to %d", line, touchPage)
	}
	all := map[uint64][]touchSum{} // by line's number
	var lock sync.Mutex            // guards all
	shift := uint(bits.TrailingZeros64(line))
	_, err := eachFrame(proc, q, progress, func(threads []abp.Thread) func() frameWorker {
		return func() frameWorker {
			w := &touchWorker{reader: p.FrameReader(q), proc: proc, shift: shift, thread: -1, entries: picksInstructions(q), execs: picksExecutions(q)}
			w.each = func(m *abp.Mem) { w.t.add(m.Addr, uint64(m.Size), m.Store) }
			w.merge = func(i int, scale float64, t *touches) {
				lock.Lock()
				defer lock.Unlock()
				t.into(all, threads[i].Number, scale)
			}
			return w
		}
	})
	if err != nil {
		return nil, fmt.Errorf("addresses of %s: %w", p.Path(), err)
	}
	out := make([]TouchedLine, 0, len(all))
	for l, threads := range all {
		out = append(out, newTouchedLine(l<<shift, threads))
	}
	slices.SortFunc(out, func(a, b TouchedLine) int {
		return cmp.Or(cmp.Compare(b.Reads+b.Writes, a.Reads+a.Writes), cmp.Compare(a.Address, b.Address))
	})
	named := out
	if top > 0 && top < len(out) {
		named = out[:top]
	}
	return out, touchers(p, proc, q, named, shift)
}

// newTouchedLine sums the threads of a line up.
func newTouchedLine(addr uint64, sums []touchSum) TouchedLine {
	threads := make([]TouchedThread, len(sums))
	for i := range sums {
		s := &sums[i]
		threads[i] = TouchedThread{s.thread, whole(s.reads), whole(s.writes), s.rmask, s.wmask}
	}
	l := TouchedLine{Address: addr, Threads: threads}
	slices.SortFunc(threads, func(a, b TouchedThread) int { return cmp.Compare(a.Thread, b.Thread) })
	for i := range threads {
		t := &threads[i]
		l.Reads += t.Reads
		l.Writes += t.Writes
		for k := range threads[:i] {
			o := &threads[k]
			switch {
			case t.WriteMask&(o.ReadMask|o.WriteMask) != 0 || o.WriteMask&t.ReadMask != 0:
				l.Sharing = SharingTrue
			case l.Sharing == SharingTrue:
			case t.WriteMask|o.WriteMask != 0:
				l.Sharing = SharingFalse
			case l.Sharing == SharingNone:
				l.Sharing = SharingReads
			}
		}
	}
	return l
}

// whole is a sum without fractions.
func whole(n float64) uint64 { return uint64(math.Round(n)) }

// into adds a thread's lines, times scale, to those of all.
func (t *touches) into(all map[uint64][]touchSum, thread uint32, scale float64) {
	for page, lines := range t.pages {
		for i := range lines {
			e := &lines[i]
			if e.reads+e.writes == 0 {
				continue
			}
			l := (page-1)*(touchPage>>t.shift) + uint64(i)
			k := slices.IndexFunc(all[l], func(o touchSum) bool { return o.thread == thread })
			if k < 0 {
				all[l] = append(all[l], touchSum{thread: thread})
				k = len(all[l]) - 1
			}
			o := &all[l][k]
			o.reads, o.writes = o.reads+float64(e.reads)*scale, o.writes+float64(e.writes)*scale
			o.rmask, o.wmask = o.rmask|e.rmask, o.wmask|e.wmask
		}
	}
}

// touchWorker counts frames on one goroutine.
type touchWorker struct {
	reader         *abp.Reader
	proc           *abp.Process
	shift          uint
	entries, execs bool
	thread         int     // that t is of, -1: none yet
	scale          float64 // what its counts are to be multiplied by
	t              *touches
	each           func(m *abp.Mem)
	merge          func(thread int, scale float64, t *touches)
}

// frame counts a frame.
func (w *touchWorker) frame(i int, ref *abp.FrameRef) error {
	if scale := w.proc.Scale(ref); i != w.thread || scale != w.scale {
		w.done()
		w.thread, w.scale, w.t = i, scale, &touches{pages: map[uint64][]touch{}, shift: w.shift}
	}
	r := w.reader
	r.Frame(w.proc, ref)
	switch {
	case w.entries:
		for r.Next() {
			if e := r.Entry(); e.Kind == abp.EntryMem {
				w.each(&e.Mem)
			}
		}
	case w.execs:
		for r.NextExec() {
			r.Exec().ForEachAccess(w.each)
		}
	default:
		for r.NextStretch() {
			w.stretch(r)
		}
	}
	return r.Err()
}

// stretch counts whole executions, or a single one.
func (w *touchWorker) stretch(r *abp.Reader) {
	words := r.Stretch()
	if words == nil {
		r.Exec().ForEachAccess(w.each)
		return
	}
	for i := 0; i < len(words); {
		x := r.StretchExec(i)
		x.ForEachAccess(w.each)
		i += 1 + x.Block.Words
	}
}

// done hands over what was counted of the thread.
func (w *touchWorker) done() {
	if w.t != nil {
		w.merge(w.thread, w.scale, w.t)
	}
	w.t, w.thread = nil, -1
}
