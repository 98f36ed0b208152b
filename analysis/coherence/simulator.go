package coherence

import (
	"math/bits"

	"alleria/analysis/cache"
)

// MostProcessors is how many processors are told apart.
const MostProcessors = 64

// Counts are what one processor, or all of them, did.
type Counts struct {
	Reads  uint64 `json:"reads"` // references to lines: an access of two lines is two
	Writes uint64 `json:"writes"`
	// References that the first private level misses and the second one has.
	Second uint64 `json:"private_l2_hits,omitempty"`
	// Misses of the private caches, by what they are due to.
	Cold     uint64 `json:"cold_misses"`          // the processor has never had the line
	Capacity uint64 `json:"capacity_misses"`      // it had to make room
	True     uint64 `json:"true_sharing_misses"`  // another wrote it, and what was written is used
	False    uint64 `json:"false_sharing_misses"` // another wrote it, and what was written is not used
	// Of all misses.
	Dirty  uint64 `json:"dirty_transfers"` // came out of another processor's cache that had written it
	Memory uint64 `json:"memory"`          // nobody had it, the shared cache neither
	// Stores that took the line away from others, and lines that others' stores took away from here.
	Takes  uint64 `json:"invalidating_stores"`
	Losses uint64 `json:"invalidations"`
}

// Coherence is the misses that sharing makes.
func (c *Counts) Coherence() uint64 { return c.True + c.False }

// add adds what another did.
func (c *Counts) add(o *Counts) {
	c.Reads += o.Reads
	c.Writes += o.Writes
	c.Second += o.Second
	c.Cold += o.Cold
	c.Capacity += o.Capacity
	c.True += o.True
	c.False += o.False
	c.Dirty += o.Dirty
	c.Memory += o.Memory
	c.Takes += o.Takes
	c.Losses += o.Losses
}

// pairKey is a store that takes a line away and the instruction that misses it afterwards.
type pairKey struct{ taker, victim uint64 }

// pairCount is what such a pair did to a line, and with which bytes of it.
type pairCount struct {
	shared, falsely     uint64 // misses
	written, referenced uint64 // bits of bytes
}

// lineNote is what is counted of a line that several processors use.
type lineNote struct {
	takes, dirty uint64
	pairs        map[pairKey]*pairCount
}

// Simulator takes accesses of processors, in the order of time.
type Simulator struct {
	line    uint // shift
	grain   uint // shift of what a bit of a line stands for
	options Options
	shared  *cache.Cache // nil: none
	cpus    []processor
	dir     directory
	noted   []uint64 // lines with a note
	muted   bool     // what comes does not count
}

// processor is one with its private cache.
type processor struct {
	cache *private
	Counts
	apart Counts // of what does not count
}

// of is what a processor's counts go to.
func (s *Simulator) of(c *processor) *Counts {
	if s.muted {
		return &c.apart
	}
	return &c.Counts
}

// NewSimulator starts with empty caches.
func NewSimulator(o Options) *Simulator {
	s := &Simulator{line: shiftOf(o.Own.Line), options: o, dir: directory{pages: map[uint64]*statePage{}}}
	if o.Own.Line > 64 {
		s.grain = shiftOf(o.Own.Line / 64)
	}
	if o.Shared.Ways > 0 {
		s.shared = cache.New(o.Shared)
	}
	return s
}

// cpu returns a processor, the first time with an empty cache.
func (s *Simulator) cpu(n int) *processor {
	for len(s.cpus) <= n {
		s.cpus = append(s.cpus, processor{})
	}
	if s.cpus[n].cache == nil {
		s.cpus[n].cache = newPrivate(&s.options)
	}
	return &s.cpus[n]
}

// Access is one of an instruction on a processor (below MostProcessors).
func (s *Simulator) Access(cpu int, code, addr, size uint64, store bool) {
	if size == 0 {
		return
	}
	line, last := addr>>s.line, (addr+size-1)>>s.line
	for {
		from, to := max(addr, line<<s.line), addr+size
		if line != last {
			to = (line + 1) << s.line
		}
		s.reference(cpu, code, line, bytesOf(from-line<<s.line, to-from, s.grain), store)
		if line == last {
			return
		}
		line++
	}
}

// reference refers to one line.
func (s *Simulator) reference(cpu int, code, line, bytes uint64, store bool) {
	c, st, bit := s.cpu(cpu), s.dir.at(line), uint64(1)<<cpu
	if store {
		s.of(c).Writes++
	} else {
		s.of(c).Reads++
	}
	if st.holders&bit == 0 {
		s.miss(c, st, cpu, code, line)
	} else if !c.cache.use(line) {
		s.of(c).Second++
		s.evict(c, cpu)
	}
	if st.views != nil {
		s.look(c, st, cpu, bytes)
	}
	if !store {
		return
	}
	if st.owner != int8(cpu)+1 {
		s.take(c, st, cpu, code, line, bytes)
	}
	if st.waiting {
		s.wrote(st, cpu, code, bytes)
	}
}

// miss brings a line into a private cache.
func (s *Simulator) miss(c *processor, st *lineState, cpu int, code, line uint64) {
	bit := uint64(1) << cpu
	var v *loss
	if cpu < len(st.views) {
		v = st.views[cpu]
	}
	switch {
	case st.touched&bit == 0:
		s.of(c).Cold++
	case v != nil && v.lost:
		v.open, v.victim, v.used, v.muted = true, code, 0, s.muted
	default:
		s.of(c).Capacity++
	}
	missing := s.shared != nil && s.shared.Miss(line<<s.line, 1)
	switch {
	case st.owner != 0 && st.holders != 0:
		s.of(c).Dirty++
		if st.note != nil && !s.muted {
			st.note.dirty++
		}
		st.owner = 0
	case st.holders == 0 && (missing || s.shared == nil):
		s.of(c).Memory++
	}
	if v != nil {
		v.lost = false
	}
	c.cache.fill(line)
	s.evict(c, cpu)
	st.holders |= bit
	if st.touched |= bit; st.views == nil && bits.OnesCount64(st.touched) > 1 {
		st.views, st.note = make([]*loss, 0, 2), &lineNote{pairs: map[pairKey]*pairCount{}}
		s.noted = append(s.noted, line)
	}
}

// evict lets the lines go that had to make room.
func (s *Simulator) evict(c *processor, cpu int) {
	for _, line := range c.cache.out() {
		st := s.dir.at(line)
		st.holders &^= 1 << cpu
		if st.owner == int8(cpu)+1 {
			st.owner = 0
			if s.shared != nil {
				s.shared.Miss(line<<s.line, 1) // written back
			}
		}
		if cpu < len(st.views) && st.views[cpu] != nil {
			s.close(c, st, st.views[cpu], false)
			st.views[cpu].written = 0 // comes with the next fill, which is due to the room
		}
	}
}

// look tells whether a processor touches what others have written.
func (s *Simulator) look(c *processor, st *lineState, cpu int, bytes uint64) {
	if cpu >= len(st.views) || st.views[cpu] == nil {
		return
	}
	v := st.views[cpu]
	if v.open {
		if v.used |= bytes; v.written&bytes != 0 {
			s.close(c, st, v, true)
			v.written = 0 // the miss was needed: all that has come with it is known
		}
	}
}

// close counts a coherence miss whose kind is known now.
func (s *Simulator) close(c *processor, st *lineState, v *loss, shared bool) {
	if !v.open {
		return
	}
	v.open = false
	if v.muted { // when it missed
		return
	}
	key := pairKey{v.taker, v.victim}
	p := st.note.pairs[key]
	if p == nil {
		p = new(pairCount)
		st.note.pairs[key] = p
	}
	p.written |= v.bytes
	p.referenced |= v.used
	if shared {
		c.True++
		p.shared++
	} else {
		c.False++
		p.falsely++
	}
}

// take makes a processor the owner, and all others lose the line.
func (s *Simulator) take(c *processor, st *lineState, cpu int, code, line, bytes uint64) {
	bit := uint64(1) << cpu
	others := st.holders &^ bit
	st.owner, st.holders = int8(cpu)+1, bit
	if others == 0 {
		return
	}
	s.of(c).Takes++
	if !s.muted {
		st.note.takes++
	}
	st.waiting = true
	for ; others != 0; others &= others - 1 {
		n := bits.TrailingZeros64(others)
		o, v := &s.cpus[n], st.view(n)
		o.cache.drop(line)
		s.of(o).Losses++
		s.close(o, st, v, false)
		v.lost, v.taker, v.bytes = true, code, bytes
	}
}

// wrote tells processors that have lost the line what is written meanwhile.
func (s *Simulator) wrote(st *lineState, cpu int, code, bytes uint64) {
	st.waiting = false
	for n, v := range st.views {
		if v == nil || !v.lost || n == cpu {
			continue
		}
		st.waiting = true
		v.written |= bytes
		if v.taker == code {
			v.bytes |= bytes
		}
	}
}

// finish decides what is still open.
func (s *Simulator) finish() {
	for _, line := range s.noted {
		st := s.dir.at(line)
		for n, v := range st.views {
			if v != nil {
				s.close(&s.cpus[n], st, v, false)
			}
		}
	}
}
