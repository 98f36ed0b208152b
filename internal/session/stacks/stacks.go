package stacks

import (
	"io"
	"slices"

	"alleria/abp"
	"alleria/engine"
	"alleria/engine/x86"
	"alleria/internal/symbols"
	"alleria/internal/unwind"
)

// most bounds the calls that are told, from the innermost one on.
const most = 400

// Tables are what is known of a process's images: *plan.Tables has them.
type Tables interface {
	// Function enters a function into the profile.
	Function(l *symbols.Loaded, fn *symbols.Function) uint32
}

// Stacks looks at the stacks of one process.
type Stacks struct {
	images *symbols.Map
	tables Tables
	mem    stack
	unwind map[*symbols.Image]*unwind.Table // nil: there is none
	places map[uint64]*place
	logf   func(format string, args ...any)
}

// place is what is known of an address to which a function returns, or at which it stands.
type place struct {
	in      *symbols.Loaded
	table   *unwind.Table // nil: nothing is known
	start   uint64        // of its function; 0: it has none
	length  uint64        // of the call in front of it; 0: there is none
	targets []uint64      // what that calls, directly, and what is jumped to from there at once
}

// New looks at a process whose memory is mem.
func New(images *symbols.Map, tables Tables, mem io.ReaderAt, logf func(format string, args ...any)) *Stacks {
	return &Stacks{images: images, tables: tables, mem: stack{mem: mem}, unwind: make(map[*symbols.Image]*unwind.Table), places: make(map[uint64]*place), logf: logf}
}

// Prepare reads what the program itself says of its functions and their frames, for whoever has time for it: of a compiler it takes 40 ms, for which a thread
// would stand otherwise, the first that is looked at. Libraries are read when they come up, since there may be many of them.
func (s *Stacks) Prepare() {
	for _, l := range s.images.Images() {
		if l.Main {
			s.tableOf(l.Image)
			l.Image.Functions()
		}
	}
}

// Words is who has called whom where a thread is, as words of a MarkCallers; nil where nothing is known.
func (s *Stacks) Words(r *engine.Registers) []uint64 {
	out := abp.Stack{PC: r.PC}
	regs := dwarf(r)
	s.mem.from(r.General[x86.RSP])
	in, called := s.at(r.PC, false), false
	for len(out.Frames) < most && in.table != nil {
		step, how := in.table.Caller(&regs, in.in.Bias, called, &s.mem)
		out.Whole = how == unwind.Last
		if how != unwind.Found || step.Slot&7 != 0 {
			break
		}
		called = step.Slot != 0
		from := s.at(step.Ret, called)
		if from.in == nil {
			break
		}
		if n := len(out.Frames); !called && n > 0 { // the handler returns to code that ends it, and that to where the thread was
			f := &out.Frames[n-1]
			*f = abp.StackFrame{Slot: f.Slot, Ret: step.Ret, Interrupted: true}
		} else if called {
			f := abp.StackFrame{Slot: step.Slot, Ret: step.Ret}
			if from.length != 0 {
				f.Site = step.Ret - from.length
			}
			f.Targets = from.targets
			if i := slices.Index(f.Targets, in.start); i >= 0 {
				f.Targets = f.Targets[:i]
			}
			out.Frames = append(out.Frames, f)
		} else {
			break
		}
		in = from
	}
	if len(out.Frames) == 0 && !out.Whole {
		return nil
	}
	return out.Words(nil)
}

// at looks an address up. returns: a call is in front of it, and its function is that of the call.
func (s *Stacks) at(addr uint64, returns bool) *place {
	l, own := s.images.ByAddr(addr)
	p := s.places[addr]
	if p != nil && p.in == l {
		return p
	}
	p = &place{in: l}
	if l == nil { // code that is made is at ever new addresses
		return p
	}
	s.places[addr] = p
	p.table = s.tableOf(l.Image)
	if returns {
		var target uint64
		p.length, target = s.call(addr)
		p.targets = s.jumps(target)
		own--
	}
	if fn := l.Image.Lookup(own); fn != nil {
		p.start = fn.Addr + l.Bias
		s.tables.Function(l, fn)
	}
	return p
}

// tableOf reads what an image says of its functions' frames, at first.
func (s *Stacks) tableOf(im *symbols.Image) *unwind.Table {
	t, ok := s.unwind[im]
	if !ok {
		section, at, err := im.UnwindTable()
		if err == nil && len(section) > 0 {
			t, err = unwind.Parse(section, at)
		}
		if err != nil {
			s.logf("callers of bursts in %s: %v", im.Name, err)
		}
		if sizes, err := im.GoFrames(); err != nil {
			s.logf("callers of bursts in %s: %v", im.Name, err)
		} else if sizes != nil {
			if t == nil {
				t = unwind.New()
			}
			t.Sized = sizes.Size
		}
		s.unwind[im] = t
	}
	return t
}

// dwarf puts registers in DWARF's order.
func dwarf(r *engine.Registers) (out unwind.Registers) {
	for i, n := range [x86.NumRegs]int{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15} {
		if r.Known&(1<<i) != 0 {
			out.Set(n, r.General[i])
		}
	}
	out.Set(unwind.PC, r.PC)
	return out
}
