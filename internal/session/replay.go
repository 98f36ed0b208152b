package session

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"alleria/abp"
	"alleria/abp/calls"
	"alleria/interceptors"
	"alleria/internal/capture"
	"alleria/internal/symbols"
)

// ErrReplay is wrapped by what Replay.Err says.
var ErrReplay = errors.New("the call cannot be made again")

// ErrInUse is wrapped, beside ErrReplay, where the memory is in use to which an argument points: in another process it may be free.
var ErrInUse = errors.New("the memory is in use")

// Replay is a captured call that is made again. The program starts as it does; where its main is entered, the thread gets the captured arguments, what they
// point to where that lay, and goes on in the function instead, which returns to main's caller.
type Replay struct {
	Call   *calls.Call
	Table  *calls.Table
	Images []abp.Image // of the process that was captured: addresses in them are those of this one's
	// What became of it: where the return address of the call lay, by which it is found in the new profile, or why it was not made.
	SP  uint64
	Err error
}

// isWithin tells whether a return that has left the stack pointer at sp is one from within the call that is made again, as of a function that
// calls itself: it does not end the window.
func (r *Replay) isWithin(sp uint64) bool { return r != nil && r.SP != 0 && sp <= r.SP }

// armReplay has main replaced.
func (x *intercepts) armReplay() error {
	r := x.ps.opts.Replay
	if r == nil || x.replays || x.ps.number != 1 {
		return nil
	}
	for _, l := range x.im.tables.Symbols.Images() {
		if !l.Main {
			continue
		}
		main := uint64(0)
		if fns := l.Image.Find("main", true); len(fns) > 0 {
			main = fns[0].Addr
		} else if m, err := l.Image.MainCall(); err == nil {
			main = m.Main
		}
		if main == 0 {
			r.Err = fmt.Errorf("%s has no main: %w", l.Image.Path, ErrReplay)
			return nil
		}
		r.Err = fmt.Errorf("main was not reached: %w", ErrReplay)
		x.replays = true
		made := false
		return x.im.p.Intercept(main+l.Bias, 0, &capture.Program{Jumps: true, Alter: func(m capture.Moment) *capture.Alteration {
			if made || m != capture.Entered {
				return nil
			}
			made = true
			return &capture.Alteration{Jump: true, Do: func(m capture.Alterable) []capture.Changed {
				if r.Err = x.makeCall(r, m); r.Err != nil {
					leaveMain(m)
				}
				return nil
			}}
		}})
	}
	return nil
}

// makeCall sends a thread that enters main into the function.
func (x *intercepts) makeCall(r *Replay, m capture.Alterable) error {
	f, err := x.replayed(r, m)
	if err != nil {
		return err
	}
	c, err := x.captureAs(f, r.Call.Sig)
	if err != nil {
		return err
	}
	words, cut := r.Call.EntryWords()
	if cut {
		return fmt.Errorf("the capture of its arguments was cut (maxBytes takes more): %w", ErrReplay)
	}
	got, err := capture.Restore(c.Program.Entry, words)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrReplay, err)
	}
	if err := x.relocate(r, got); err != nil {
		return err
	}
	if err := putMemory(m, got.Memory); err != nil {
		return err
	}
	return r.enter(m, f.entry, c.Program, got)
}

// leaveMain has main return at once: what the program does is not asked for.
func leaveMain(m capture.Alterable) {
	var ret [8]byte
	if n, _ := m.ReadAt(ret[:], int64(m.Stack())); n == len(ret) {
		m.Set(capture.Source{Kind: capture.GPR}, make([]byte, 8)) // rax: the exit status
		m.Go(binary.LittleEndian.Uint64(ret[:]), m.Stack()+8)
	}
}

// captureAs is the way of capturing a function in which a call of it was captured: that of one element, or of all together.
func (x *intercepts) captureAs(f *intercepted, sig *calls.Signature) (*interceptors.Capture, error) {
	var errs []error
	for _, w := range f.ways.All() {
		c, err := x.compile(f, w)
		if err == nil && (reflect.DeepEqual(c.Signature.Entry, sig.Entry) || sameSlots(c.Signature.Entry, sig.Entry)) {
			return c, nil
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("the arguments of %s are no longer captured in the same way: %w", f.name, ErrReplay)
}

// sameSlots compares what is captured, whatever the numbers of types.
func sameSlots(a, b []calls.Slot) bool {
	return slices.EqualFunc(a, b, func(s, t calls.Slot) bool {
		return s.Param == t.Param && s.Hidden == t.Hidden && slices.Equal(s.Pieces, t.Pieces)
	})
}

// replayed finds the function in the new process, the same code.
func (x *intercepts) replayed(r *Replay, m capture.Alterable) (*intercepted, error) {
	sig := r.Call.Sig
	if len(sig.Params) > 0 {
		seen := make(map[uint32]bool)
		for _, s := range sig.Entry {
			if s.Param >= 0 && int(s.Param) < len(sig.Params) {
				seen[sig.Params[s.Param].Index] = true
			}
		}
		for i := range uint32(len(seen)) {
			if !seen[i] {
				return nil, fmt.Errorf("argument %d was not captured at entry: %w", i, ErrReplay)
			}
		}
	}
	there := false
	for _, f := range x.at {
		if f.image.Path != sig.Image || f.linked() != sig.Linked && f.name != sig.Name {
			continue
		}
		there = true
		code := make([]byte, len(sig.Code))
		n, _ := m.ReadAt(code, int64(f.entry))
		if n == len(code) && sameCode(code, sig.Code) {
			return f, nil
		}
	}
	if there {
		return nil, fmt.Errorf("%s of %s is not the code that was captured: it is another build: %w", sig.Name, sig.Image, ErrReplay)
	}
	return nil, fmt.Errorf("%s of %s is not loaded when main is entered: %w", sig.Name, sig.Image, ErrReplay)
}

// sameCode compares code; breakpoints may be at its beginning in either.
func sameCode(a, b []byte) bool {
	if len(a) > 0 && len(b) > 0 && (a[0] == 0xcc || b[0] == 0xcc) {
		a, b = a[1:], b[1:]
	}
	return bytes.Equal(a, b)
}

// relocate has addresses of code and data that were not captured lead to where they are now.
func (x *intercepts) relocate(r *Replay, got *capture.Restored) error {
	k := 0
	for _, s := range r.Call.Sig.Entry {
		t := r.Table.Type(s.Type)
		for range s.Pieces {
			b := got.Values[k]
			k++
			if t.Kind != calls.Address || s.Hidden || len(b) != 8 {
				continue
			}
			addr := binary.LittleEndian.Uint64(b)
			if addr == 0 {
				continue
			}
			to, ok := x.moved(r, addr)
			if !ok {
				return fmt.Errorf("what the argument %#x points to was not captured: give its type as a Pointer: %w", addr, ErrReplay)
			}
			binary.LittleEndian.PutUint64(b, to)
		}
	}
	return nil
}

// moved is where an address within an image of the captured process is in this one.
func (x *intercepts) moved(r *Replay, addr uint64) (uint64, bool) {
	for i := range r.Images {
		old := &r.Images[i]
		if !slices.ContainsFunc(old.Segments, func(s abp.Segment) bool { return addr >= s.Start && addr < s.End }) {
			continue
		}
		k := slices.IndexFunc(x.im.tables.Symbols.Images(), func(l *symbols.Loaded) bool { return l.Image.Path == old.Path })
		if k < 0 {
			return 0, false
		}
		return addr - old.Base + x.im.tables.Symbols.Images()[k].Bias, true
	}
	return 0, false
}

// putMemory puts what pointers led to where it was.
func putMemory(m capture.Alterable, blocks []capture.Block) error {
	const page = 4096
	mapped := make(map[uint64]bool)
	for _, b := range blocks {
		for at := b.Addr &^ (page - 1); len(b.Data) > 0 && at < b.Addr+uint64(len(b.Data)); at += page {
			if mapped[at] {
				continue
			}
			if !m.Map(at, page) {
				return fmt.Errorf("an argument points to %#x, which cannot be mapped: %w: %w", at, ErrInUse, ErrReplay)
			}
			mapped[at] = true
		}
		if len(b.Data) > 0 && !m.WriteAt(b.Data, b.Addr) {
			return fmt.Errorf("memory at %#x cannot be written: %w", b.Addr, ErrReplay)
		}
	}
	return nil
}

// enter gives registers and stack what they had, and sends the thread into the function.
func (r *Replay) enter(m capture.Alterable, entry uint64, prog *capture.Program, got *capture.Restored) error {
	const below, hidden = 256, 4096 // what lies above arguments on the stack; room for a result in memory
	room := uint64(0)
	for i := range prog.Entry {
		if s := prog.Entry[i].Src; s.Kind == capture.Stack {
			room = max(room, uint64(s.N)+uint64(prog.Entry[i].Bytes))
		}
	}
	sp := m.Stack() - below - hidden - (room+15)&^15
	var ret [8]byte
	if n, _ := m.ReadAt(ret[:], int64(m.Stack())); n < len(ret) || !m.WriteAt(ret[:], sp) {
		return fmt.Errorf("its stack cannot be written: %w", ErrReplay)
	}
	word := func(x uint64) []byte { return binary.LittleEndian.AppendUint64(nil, x) }
	const rax, rdi = 0, 7
	m.Set(capture.Source{Kind: capture.GPR, N: rax}, word(8)) // vector registers, of variable arguments
	for _, s := range r.Call.Sig.Exit {
		if s.Hidden && s.Param == calls.ResultParam {
			m.Set(capture.Source{Kind: capture.GPR, N: rdi}, word(m.Stack()-hidden))
		}
	}
	for i := range prog.Entry {
		src := prog.Entry[i].Src
		ok := false
		if src.Kind == capture.Stack {
			ok = m.WriteAt(got.Values[i], sp+8+uint64(src.N))
		} else {
			ok = m.Set(src, got.Values[i])
		}
		if !ok {
			return fmt.Errorf("argument %d cannot be set: %w", i, ErrReplay)
		}
	}
	r.SP = sp
	m.Go(entry, sp)
	return nil
}
