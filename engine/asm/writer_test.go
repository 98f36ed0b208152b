package asm

import (
	"encoding/binary"
	"testing"

	"alleria/engine/x86"
)

// TestAlignment looks where padding puts what it is for.
func TestAlignment(t *testing.T) {
	var buf [512]byte
	for start := range 128 {
		w := New(buf[:], origin, start)
		w.AlignRel32(2)
		s := w.JccLater(IfZero)
		if a := w.AddrOf(s); a/64 != (a+3)/64 {
			t.Errorf("from %d: a displacement at %x crosses a line", start, a)
		}
		w.Seek(start)
		w.JmpLiteral(0x1122334455667788)
		if w.Pos()%8 != 0 || binary.LittleEndian.Uint64(w.Last(8)) != 0x1122334455667788 {
			t.Errorf("from %d: a literal ends at %d", start, w.Pos())
		}
	}
}

// TestPatching changes what has been written, and only that.
func TestPatching(t *testing.T) {
	var buf [32]byte
	w := New(buf[:], origin, 4)
	w.PutImm(x86.RAX, 0, 1)
	at := w.Pos() - 4
	w.Int3()
	w.Patch32(at, 7)
	if got, want := disassemble(buf[4:w.Pos()], w.Here()), "mov 8[q0+0] #7; int3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if w.Patch32(len(buf)-3, 7); !w.Full() {
		t.Error("four bytes have been patched where there is room for three")
	}
}

// TestFull drops what does not fit, and nothing before it.
func TestFull(t *testing.T) {
	buf := make([]byte, 8, 16)
	w := New(buf[:6], origin, 0)
	w.Jmp(origin)
	w.Mov(x86.RAX, x86.RBX)
	if !w.Full() || w.Pos() > 6 {
		t.Errorf("eight bytes in a stretch of six end at %d, full: %v", w.Pos(), w.Full())
	}
	if got := disassemble(buf[:5], origin); got != "jmp @7f0000001000" {
		t.Error(got)
	}
	if buf[6] != 0 || buf[7] != 0 || buf[:16][8] != 0 {
		t.Error("something was written behind the stretch")
	}
}

// TestNoAllocation holds what makes translation fast: an instruction is no work for the collector.
func TestNoAllocation(t *testing.T) {
	var buf [1 << 12]byte
	w := New(buf[:], origin, 0)
	if n := testing.AllocsPerRun(100, func() { w.Seek(0); typical(&w) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// typical is about what a recorded block of three accesses takes.
func typical(w *Writer) {
	w.StoreWord(0x20, x86.RBX)
	w.StoreWord(0x28, x86.RCX)
	w.LoadWord(x86.RBX, 0x60)
	w.LoadWord(x86.RCX, 0x68)
	w.Lea(x86.RCX, Sum(x86.RCX, x86.RBX, 1, 0))
	w.PextWord(x86.RCX, x86.RCX, 0x70)
	s := w.JrcxzLater()
	w.Link(s, w.Here()+100)
	w.PutImm(x86.RBX, 0, 4711)
	for i := range 3 {
		w.Lea(x86.RCX, Sum(x86.RSI, x86.RDI, 8, 0))
		w.Put(x86.RBX, 8*i+8, x86.RCX)
		w.Load(x86.RCX, At(x86.RSI, 16), 4)
		w.PutLow(x86.RBX, 8*i+32, x86.RCX, 4)
	}
	w.LeaDisp(x86.RBX, x86.RBX, 64)
	w.StoreWord(0x60, x86.RBX)
	w.LoadWord(x86.RBX, 0x20)
	w.LoadWord(x86.RCX, 0x28)
	w.Jmp(w.Here() + 1000)
}

// BenchmarkBlock writes a typical block: 26 instructions.
func BenchmarkBlock(b *testing.B) {
	var buf [1 << 12]byte
	w := New(buf[:], origin, 0)
	for b.Loop() {
		w.Seek(0)
		typical(&w)
	}
}
