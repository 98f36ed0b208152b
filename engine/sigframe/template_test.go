package sigframe

import (
	"bytes"
	"encoding/binary"
	"testing"

	"alleria/internal/sys"
)

// stack is memory that a frame lies in, from its first byte on.
type stack struct {
	base uint64
	b    []byte
}

func (s *stack) ReadAt(b []byte, at int64) (int, error) { return copy(b, s.b[uint64(at)-s.base:]), nil }

// entry makes up what the kernel does for a thread with a stack pointer: the numbers are worked out by hand from get_sigframe and fpu__alloc_mathframe
// (arch/x86/kernel/signal.c, fpu/signal.c), for a state of 1,092 bytes with the word behind it.
func entry() (*stack, *Entry) {
	const below, state = 0x7fff0000, 0x7fff0000 - 128 - 1092 - 60
	s := &stack{state - 456, make([]byte, 456+1092)}
	put := func(off int, v uint64) { binary.LittleEndian.PutUint64(s.b[off:], v) }
	e := &Entry{Signal: 10, Mask: 0x40, Blocked: 0x40, Blocks: 0x240, State: make([]byte, 1088), Start: []byte{9}}
	e.Before = sys.Regs{Rip: 0x401000, Rsp: below, Rax: 5, Rbx: 6, R15: 7, Eflags: 0x646, Orig_rax: 234}
	e.In = sys.Regs{Rip: 0x402000, Rsp: s.base, Rdi: 10, Rsi: s.base + 312, Rdx: s.base + 8, Rbx: 6, R15: 7, Eflags: 0x246, Orig_rax: ^uint64(0)}
	e.Info[0] = 10
	put(0, 0x403000)  // what the handler returns to
	put(8, 7)         // uc_flags
	put(8+16+8, 2)    // no alternate stack
	put(8+40+7*8, 7)  // r15
	put(8+40+11*8, 6) // rbx
	put(8+40+13*8, 5) // rax
	put(8+40+15*8, below)
	put(8+40+16*8, 0x401000)
	put(8+40+17*8, 0x646)
	put(8+40+23*8, state)
	put(8+40+32*8, 0x40) // uc_sigmask
	s.b[312] = 10
	fx := s.b[456:]
	for i := range e.State {
		e.State[i] = byte(i)
	}
	copy(fx, e.State)
	clear(fx[416:464]) // of which the kernel writes nothing
	binary.LittleEndian.PutUint32(fx[464:], 0x46505853)
	binary.LittleEndian.PutUint32(fx[468:], 1092)
	binary.LittleEndian.PutUint64(fx[472:], 7)
	binary.LittleEndian.PutUint32(fx[480:], 1088)
	clear(fx[484:512])
	fx[512] |= 3
	binary.LittleEndian.PutUint32(fx[1088:], 0x46505845)
	return s, e
}

func TestTemplate(t *testing.T) {
	s, e := entry()
	tm, ok := Learn(s, e)
	if !ok {
		t.Fatal("nothing was learned of a frame as the kernel writes it")
	}
	for what, spoil := range map[string]func(*stack, *Entry){
		"a register in the frame":      func(s *stack, e *Entry) { s.b[8+40+11*8]++ },
		"another place":                func(s *stack, e *Entry) { e.Before.Rsp += 64 },
		"another mask":                 func(s *stack, e *Entry) { s.b[8+40+32*8]++ },
		"the state":                    func(s *stack, e *Entry) { s.b[456+100]++ },
		"a register of the handler":    func(s *stack, e *Entry) { e.In.Rbx++ },
		"flags of the handler":         func(s *stack, e *Entry) { e.In.Eflags |= 0x400 },
		"a stack that disarms":         func(s *stack, e *Entry) { s.b[8+16+11] = 0x80 },
		"a state that is none of ours": func(s *stack, e *Entry) { s.b[456+464]++ },
	} {
		s, e := entry()
		if spoil(s, e); s != nil {
			if _, ok := Learn(s, e); ok {
				t.Errorf("%s: it is learned from", what)
			}
		}
	}
	// The next one, further down, with other registers.
	before := e.Before
	before.Rsp, before.Rbx, before.Rip = before.Rsp-0x1000, 99, 0x401111
	if !tm.Fits(&before, 0x40, 0x40) || tm.Fits(&before, 0x41, 0x40) || tm.Fits(&before, 0x40, 0x41) {
		t.Error("it is for a thread with the same masks")
	}
	if got := tm.Blocks(); got != 0x200 {
		t.Errorf("the handler blocks %#x besides", got)
	}
	info := sys.Siginfo{10, 20: 3}
	made, err := tm.Build(&before, 10, &info, e.State)
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Clone(s.b)
	binary.LittleEndian.PutUint64(want[8+40+11*8:], 99)
	binary.LittleEndian.PutUint64(want[8+40+15*8:], before.Rsp)
	binary.LittleEndian.PutUint64(want[8+40+16*8:], before.Rip)
	binary.LittleEndian.PutUint64(want[8+40+23*8:], s.base+456-0x1000)
	want[312+20] = 3
	copy(want[456+416:], e.State[416:464])
	if made.At != s.base-0x1000 || !bytes.Equal(made.Bytes, want) {
		t.Errorf("a frame at %#x\n%x\nwant one at %#x\n%x", made.At, made.Bytes, s.base-0x1000, want)
	}
	if made.GapFrom != 440 || made.GapTo != 456 {
		t.Errorf("a gap from %d to %d", made.GapFrom, made.GapTo)
	}
	// A handler without a siginfo: the kernel has left there what was.
	s2, e2 := entry()
	copy(s2.b[312:440], bytes.Repeat([]byte{0xcc}, 128))
	if plain, ok := Learn(s2, e2); !ok {
		t.Error("nothing was learned of a frame without a siginfo")
	} else if made, err := plain.Build(&before, 10, &info, e.State); err != nil || made.GapFrom != 312 || made.GapTo != 456 {
		t.Errorf("%v: a gap from %d to %d", err, made.GapFrom, made.GapTo)
	}
	s2.b[312], s2.b[313], s2.b[314], s2.b[315] = 10, 0, 0, 0
	if _, ok := Learn(s2, e2); ok {
		t.Error("a siginfo that may be the kernel's is taken for none")
	}
	if made.Blocked != 0x240 || made.Regs.Rip != 0x402000 || made.Regs.Rsp != made.At || made.Regs.Rsi != made.At+312 || made.Regs.Rbx != 99 || made.Regs.Eflags != 0x246 {
		t.Errorf("in the handler %+v, %#x blocked", made.Regs, made.Blocked)
	}
	if _, err := tm.Build(&before, 10, &info, e.State[:700]); err == nil {
		t.Error("a frame of less than a state")
	}
}

// within makes an entry one that has interrupted a call with a result, and behind which the thread finds rax and rip.
func within(result int64, rax, rip uint64) (*stack, *Entry) {
	s, e := entry()
	e.Before.Rax, e.Before.Orig_rax = uint64(result), 7
	binary.LittleEndian.PutUint64(s.b[8+40+13*8:], rax)
	binary.LittleEndian.PutUint64(s.b[8+40+16*8:], rip)
	return s, e
}

// TestInterruptedCalls: what becomes of a call depends on its result, and of some on the handler, which is known once one such was seen.
func TestInterruptedCalls(t *testing.T) {
	const failed, rip = ^uint64(3), 0x401000
	for _, c := range []struct {
		result   int64
		rax, rip uint64
	}{
		{-512, 7, rip - 2}, {-512, failed, rip}, {-513, 7, rip - 2}, {-514, failed, rip}, {-516, failed, rip}, {-4, failed, rip}, {3, 3, rip},
	} {
		s, e := within(c.result, c.rax, c.rip)
		tm, ok := Learn(s, e)
		if !ok {
			t.Errorf("%d: nothing was learned", c.result)
			continue
		}
		made, err := tm.Build(&e.Before, 10, &e.Info, e.State)
		if err != nil || !bytes.Equal(made.Bytes[:312], s.b[:312]) || made.Regs.Orig_rax != ^uint64(0) {
			t.Errorf("%d: another frame, %v", c.result, err)
		}
		if _, e := within(-512, 0, 0); tm.Fits(&e.Before, 0x40, 0x40) != (c.result == -512) {
			t.Errorf("%d: whether the handler has calls made again is known: %v", c.result, c.result != -512)
		}
	}
	for _, c := range []struct {
		result   int64
		rax, rip uint64
	}{{-513, failed, rip}, {-514, 7, rip - 2}, {-516, 7, rip - 2}, {-512, 7, rip}, {-4, 7, rip - 2}} {
		if _, ok := Learn(within(c.result, c.rax, c.rip)); ok {
			t.Errorf("%d: learned from what is none of the kernel's", c.result)
		}
	}
	s, e := within(-512, failed, rip)
	knows, _ := Learn(s, e)
	s, e = entry()
	tm, _ := Learn(s, e)
	tm.Inherit(nil)
	if _, e := within(-512, 0, 0); tm.Fits(&e.Before, 0x40, 0x40) {
		t.Error("it knows of calls that none was seen of")
	} else if tm.Inherit(knows); !tm.Fits(&e.Before, 0x40, 0x40) {
		t.Error("what the template before knew is forgotten")
	} else if made, err := tm.Build(&e.Before, 10, &e.Info, e.State); err != nil || binary.LittleEndian.Uint64(made.Bytes[8+40+13*8:]) != failed {
		t.Errorf("the call is made again, %v", err)
	}
	// A call has set another mask for its own time: the frame holds the one that comes behind it.
	s, e = within(-514, failed, rip)
	e.Blocked = 0x1000
	if tm, ok := Learn(s, e); !ok || !tm.Fits(&e.Before, 0x40, 0x1000) || tm.Fits(&e.Before, 0x40, 0x40) || tm.Blocks() != 0x240 {
		t.Error("a call with a mask of its own")
	}
}
