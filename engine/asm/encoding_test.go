package asm

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"alleria/engine/x86"
)

// encoding is one call of a method and what the decoder must say of it. Its name begins with the
// method's.
type encoding struct {
	name string
	emit func(w *Writer)
	want string
}

// list collects encodings.
type list []encoding

func (l *list) add(want string, emit func(w *Writer), name string, arg ...any) {
	*l = append(*l, encoding{name + fmt.Sprint(arg...), emit, want})
}

// encodings is every method with every register and shape of operand that it takes.
func encodings() []encoding {
	var l list
	for r := x86.RAX; r < x86.RIP; r++ {
		l.oneRegister(r)
		for s := x86.RAX; s < x86.RIP; s++ {
			l.twoRegisters(r, s)
		}
	}
	for i, m := range operands() {
		if usable(m) {
			l.memory(m, x86.Reg(i%16))
			l.vectors(m, uint8(i))
		}
	}
	l.words()
	l.branches()
	l.fixed()
	return l
}

// TestDecoded decodes everything that a Writer can write.
func TestDecoded(t *testing.T) {
	all := encodings()
	for i := range all {
		check(t, all[i].name, all[i].emit, all[i].want)
	}
	covered := map[string]bool{}
	for _, e := range all {
		covered[e.name[:strings.IndexAny(e.name+" ", " ")]] = true
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[*Writer](), reflect.TypeFor[Masked]()} {
		for i := range typ.NumMethod() {
			switch name := typ.Method(i).Name; name {
			case "Here", "Pos", "Seek", "Full", "Last", "Patch32", "Uint64", "AddrOf", "Link", "Land", "Align8", "AlignRel32",
				"Copy", "CopyDisp", "CopyAbs", "CopyAt", "CopyReg", "CopyWord", "CopyShort": // copy_test.go, writer_test.go
			default:
				if !covered[name] && !covered["Masked."+name] {
					t.Errorf("nothing decodes what %s writes", name)
				}
			}
		}
	}
}

func (l *list) oneRegister(r x86.Reg) {
	q, d, b := part(r, 8), part(r, 4), part(r, 1)
	for _, v := range []uint64{0, 1, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
		l.add(fmt.Sprintf("mov %s #%x", d, v), func(w *Writer) { w.MovImm(r, v) }, "MovImm ", r, v)
	}
	for _, v := range []uint64{^uint64(0), 1 << 32, 1<<64 - 1<<31, 1<<64 - 1<<31 - 1, 0x123456789abcdef0} {
		l.add(fmt.Sprintf("mov %s #%x", q, v), func(w *Writer) { w.MovImm(r, v) }, "MovImm ", r, v)
	}
	l.add(fmt.Sprintf("mov %s #1", q), func(w *Writer) { w.MovImm64(r, 1) }, "MovImm64 ", r)
	l.add("push "+q, func(w *Writer) { w.Push(r) }, "Push ", r)
	l.add("pop "+q, func(w *Writer) { w.Pop(r) }, "Pop ", r)
	l.add("not "+q, func(w *Writer) { w.Not(r) }, "Not ", r)
	l.add("bswap "+q, func(w *Writer) { w.Bswap(r) }, "Bswap ", r)
	l.add("dec! "+q, func(w *Writer) { w.Dec(r) }, "Dec ", r)
	l.add(fmt.Sprintf("xor! %s %s", d, d), func(w *Writer) { w.Clear32(r) }, "Clear32 ", r)
	l.add(fmt.Sprintf("cmp! %s #1234567", q), func(w *Writer) { w.CmpImm(r, 0x1234567) }, "CmpImm ", r)
	l.add(fmt.Sprintf("and! %s #ff", d), func(w *Writer) { w.AndImm32(r, 255) }, "AndImm32 ", r)
	l.add(fmt.Sprintf("test! %s #1f", b), func(w *Writer) { w.TestLow(r, 0x1f) }, "TestLow ", r)
	l.add(fmt.Sprintf("shr! %s #1d", q), func(w *Writer) { w.ShrImm(r, 29) }, "ShrImm ", r)
	l.add(fmt.Sprintf("test! %s %s", q, q), func(w *Writer) { w.TestSelf(r) }, "TestSelf ", r)
	l.add("setnz "+b, func(w *Writer) { w.SetCond(IfNotZero, r) }, "SetCond ", r)
	l.add(fmt.Sprintf("movzx %s %s", d, b), func(w *Writer) { w.ZeroExtend(r, 1) }, "ZeroExtend ", r)
	l.add(fmt.Sprintf("movzx %s %s", d, part(r, 2)), func(w *Writer) { w.ZeroExtend(r, 2) }, "ZeroExtend ", r)
	l.add(fmt.Sprintf("lea %s 0[%x]", q, origin+0x100), func(w *Writer) { w.LeaCode(r, origin+0x100) }, "LeaCode ", r)
	for _, size := range []int{1, 2, 4, 8} {
		l.add(fmt.Sprintf("mov %s %s", part(x86.RAX, size), part(r, size)), func(w *Writer) { w.MovToRAX(size, r) }, "MovToRAX ", r, size)
		l.add(fmt.Sprintf("cmp! %s %s", part(x86.RAX, size), part(r, size)), func(w *Writer) { w.CmpRAX(size, r) }, "CmpRAX ", r, size)
	}
	for k := range uint8(8) {
		l.add(fmt.Sprintf("kmovw %s k%d", d, k), func(w *Writer) { w.MoveMask16(r, k) }, "MoveMask16 ", r, k)
		l.add(fmt.Sprintf("kmovq %s k%d", q, k), func(w *Writer) { w.MoveMask64(r, k) }, "MoveMask64 ", r, k)
		l.add(fmt.Sprintf("pmovmskb %s mm%d", d, k), func(w *Writer) { w.MmxSigns(r, k) }, "MmxSigns ", r, k)
	}
	for v := range uint8(16) {
		l.add(fmt.Sprintf("pmovmskb %s x%d", d, v), func(w *Writer) { w.SseSigns(r, v) }, "SseSigns ", r, v)
		l.add(fmt.Sprintf("vmovmskps %s x%d", d, v), func(w *Writer) { w.AvxSigns(r, v, 4, false) }, "AvxSigns ", r, v)
		l.add(fmt.Sprintf("vmovmskps %s y%d", d, v), func(w *Writer) { w.AvxSigns(r, v, 4, true) }, "AvxSigns ", r, v)
		l.add(fmt.Sprintf("vmovmskpd %s x%d", d, v), func(w *Writer) { w.AvxSigns(r, v, 8, false) }, "AvxSigns ", r, v)
		l.add(fmt.Sprintf("vmovmskpd %s y%d", d, v), func(w *Writer) { w.AvxSigns(r, v, 8, true) }, "AvxSigns ", r, v)
		l.add(fmt.Sprintf("pand x%d x%d", v, r&15), func(w *Writer) { w.SseAnd(v, uint8(r&15)) }, "SseAnd ", r, v)
		l.add(fmt.Sprintf("psrldq x%d #%x", v, 1+uint8(r&7)), func(w *Writer) { w.SseShiftDown(v, 1+uint8(r&7)) }, "SseShiftDown ", r, v)
		l.add(fmt.Sprintf("pslldq x%d #%x", v, 1+uint8(r&7)), func(w *Writer) { w.SseShiftUp(v, 1+uint8(r&7)) }, "SseShiftUp ", r, v)
		l.add(fmt.Sprintf("movlps 8[q%d+8] x%d", r, v), func(w *Writer) { w.SsePut(r, 8, v, false) }, "SsePut ", r, v)
		l.add(fmt.Sprintf("movhps 8[q%d+8] x%d", r, v), func(w *Writer) { w.SsePut(r, 8, v, true) }, "SsePut high ", r, v)
		l.add(fmt.Sprintf("vmovlps 8[q%d+8] x%d", r, v), func(w *Writer) { w.AvxPut(r, 8, v, false) }, "AvxPut ", r, v)
		l.add(fmt.Sprintf("vmovhps 8[q%d+8] x%d", r, v), func(w *Writer) { w.AvxPut(r, 8, v, true) }, "AvxPut high ", r, v)
	}
}

func (l *list) twoRegisters(r, s x86.Reg) {
	q, p, d, e := part(r, 8), part(s, 8), part(r, 4), part(s, 4)
	l.add("mov "+q+" "+p, func(w *Writer) { w.Mov(r, s) }, "Mov ", r, s)
	l.add("imul! "+q+" "+p, func(w *Writer) { w.Imul(r, s) }, "Imul ", r, s)
	l.add("xor! "+q+" "+p, func(w *Writer) { w.Xor(r, s) }, "Xor ", r, s)
	l.add("imul! "+q+" "+p+" #1234567", func(w *Writer) { w.ImulImm(r, s, 0x1234567) }, "ImulImm ", r, s)
	l.add("mov "+d+" "+e, func(w *Writer) { w.Mov32(r, s) }, "Mov32 ", r, s)
	l.add("mov "+d+" "+e, func(w *Writer) { w.MovLow(r, s) }, "MovLow ", r, s)
	l.add("popcnt! "+q+" "+p, func(w *Writer) { w.Popcnt(r, s) }, "Popcnt ", r, s)
	l.add("movzx "+d+" "+part(s, 1), func(w *Writer) { w.MovzxByte(r, s) }, "MovzxByte ", r, s)
	l.add("movzx "+q+" "+part(s, 1), func(w *Writer) { w.MovzxByteWide(r, s) }, "MovzxByteWide ", r, s)
	l.add("movzx "+d+" "+part(s, 2), func(w *Writer) { w.MovzxHalf(r, s) }, "MovzxHalf ", r, s)
	l.add("movsx "+q+" "+part(s, 1), func(w *Writer) { w.SignExtend(r, s, 1) }, "SignExtend ", r, s)
	l.add("movsx "+q+" "+part(s, 2), func(w *Writer) { w.SignExtend(r, s, 2) }, "SignExtend ", r, s)
	l.add("movsxd "+q+" "+e, func(w *Writer) { w.SignExtend(r, s, 4) }, "SignExtend ", r, s)
	l.add("cmovnz "+q+" "+p, func(w *Writer) { w.Cmov(IfNotZero, r, s) }, "Cmov ", r, s)
	l.add("rorx "+q+" "+p+" #38", func(w *Writer) { w.Rorx(r, s, 56) }, "Rorx ", r, s)
	l.add("lea "+q+" "+text(At(s, -9), 0), func(w *Writer) { w.LeaDisp(r, s, -9) }, "LeaDisp ", r, s)
	if r < 8 && s < 8 && s != x86.RSP {
		l.add("lea "+q+" "+text(At(s, 1), 0), func(w *Writer) { w.LeaLong(r, s, 1) }, "LeaLong ", r, s)
	}
	by := (r + s) & 15
	l.add("shrx "+q+" "+p+" "+part(by, 8), func(w *Writer) { w.Shrx(r, s, by) }, "Shrx ", r, s)
	l.add("shlx "+q+" "+p+" "+part(by, 8), func(w *Writer) { w.Shlx(r, s, by) }, "Shlx ", r, s)
	l.add("pext "+q+" "+p+" "+part(by, 8), func(w *Writer) { w.Pext(r, s, by) }, "Pext ", r, s)
	l.add("pext "+q+" "+p+" "+text(Word(0x40), 8), func(w *Writer) { w.PextWord(r, s, 0x40) }, "PextWord ", r, s)
	for _, bits := range []uint8{16, 32, 64} {
		l.add("adc! "+part(r, int(bits)/8)+" "+part(s, int(bits)/8), func(w *Writer) { w.Op(0x11, bits, r, s) }, "Op ", r, s, bits)
	}
	l.add("adc! "+part(r, 1)+" "+part(s, 1), func(w *Writer) { w.Op(0x10, 8, r, s) }, "Op ", r, s)
	l.add("mov "+text(At(r, 8), 8)+" "+p, func(w *Writer) { w.Put(r, 8, s) }, "Put ", r, s)
	l.add("mov "+p+" "+text(At(r, 8), 8), func(w *Writer) { w.Get(s, r, 8) }, "Get ", r, s)
	for _, size := range []int{1, 2, 4, 8} {
		l.add("mov "+text(At(r, 0x80), size)+" "+part(s, size), func(w *Writer) { w.PutLow(r, 0x80, s, size) }, "PutLow ", r, s, size)
	}
}

func (l *list) memory(m Mem, r x86.Reg) {
	q := part(r, 8)
	for _, size := range []int{1, 2, 4, 8} {
		t, p := text(m, size), part(r, size)
		load := map[int]string{1: "movzx " + part(r, 4), 2: "movzx " + part(r, 4), 4: "mov " + p, 8: "mov " + p}[size] + " " + t
		l.add(load, func(w *Writer) { w.Load(r, m, size) }, "Load ", m, r, size)
		l.add(load, func(w *Writer) { w.LoadRex(r, m, size) }, "LoadRex ", m, r, size)
		l.add("mov "+t+" "+p, func(w *Writer) { w.Store(m, size, r) }, "Store ", m, r, size)
		l.add("cmp! "+t+" "+p, func(w *Writer) { w.Cmp(m, size, r) }, "Cmp ", m, r, size)
		l.add("lock xadd! "+t+" "+p, func(w *Writer) { w.LockXadd(m, size, r) }, "LockXadd ", m, r, size)
		l.add("lock cmpxchg! "+t+" "+p, func(w *Writer) { w.LockCmpxchg(m, size, r) }, "LockCmpxchg ", m, r, size)
	}
	l.add("mov "+text(m, 2)+" #1234", func(w *Writer) { w.StoreImm16(m, 0x1234) }, "StoreImm16 ", m)
	l.add("test! "+text(m, 4)+" #1234", func(w *Writer) { w.TestBits(m, 4, 0x1234) }, "TestBits ", m, 4)
	l.add("test! "+text(m, 2)+" #1234", func(w *Writer) { w.TestBits(m, 2, 0x1234) }, "TestBits ", m, 2)
	l.add("lock dec! "+text(m, 8), func(w *Writer) { w.LockDec(m) }, "LockDec ", m)
	l.add("stmxcsr "+text(m, 4), func(w *Writer) { w.Stmxcsr(m) }, "Stmxcsr ", m)
	l.add("fxsave64 "+text(m, 512), func(w *Writer) { w.Fxsave64(m) }, "Fxsave64 ", m)
	if m.Seg == x86.SegNone && !m.Addr32 {
		l.add("lea "+q+" "+text(m, 0), func(w *Writer) { w.Lea(r, m) }, "Lea ", m, r)
		l.add("lea "+q+" "+text(m, 0), func(w *Writer) { w.LeaBits(r, m, 64) }, "LeaBits ", m, r)
		l.add("lea "+part(r, 4)+" "+text(m, 0), func(w *Writer) { w.LeaBits(r, m, 32) }, "LeaBits ", m, r)
		if m.Base < x86.RIP && m.Base >= 0 && m.Index == x86.NoReg {
			l.add("mov "+text(m, 8)+" #ffffffffffffffff", func(w *Writer) { w.PutImm(m.Base, int(m.Disp), 1<<32-1) }, "PutImm ", m)
			l.add("setnle "+text(m, 1), func(w *Writer) { w.PutCond(CondOf(0x7f), m.Base, int(m.Disp)) }, "PutCond ", m)
		}
	}
}

func (l *list) vectors(m Mem, n uint8) {
	v, mm := n&15, n&7
	for _, aligned := range []bool{false, true} {
		name := map[bool]string{false: "movups", true: "movaps"}[aligned]
		l.add(fmt.Sprintf("%s x%d %s", name, v, text(m, 16)), func(w *Writer) { w.SseLoad(v, m, aligned) }, "SseLoad ", m, v)
		l.add(fmt.Sprintf("%s %s x%d", name, text(m, 16), v), func(w *Writer) { w.SseStore(m, v, aligned) }, "SseStore ", m, v)
	}
	l.add(fmt.Sprintf("pshufd x%d %s #e4", v, text(m, 16)), func(w *Writer) { w.SseLoadOperand(v, m) }, "SseLoadOperand ", m, v)
	l.add(fmt.Sprintf("pcmpeqb x%d %s", v, text(m, 16)), func(w *Writer) { w.SseEqualBytes(v, m) }, "SseEqualBytes ", m, v)
	l.add(fmt.Sprintf("movq %s mm%d", text(m, 8), mm), func(w *Writer) { w.MmxStore(m, mm) }, "MmxStore ", m, mm)
	for _, size := range []int{16, 32} {
		l.add("vmovdqu "+vector(v, size)+" "+text(m, size), func(w *Writer) { w.AvxLoad(v, m, size) }, "AvxLoad ", m, v, size)
		l.add("vmovdqu "+text(m, size)+" "+vector(v, size), func(w *Writer) { w.AvxStore(m, v, size) }, "AvxStore ", m, v, size)
	}
	h, k := n&31, n&7
	for _, size := range []int{16, 32, 64} {
		l.add("vmovdqu64 "+vector(h, size)+" "+text(m, size), func(w *Writer) { w.EvexLoad(h, m, size) }, "EvexLoad ", m, h, size)
		l.add("vmovdqu64 "+text(m, size)+" "+vector(h, size), func(w *Writer) { w.EvexStore(m, h, size) }, "EvexStore ", m, h, size)
		for i, elem := range []int{1, 2, 4, 8} {
			letter := "bwdq"[i : i+1]
			a := Masked{V: h, K: k, Elem: elem, Size: size}
			dst := masked(vector(h, size), k)
			l.add(fmt.Sprintf("vmovdqu%d %s %s", 8*elem, dst, text(m, size)), func(w *Writer) { a.Load(w, m) }, "Masked.Load ", a, m)
			l.add("vpexpand"+letter+" "+dst+" "+text(m, size), func(w *Writer) { a.Expand(w, m) }, "Masked.Expand ", a, m)
			l.add("vpbroadcast"+letter+" "+dst+" "+text(m, elem), func(w *Writer) { a.Broadcast(w, m) }, "Masked.Broadcast ", a, m)
			if k != 0 {
				l.add("vpcompress"+letter+" "+dst+" "+vector(h, size), func(w *Writer) { a.Compress(w) }, "Masked.Compress ", a)
			}
		}
	}
	for elem, name := range map[int]string{4: "vmovss", 8: "vmovsd"} {
		a := Masked{V: h, K: k, Elem: elem, Size: elem}
		l.add(name+" "+masked(vector(h, 16), k)+" "+text(m, elem), func(w *Writer) { a.LoadOne(w, m) }, "Masked.LoadOne ", a, m)
	}
	for _, c := range []struct {
		elem, lanes int
		up, down    string
	}{{1, 8, "vpmovzxbw", "vpmovwb"}, {1, 4, "vpmovzxbd", "vpmovdb"}, {1, 2, "vpmovzxbq", "vpmovqb"},
		{2, 4, "vpmovzxwd", "vpmovdw"}, {2, 2, "vpmovzxwq", "vpmovqw"}, {4, 2, "vpmovzxdq", "vpmovqd"}} {
		a := Masked{V: h, K: k, Elem: c.elem}
		if !CanWiden(c.elem, c.lanes) {
			panic("widening")
		}
		l.add(c.up+" "+masked(vector(h, 16), k)+" "+text(m, c.elem*c.lanes), func(w *Writer) { a.Widen(w, m, c.lanes) }, "Masked.Widen ", a, m)
		l.add(c.down+" "+vector(h, 16)+" "+vector(h, 16), func(w *Writer) { a.Narrow(w, c.lanes) }, "Masked.Narrow ", a)
	}
}

// masked is a register with its mask, as the decoder's first operands.
func masked(v string, k uint8) string {
	if k == 0 {
		return v
	}
	return fmt.Sprintf("%s {k%d}{z}", v, k)
}

func (l *list) words() {
	for r := x86.RAX; r < x86.RIP; r++ {
		for _, off := range []int{0, 8, 0x7fff0} {
			q, t := part(r, 8), text(Word(off), 8)
			l.add("mov "+t+" "+q, func(w *Writer) { w.StoreWord(off, r) }, "StoreWord ", off, r)
			l.add("mov "+q+" "+t, func(w *Writer) { w.LoadWord(r, off) }, "LoadWord ", off, r)
			l.add("mov "+text(Word(off), 4)+" "+part(r, 4), func(w *Writer) { w.StoreWord32(off, r) }, "StoreWord32 ", off, r)
			l.add("cmp! "+q+" "+t, func(w *Writer) { w.CmpWord(r, off) }, "CmpWord ", off, r)
			l.add("movsx "+q+" "+text(Word(off), 1), func(w *Writer) { w.MovsxByteWord(r, off) }, "MovsxByteWord ", off, r)
			if r != x86.RSP {
				l.add("jmp "+text(WordBy(off, r, 8), 8), func(w *Writer) { w.JmpTable(off, r) }, "JmpTable ", off, r)
			}
		}
	}
	w8 := text(Word(0x40), 8)
	l.add("mov "+text(Word(0x40), 4)+" #12345678", func(w *Writer) { w.StoreWordImm(0x40, 0x12345678) }, "StoreWordImm ")
	l.add("add! "+w8+" #1", func(w *Writer) { w.IncWord(0x40) }, "IncWord ")
	for _, n := range []uint32{0, 1, 127, 128, 1<<31 - 1} {
		l.add(fmt.Sprintf("sub! %s #%x", w8, n), func(w *Writer) { w.SubWord(0x40, n) }, "SubWord ", n)
	}
	l.add("cmp! "+text(Word(0x40), 4)+" #1234", func(w *Writer) { w.CmpWordImm(0x40, 0x1234) }, "CmpWordImm ")
	l.add("bt! "+text(Word(0x40), 4)+" #8", func(w *Writer) { w.BitWord(0x40, 8) }, "BitWord ")
	l.add("jmp "+w8, func(w *Writer) { w.JmpWord(0x40) }, "JmpWord ")
}

// branches are made with their targets set, as callers do.
func (l *list) branches() {
	const to = origin + 0x12345
	later := func(f func(w *Writer) Site) func(w *Writer) {
		return func(w *Writer) { w.Link(f(w), to) }
	}
	jmp, behind := fmt.Sprintf("@%x", to), func(n uint64) string { return fmt.Sprintf("@%x", origin+n) }
	l.add("jmp "+jmp, func(w *Writer) { w.Jmp(to) }, "Jmp ")
	l.add("jmp "+jmp, later((*Writer).JmpLater), "JmpLater ")
	l.add("call "+jmp, later((*Writer).CallLater), "CallLater ")
	names := []string{"o", "no", "b", "nb", "z", "nz", "be", "nbe", "s", "ns", "p", "np", "l", "nl", "le", "nle"}
	for c, name := range names {
		l.add("j"+name+" "+jmp, func(w *Writer) { w.Jcc(Cond(c), to) }, "Jcc ", c)
		l.add("j"+name+" "+jmp, later(func(w *Writer) Site { return w.JccLater(CondOf(byte(0x70 + c))) }), "JccLater ", c)
		l.add("j"+names[c^1]+" "+behind(0), func(w *Writer) { w.JccBack(Cond(c).Not(), origin) }, "JccBack ", c)
	}
	l.add("jmp "+behind(3)+"; nop", func(w *Writer) { s := w.JmpShort(); w.Nop(1); w.Land(s) }, "JmpShort ")
	l.add("jrcxz "+behind(9), func(w *Writer) { w.Jrcxz(7) }, "Jrcxz ")
	l.add("jrcxz "+behind(4)+"; jmp "+behind(9)+"; jmp "+jmp, later((*Writer).JrcxzLater), "JrcxzLater ")
	l.add("jecxz "+behind(5)+"; jmp "+behind(10)+"; jmp "+jmp, later((*Writer).JecxzLater), "JecxzLater ")
	l.add("jrcxz "+behind(7)+"; jmp "+jmp, later((*Writer).JnrcxzLater), "JnrcxzLater ")
	l.add(fmt.Sprintf("push 8[%x]", to), later((*Writer).PushLiteral), "PushLiteral ")
}

func (l *list) fixed() {
	for _, c := range []struct {
		name, want string
		emit       func(w *Writer)
	}{
		{"PushImm", "push #ffffffff80000000", func(w *Writer) { w.PushImm(1 << 31) }},
		{"PushFlags", "pushfq", (*Writer).PushFlags},
		{"Lodsb", "lodsb", (*Writer).Lodsb},
		{"Movs 1", "movsb", func(w *Writer) { w.Movs(1) }},
		{"Movs 2", "movsw", func(w *Writer) { w.Movs(2) }},
		{"Movs 4", "movsd", func(w *Writer) { w.Movs(4) }},
		{"Movs 8", "movsq", func(w *Writer) { w.Movs(8) }},
		{"Rdtsc", "rdtsc", (*Writer).Rdtsc},
		{"FlagsToRAX", "lahf; seto b0", (*Writer).FlagsToRAX},
		{"FlagsFromRAX", "add! b0 #7f; sahf!", (*Writer).FlagsFromRAX},
		{"SetFlags", "mov h0 #40; sahf!", func(w *Writer) { w.SetFlags(0x40) }},
		{"Ret", "ret", func(w *Writer) { w.Ret(0) }},
		{"Ret 8", "ret #1234", func(w *Writer) { w.Ret(0x1234) }},
		{"Syscall", "syscall", (*Writer).Syscall},
		{"Int3", "int3", (*Writer).Int3},
		{"Nop 1", "nop", func(w *Writer) { w.Nop(1) }},
		{"Nop 2", "nop", func(w *Writer) { w.Nop(2) }},
		{"Nop 3", "nop 4[q0+0] d0", func(w *Writer) { w.Nop(3) }},
		{"Nop 4", "nop 4[q0+0] d0", func(w *Writer) { w.Nop(4) }},
		{"Nop 5", "nop 4[q0+q0*1+0] d0", func(w *Writer) { w.Nop(5) }},
		{"JmpLiteral", "nop; nop; jmp 8[7f0000001008]; nop", func(w *Writer) { w.JmpLiteral(0x90); w.Seek(9) }},
	} {
		l.add(c.want, c.emit, c.name)
	}
}
