package asm

import (
	"debug/elf"
	"fmt"
	"os"
	"strings"
	"testing"

	"alleria/engine/x86"
)

// example is an instruction with its bytes.
type example struct {
	x86.Insn
	code []byte
}

// realCode is the instructions with a memory operand of this program, which has Go's code and C's, and of the C
// library, which has every vector instruction set in it: one for all that differ in constants only.
func realCode(t *testing.T) (list []example) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	buf := make([]x86.Insn, 256)
	for _, path := range []string{self, "/lib/x86_64-linux-gnu/libc.so.6"} {
		file, err := elf.Open(path)
		if err != nil {
			t.Logf("left out: %v", err)
			continue
		}
		defer func() { _ = file.Close() }()
		text := file.Section(".text")
		code, err := text.Data()
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < len(code); {
			n, _ := x86.Decode(code[at:], text.Addr+uint64(at), buf)
			for _, in := range buf[:n] {
				one := code[at : at+int(in.Len)]
				at += len(one)
				if key := string(one[:in.ModRMOff+1]); copied(&in) && !seen[key] {
					seen[key] = true
					list = append(list, example{in, one})
				}
			}
			if n == 0 {
				at++
			}
		}
	}
	if len(list) < 1000 {
		t.Errorf("only %d instructions", len(list))
	}
	return list
}

// TestCopies rewrites real instructions, and compares all but the operand's place with the originals.
func TestCopies(t *testing.T) {
	for _, e := range realCode(t) {
		in, code := &e.Insn, e.code
		if in.Mems[0].Type != x86.MemAddress { // lea adds no segment's base
			copyWord(t, in, code)
		}
		copyReg(t, in, code)
		if in.RIPRelative() {
			copyRelative(t, in, code)
		}
	}
}

// TestIgnoredPrefixes rewrites instructions with a REX prefix that says nothing, in front of another one or of a legacy prefix.
func TestIgnoredPrefixes(t *testing.T) {
	for _, code := range [][]byte{
		{0x46, 0x4d, 0x1b, 0x3e},             // sbb r15, [r14]
		{0x40, 0x4a, 0xff, 0x01},             // inc qword [rcx]
		{0x4c, 0x4d, 0x2a, 0x4d, 0x09},       // sub r9b, [r13+9]
		{0x4d, 0x66, 0x01, 0x07},             // add [rdi], ax
		{0x4f, 0xf0, 0x48, 0x01, 0x07},       // lock add [rdi], rax
		{0x49, 0x67, 0x45, 0x66, 0x01, 0x07}, // add [edi], ax
	} {
		var one [1]x86.Insn
		if n, _ := x86.Decode(code, origin, one[:]); n != 1 {
			t.Fatalf("% x: not decoded", code)
		}
		copyWord(t, &one[0], code)
		copyReg(t, &one[0], code)
	}
}

// swap is an instruction's text with another memory operand.
func swap(text, m string) string {
	from := strings.IndexByte(text, '[')
	for from > 0 && text[from-1] != ' ' {
		from--
	}
	return text[:from] + m + text[strings.IndexByte(text, ']')+1:]
}

// copied tells instructions that the translator leads elsewhere.
func copied(in *x86.Insn) bool {
	switch in.Cat {
	case x86.CatCALL, x86.CatUNCONDBR, x86.CatCONDBR, x86.CatNOP, x86.CatWIDENOP:
		return false
	}
	return in.MemoryForm() && in.NMem == 1 && in.Mems[0].Type != x86.MemVector
}

// copyWord leads it to a word.
func copyWord(t *testing.T, in *x86.Insn, code []byte) {
	m := Word(0x4f0)
	want := strings.TrimPrefix(swap(instruction(in), text(m, size(in))), "lock ")
	check(t, fmt.Sprintf("CopyWord % x", code), func(w *Writer) { w.CopyWord(in, code, 0x4f0) }, want)
}

// size is what the memory operand's text begins with.
func size(in *x86.Insn) int {
	if in.Mems[0].Type == x86.MemAddress {
		return 0
	}
	return int(in.Mems[0].Size)
}

// copyReg gives it a register, low and high ones, if it is one of those of which the engine does that.
func copyReg(t *testing.T, in *x86.Insn, code []byte) {
	switch in.Mnem {
	case x86.MADD, x86.MSUB, x86.MAND, x86.MOR, x86.MXOR, x86.MCMP, x86.MTEST, x86.MADC, x86.MSBB, x86.MIMUL, x86.MNOT, x86.MNEG,
		x86.MINC, x86.MDEC, x86.MMUL, x86.MDIV, x86.MIDIV, x86.MTZCNT, x86.MPOPCNT:
	default:
		if in.Enc != x86.EncVEX || in.Ops[0].Class != x86.ClassGPR64 && in.Ops[0].Class != x86.ClassGPR32 {
			return
		}
	}
	for _, rm := range []x86.Reg{x86.RAX, x86.RSI, x86.R9, x86.R13} {
		var buf [32]byte
		w := New(buf[:], origin, 0)
		if !w.CopyReg(in, code, rm) {
			if !in.HighByte() || w.Pos() != 0 {
				t.Errorf("% x cannot have register %d", code, rm)
			}
			continue
		}
		want := strings.TrimPrefix(swap(instruction(in), part(rm, int(in.Mems[0].Size))), "lock ")
		check(t, fmt.Sprintf("CopyReg % x", code), func(w *Writer) { w.CopyReg(in, code, rm) }, want)
	}
}

// copyRelative moves one with an operand relative to RIP: to the same place, to a low one, to where a register
// points.
func copyRelative(t *testing.T, in *x86.Insn, code []byte) {
	with := func(m Mem) string { return swap(instruction(in), text(m, size(in))) }
	name := fmt.Sprintf("CopyDisp % x", code)
	check(t, name, func(w *Writer) { w.CopyDisp(code, int(in.DispOff), 0x100) }, with(Abs(origin+0x100+uint64(in.Len))))
	check(t, name, func(w *Writer) { w.CopyAbs(in, code, 0x7654321) }, with(Abs(0x7654321)))
	check(t, name, func(w *Writer) { w.CopyAt(in, code, x86.RSI) }, with(At(x86.RSI, 0)))
}

// TestCopyPlain copies an instruction as it is, and one with another short displacement.
func TestCopyPlain(t *testing.T) {
	check(t, "Copy", func(w *Writer) { w.Copy([]byte{0x48, 0x89, 0xd8}) }, "mov q0 q3")
	check(t, "CopyShort", func(w *Writer) { w.CopyShort([]byte{0xe2, 0x70}, 2) }, "loop @7f0000001004")
	check(t, "CopyShort", func(w *Writer) { w.CopyShort([]byte{0x67, 0xe3, 0x70}, 2) }, "jecxz @7f0000001005")
}
