package captures

import (
	"encoding/binary"
	"os"
	"reflect"
	"slices"
	"testing"

	"alleria/engine/codecache"
	"alleria/engine/probe"
	"alleria/engine/shm"
	"alleria/engine/testprogram"
	"alleria/engine/tracee"
	"alleria/engine/translate"
	"alleria/engine/x86"
	"alleria/internal/capture"
	"alleria/internal/layout"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// program is the test's own process, in whose memory calls are made that nobody executes.
type program struct {
	probe.Code // what the test does not expect panics
	tracee.Kernel
	t       *testing.T
	xstate  []byte
	inPlace int
	native  bool
	runner  *capture.Runner
}

func (p *program) Native() bool              { return p.native }
func (p *program) Freeze() (thaw func())     { return func() {} }
func (p *program) Invalidate(uint64, uint64) {}
func (p *program) Fail(err error)            { p.t.Error(err) }
func (p *program) Map(uint64, uint64) bool   { return false }
func (p *program) InPlace(f func())          { p.inPlace++; f() }
func (p *program) Runner() *capture.Runner   { return p.runner }

func (p *program) XState(_ int, b []byte) (int, error) { return copy(b, p.xstate), nil }
func (p *program) SetXState(_ int, b []byte) error     { copy(p.xstate, b); return nil }

const (
	entry, fn = uint64(0x40_1000), 7
	site      = uint64(0x40_2000)
	arg, res  = uint64(0x1122334455667788), uint64(42)
)

// call is a thread at an intercepted function.
type call struct {
	*program
	points probe.Points
	slot   *shm.Slot
	thread Thread
	stack  []uint64 // at its first word the return address lies
	regs   sys.Regs
}

// calling makes a thread that stands at the first instruction of a function which is captured as prog says.
func calling(t *testing.T, prog *capture.Program) (*call, *probe.Interception) {
	t.Helper()
	m, slot := testprogram.Shared(t)
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Close() })
	c := &call{program: &program{t: t, xstate: make([]byte, 1024), runner: new(capture.Runner)}, slot: slot, stack: []uint64{site, 0x5555}}
	probe.InitCaptureFrames(c.slot)
	var cache codecache.Cache
	cache.Init(false, nil)
	c.points = probe.New(c.program, c.program, os.Getpid(), &sys.ProcessMemory{File: mem}, &cache, &translate.Translator{}, m, probe.Off{})
	if err := c.points.Intercept(entry, fn, prog); err != nil {
		t.Fatal(err)
	}
	kernel := new(tracee.Thread)
	kernel.Init(tracee.NewStops(c.program, nil, nil, nil), nil, os.Getpid(), os.Getpid(), true)
	c.thread.Init(c.program, &c.points, kernel, mem, c.slot, false)
	c.regs = sys.Regs{Rip: entry, Rsp: uint64(reflect.ValueOf(&c.stack[0]).Pointer()), Rdi: arg}
	return c, c.points.CapturesAt(entry)
}

// written is what has come of calls: of each moment its header and its words, without the time.
func (c *call) written() (marks [][]uint64) {
	at := int(c.slot.Get(layout.ChunkCtl+layout.ChunkBase) - c.slot.Base) // of the first chunk
	for end := int(c.slot.Get(layout.Buf) - c.slot.Base); at < end; {
		_, payload := records.SplitMark(c.slot.Get(at))
		n := int(payload)
		var mark []uint64
		for i := 1; i <= n; i++ {
			mark = append(mark, c.slot.Get(at+8*i))
		}
		marks = append(marks, slices.Delete(mark, 1, 2))
		at += 8 * (n + 1)
	}
	return marks
}

// word is an item of a register's eight bytes.
func word(src capture.Source) []capture.Item { return []capture.Item{{Src: src, Bytes: 8}} }

var (
	rdi = capture.Source{Kind: capture.GPR, N: uint32(x86.RDI)}
	rax = capture.Source{Kind: capture.GPR, N: uint32(x86.RAX)}
)

// expect compares what was written with what was to be.
func (c *call) expect(want ...[]uint64) {
	c.t.Helper()
	if got := c.written(); !slices.EqualFunc(got, want, slices.Equal) {
		c.t.Errorf("written: %#x, want %#x", got, want)
	}
}

// TestCall captures a call at its entry and its return, in a thread that is stopped and in one that waits.
func TestCall(t *testing.T) {
	saved := capture.Source{Kind: capture.Saved}
	prog := &capture.Program{Saves: []capture.Source{rdi}, Entry: word(rdi), Exit: append(word(rax), word(saved)...), Returns: true}
	for _, waits := range []bool{false, true} {
		c, f := calling(t, prog)
		machine := func() *Machine {
			if !waits {
				return c.thread.Stopped(&c.regs)
			}
			for r, v := range map[x86.Reg]uint64{x86.RDI: c.regs.Rdi, x86.RAX: c.regs.Rax, x86.RSP: c.regs.Rsp} {
				c.slot.Set(layout.Save+8*int(r), v)
			}
			return c.thread.Asking()
		}
		rsp := c.regs.Rsp
		if err := c.thread.Enter(f, machine(), nil); err != nil {
			t.Fatal(err)
		}
		c.regs.Rdi, c.regs.Rax = 0, res // what it was called with has gone
		c.thread.Return(site, rsp, machine())
		c.expect([]uint64{capture.Head(capture.Entered, 0, fn), rsp, site, arg}, []uint64{capture.Head(capture.Left, 0, fn), rsp, site, res, arg})
		if c.thread.Slow() != 2 {
			t.Errorf("waits %t: %d moments captured by the tracer, want 2", waits, c.thread.Slow())
		}
		c.thread.Return(site, rsp, machine())
		if got := len(c.written()); got != 2 {
			t.Errorf("waits %t: the call returns once more", waits)
		}
	}
}

// TestLeftOtherwise has a function be left by a jump: its return is not captured, and its frame is gone.
func TestLeftOtherwise(t *testing.T) {
	c, f := calling(t, &capture.Program{Entry: word(rdi), Exit: word(rax), Returns: true})
	rsp := c.regs.Rsp
	if err := c.thread.Enter(f, c.thread.Stopped(&c.regs), nil); err != nil {
		t.Fatal(err)
	}
	c.thread.Return(site+8, rsp+8, c.thread.Stopped(&c.regs))
	c.expect([]uint64{capture.Head(capture.Entered, 0, fn), rsp, site, arg})
	if probe.TopFrame(c.slot).Sp() != layout.FrameNone {
		t.Error("the frame is still there")
	}
}

// TestNobodys: a child that shares the address space writes nothing.
func TestNobodys(t *testing.T) {
	c, f := calling(t, &capture.Program{Entry: word(rdi), Returns: true})
	c.thread.shares = true
	if err := c.thread.Enter(f, c.thread.Stopped(&c.regs), nil); err != nil {
		t.Fatal(err)
	}
	c.expect()
}

// TestChanged changes an argument in a register, one on the stack and one in a vector register, of a thread that is stopped and of one that waits.
func TestChanged(t *testing.T) {
	vector, stack := capture.Source{Kind: capture.Vector, N: 1}, capture.Source{Kind: capture.Stack}
	items := append(append(word(rdi), word(stack)...), word(vector)...)
	for _, waits := range []bool{false, true} {
		c, f := calling(t, &capture.Program{Entry: items})
		c.slot.Set(layout.Save+8*int(x86.RSP), c.regs.Rsp)
		c.slot.Set(layout.Save+8*int(x86.RDI), arg)
		m := c.thread.Stopped(&c.regs)
		if waits {
			m = c.thread.Asking()
		}
		change := capture.Changed{Param: 1, Bytes: 8, Old: arg, New: 3}
		act := &capture.Alteration{Do: func(m capture.Alterable) []capture.Changed {
			for i, src := range []capture.Source{rdi, stack, vector} {
				b := binary.LittleEndian.AppendUint64(nil, uint64(3+i))
				if !m.Set(src, b) {
					t.Errorf("source %+v is not changed", src)
				}
			}
			if rbx := (capture.Source{Kind: capture.GPR, N: uint32(x86.RBX)}); m.Set(rbx, make([]byte, 8)) {
				t.Error("a register in which nothing of a call travels is changed")
			}
			return []capture.Changed{change}
		}}
		rsp := c.regs.Rsp
		if err := c.thread.Enter(f, m, act); err != nil {
			t.Fatal(err)
		}
		want := append([]uint64{capture.Head(capture.Entered, capture.Altered, fn), rsp, site}, capture.AppendChanges(nil, []capture.Changed{change})...)
		c.expect(append(want, 3, 4, 5))
		got := c.regs.Rdi
		if waits {
			got = c.slot.Get(layout.Save + 8*int(x86.RDI))
		}
		if low := binary.LittleEndian.Uint64(c.xstate[x86.StateXMM0Off+16:]); got != 3 || c.stack[1] != 4 || low != 5 {
			t.Errorf("waits %t: the thread goes on with %d, %d and %d", waits, got, c.stack[1], low)
		}
		if c.inPlace > 0 != waits {
			t.Errorf("waits %t: stopped %d times for its vector registers", waits, c.inPlace)
		}
	}
}

// TestReplaced has a function captured by another program while a call of it is under way: that returns by its own program, until nothing is
// captured of the function any more.
func TestReplaced(t *testing.T) {
	const other = fn + 1
	saved := capture.Source{Kind: capture.Saved}
	first := &capture.Program{Saves: []capture.Source{rdi}, Entry: word(rdi), Exit: append(word(rax), word(saved)...), Returns: true}
	second := &capture.Program{Exit: word(rax), Returns: true}
	for _, ends := range []bool{false, true} {
		c, f := calling(t, first)
		rsp := c.regs.Rsp
		again := func(fn uint32, prog *capture.Program) *probe.Interception {
			if err := c.points.Intercept(entry, fn, prog); err != nil {
				t.Fatal(err)
			}
			return c.points.CapturesAt(entry)
		}
		enter := func(f *probe.Interception) {
			if err := c.thread.Enter(f, c.thread.Stopped(&c.regs), nil); err != nil {
				t.Fatal(err)
			}
		}
		enter(f)
		g := again(other, second)
		if g == f || again(fn, first) != f || again(other, second) != g {
			t.Error("a program that the function had before is another interception")
		}
		want := [][]uint64{{capture.Head(capture.Entered, 0, fn), rsp, site, arg}}
		if ends {
			c.points.Unintercept(entry)
		} else {
			want = append(want, []uint64{capture.Head(capture.Left, 0, fn), rsp, site, res, arg})
		}
		c.regs.Rax = res
		c.thread.Return(site, rsp, c.thread.Stopped(&c.regs))
		c.expect(want...)
	}
}

// TestLeft has a function not be executed: it is captured as one that returns at once, and the thread goes on behind the call.
func TestLeft(t *testing.T) {
	c, f := calling(t, &capture.Program{Entry: word(rdi), Exit: word(rax), Returns: true})
	act := &capture.Alteration{Leave: true, Do: func(m capture.Alterable) []capture.Changed {
		m.Set(rax, binary.LittleEndian.AppendUint64(nil, res))
		return nil
	}}
	rsp := c.regs.Rsp
	if err := c.thread.Enter(f, c.thread.Stopped(&c.regs), act); err != nil {
		t.Fatal(err)
	}
	c.expect([]uint64{capture.Head(capture.Entered, 0, fn), rsp, site, arg}, []uint64{capture.Head(capture.Left, 0, fn), rsp, site, res})
	if !c.thread.Skip(&c.regs) || c.regs.Rip != site || c.regs.Rsp != rsp+8 || c.regs.Rax != res {
		t.Errorf("goes on at %#x with stack %#x and result %d", c.regs.Rip, c.regs.Rsp, c.regs.Rax)
	}
	c.regs.Rsp = 8
	if c.thread.Skip(&c.regs) {
		t.Error("a thread without a stack has somewhere to return to")
	}
}

// TestTold has a function be told what one has returned, and nothing written; and sends a thread elsewhere.
func TestTold(t *testing.T) {
	var told []uint64
	c, f := calling(t, &capture.Program{Returns: true, Tell: func(result uint64) { told = append(told, result) }})
	rsp := c.regs.Rsp
	if err := c.thread.Enter(f, c.thread.Stopped(&c.regs), nil); err != nil {
		t.Fatal(err)
	}
	c.regs.Rax = res
	c.thread.Return(site, rsp, c.thread.Stopped(&c.regs))
	if c.expect(); !slices.Equal(told, []uint64{res}) {
		t.Errorf("told %d, want %d once", told, res)
	}
	m := c.thread.Stopped(&c.regs)
	act := &capture.Alteration{Jump: true, Do: func(m capture.Alterable) []capture.Changed {
		m.Go(entry+0x10, m.Stack()-64)
		return nil
	}}
	if err := c.thread.Enter(f, m, act); err != nil {
		t.Fatal(err)
	}
	if addr, stack, ok := m.Sent(); !ok || addr != entry+0x10 || stack != rsp-64 {
		t.Errorf("sent: %t, to %#x with stack %#x", ok, addr, stack)
	}
	c.expect()
}
