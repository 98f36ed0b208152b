package asm

import (
	"fmt"
	"strings"
	"testing"

	"alleria/engine/x86"
)

// The decoder is Zydis's: what it says of the bytes is an opinion that nobody here wrote.

// origin is where the code under test lies: RIP-relative operands and branches count from it.
const origin = 0x7f0000001000

// check decodes what emit writes and compares it with want: instructions separated by "; ".
func check(t *testing.T, name string, emit func(w *Writer), want string) {
	t.Helper()
	var buf [64]byte
	w := New(buf[:], origin, 0)
	emit(&w)
	if got := disassemble(buf[:w.Pos()], origin); got != want {
		t.Errorf("%s: % x is\n\t%s\nwant\n\t%s", name, buf[:w.Pos()], got, want)
	}
	// With a byte less of room nothing is written past it, and the Writer says so.
	short := New(make([]byte, w.Pos()-1), origin, 0)
	emit(&short)
	if !short.Full() {
		t.Errorf("%s: a byte has no room, and nobody said so", name)
	}
}

// disassemble writes instructions as text, with the same kind of name for all registers: q5 is
// the whole general register 5, d5, w5 and b5 are parts of it, x, y and z vector registers, k masks. Operands
// that an assembler would not be told are left out. A flags mark says that it changes flags.
func disassemble(code []byte, addr uint64) string {
	var lines []string
	for len(code) > 0 {
		var in [1]x86.Insn
		if n, _ := x86.Decode(code, addr, in[:]); n != 1 {
			return strings.Join(append(lines, fmt.Sprintf("no instruction: % x", code)), "; ")
		}
		lines = append(lines, instruction(&in[0]))
		code, addr = code[in[0].Len:], in[0].Next()
	}
	return strings.Join(lines, "; ")
}

// instruction is one of them.
func instruction(in *x86.Insn) string {
	var b strings.Builder
	if in.Has(x86.AttrLock) {
		b.WriteString("lock ")
	}
	b.WriteString(strings.ToLower(in.ClassName()))
	if in.FlagsWrite != 0 {
		b.WriteByte('!')
	}
	// FormName tells what an assembler would be told, after the class.
	_, form, _ := strings.Cut(in.FormName(), strings.ToUpper(in.ClassName()))
	mems, visible := 0, min(strings.Count(strings.TrimPrefix(form, "_LOCK"), "_"), len(in.Ops))
	for i := range in.Ops[:visible] {
		op := &in.Ops[i]
		var s string
		switch op.Kind {
		case x86.OpReg:
			if in.Enc == x86.EncEVEX && op.Class == x86.ClassMask {
				continue // said with the first operand
			}
			s = register(op)
		case x86.OpMem:
			m := &in.Mems[mems]
			mems++
			if m.Hidden != 0 {
				continue
			}
			s = memory(in, m)
		case x86.OpImm:
			s = fmt.Sprintf("#%x", uint64(in.Imm))
			if in.OpBits == 32 {
				s = fmt.Sprintf("#%x", uint32(in.Imm))
			}
			switch in.Cat {
			case x86.CatCALL, x86.CatUNCONDBR, x86.CatCONDBR:
				s = fmt.Sprintf("@%x", in.Target())
			}
		}
		b.WriteString(" " + s)
		if i == 0 && in.Enc == x86.EncEVEX && in.MaskReg != 0 {
			fmt.Fprintf(&b, " {k%d}", in.MaskReg)
			if in.MaskMode != x86.MaskMerging {
				b.WriteString("{z}")
			}
		}
	}
	return b.String()
}

func register(op *x86.Op) string {
	names := map[uint8]string{
		x86.ClassGPR8: "b", x86.ClassGPR8H: "h", x86.ClassGPR16: "w", x86.ClassGPR32: "d", x86.ClassGPR64: "q",
		x86.ClassMMX: "mm", x86.ClassXMM: "x", x86.ClassYMM: "y", x86.ClassZMM: "z", x86.ClassMask: "k",
	}
	return fmt.Sprint(names[op.Class], op.ID)
}

func memory(in *x86.Insn, m *x86.Mem) string {
	s := fmt.Sprintf("%d[", m.Size)
	if m.Type == x86.MemAddress {
		s = "0["
	}
	switch m.Seg {
	case x86.SegFS:
		s += "fs:"
	case x86.SegGS:
		s += "gs:"
	}
	if in.AddrBits == 32 {
		s += "32:"
	}
	disp := m.Disp
	switch {
	case m.Base == x86.RIP:
		disp += int64(in.Next())
	case m.Base != x86.NoReg:
		s += fmt.Sprintf("q%d+", m.Base)
	}
	if m.Index != x86.NoReg {
		s += fmt.Sprintf("q%d*%d+", m.Index, m.Scale)
	}
	return s + fmt.Sprintf("%x]", disp)
}

// text is how memory prints an operand of so many bytes.
func text(m Mem, size int) string {
	s := fmt.Sprintf("%d[", size)
	switch m.Seg {
	case x86.SegFS:
		s += "fs:"
	case x86.SegGS:
		s += "gs:"
	}
	if m.Addr32 {
		s += "32:"
	}
	if m.Base != x86.NoReg && m.Base != x86.RIP {
		s += fmt.Sprintf("q%d+", m.Base)
	}
	if m.Index != x86.NoReg {
		s += fmt.Sprintf("q%d*%d+", m.Index, max(m.Scale, 1))
	}
	return s + fmt.Sprintf("%x]", m.Disp)
}

// operands are memory operands of all shapes: each base and index, all scales, displacements at the
// ends of their forms, segments.
func operands() []Mem {
	disps := []int{0, 1, -1, 127, 128, -128, -129, 1<<31 - 1, -1 << 31}
	list := []Mem{Abs(0), Abs(0x1234), Abs(1<<31 - 1), Abs(origin + 0x5000), Abs(origin - 0x70000000), Word(0), Word(0x58), WordBy(0x1000, x86.RCX, 2)}
	for base := x86.RAX; base < x86.RIP; base++ {
		for _, d := range disps {
			list = append(list, At(base, d))
		}
		for index := x86.RAX; index < x86.RIP; index++ {
			if index == x86.RSP {
				continue // no index
			}
			list = append(list, Sum(base, index, 1<<(index&3), disps[int(base+index)%len(disps)]))
		}
		list = append(list, Mem{Base: base, Index: x86.NoReg, Seg: x86.SegFS, Disp: 0x10}, Mem{Base: base, Index: x86.NoReg, Addr32: true, Disp: 7},
			Mem{Base: base, Index: base ^ 1, Scale: 8, Seg: x86.SegFS, Addr32: true})
		if base != x86.RSP {
			list = append(list, WordBy(0x100, base, 8), Sum(x86.NoReg, base, 4, -5))
		}
	}
	return list[:]
}

// usable leaves out what the last entry of operands makes for rbp's neighbour: rsp as an index.
func usable(m Mem) bool { return m.Index != x86.RSP }

// part names the low bytes of a general register.
func part(r x86.Reg, size int) string {
	return fmt.Sprint(map[int]string{1: "b", 2: "w", 4: "d", 8: "q"}[size], int(r))
}

// vector names a vector register of so many bytes.
func vector(v uint8, size int) string {
	switch {
	case size > 32:
		return fmt.Sprint("z", v)
	case size > 16:
		return fmt.Sprint("y", v)
	}
	return fmt.Sprint("x", v)
}
