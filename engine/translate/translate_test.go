package translate

import (
	"bytes"
	"testing"

	"alleria/engine/codecache"
	"alleria/engine/testprogram"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
)

const codeAt = testprogram.CodeAt

// program is a few bytes of code at codeAt, of whose instructions all is recorded.
type program struct {
	testprogram.Program
	planned int
}

func (g *program) Point(uint64) (Point, bool) { return Point{}, false }
func (g *program) Captures() Captures         { return Captures{} }
func (g *program) Plan(_ int, ins []x86.Insn, want []Want) uint32 {
	g.planned++
	for i := range ins {
		want[i].Flags = records.InsRecorded | records.InsAddrs
	}
	return 7
}

// translator makes a translator for code, and its cache.
func translator(t *testing.T, code []byte) (*Translator, *codecache.Cache, *program) {
	t.Helper()
	c := testprogram.Cache(t)
	g := &program{Program: testprogram.Program{Code: code}}
	s := Settings{Switches: Switches{NoHuge: true}, Budgets: Budgets{Words: layout.BudgetWords}}
	u := new(Translator)
	u.Init(c, g, new(x86.Decoder), s)
	return u, c, g
}

// written decodes the code of a block.
func written(t *testing.T, c *codecache.Cache, b *codecache.Block) (ins []x86.Insn, code []byte) {
	t.Helper()
	r := c.Regions[0]
	code = r.Mem[b.Code-r.Base:][:b.Size]
	for at := 0; at < len(code); {
		var one [1]x86.Insn
		n, _ := x86.Decode(code[at:], b.Code+uint64(at), one[:])
		if n == 0 {
			t.Fatalf("no instruction at %#x in %x", at, code)
		}
		ins = append(ins, one[0])
		at += int(one[0].Len)
	}
	return ins, code
}

// sum is: add eax, 2; mov [rsp-8], eax; jmp to itself.
var sum = []byte{0x83, 0xc0, 0x02, 0x89, 0x44, 0x24, 0xf8, 0xeb, 0xf7}

// TestPlain has the instructions as they were, and the loop linked to the block itself.
func TestPlain(t *testing.T) {
	u, c, g := translator(t, sum)
	b := u.Translate(codeAt, codecache.Plain)
	if b == nil || c.BlockOf(codeAt, codecache.Plain) != b {
		t.Fatalf("no block: %v", b)
	}
	if _, code := written(t, c, b); !bytes.HasPrefix(code, sum[:7]) {
		t.Errorf("the instructions are %x", code)
	}
	var jump [1]x86.Insn // behind the block: it goes on there with what the jump leads to
	end := b.Code + uint64(b.Size)
	x86.Decode(c.Regions[0].Mem[end-testprogram.RegionAt:][:15], end, jump[:])
	if jump[0].Cat != x86.CatUNCONDBR || jump[0].Target() != b.Code {
		t.Errorf("the jump leads to %#x, the block is at %#x", jump[0].Target(), b.Code)
	}
	if g.planned > 0 {
		t.Errorf("planned %d times", g.planned)
	}
}

// TestCount has the increment of the block's counter in front.
func TestCount(t *testing.T) {
	u, c, _ := translator(t, sum)
	b := u.Translate(codeAt, codecache.Count)
	ins, code := written(t, c, b)
	if ins[0].Mnem != x86.MADD || !ins[0].Has(x86.AttrGS) || !bytes.Contains(code, sum[:7]) {
		t.Errorf("begins with %v: %x", ins[0].Mnem, code)
	}
	if c.Counters.N != 1 || *c.Counters.At(0) != b.Num {
		t.Errorf("%d counters", c.Counters.N)
	}
}

// TestRecord asks for a plan and enters the block's facts.
func TestRecord(t *testing.T) {
	u, c, g := translator(t, sum)
	u.NoSuper = true
	b := u.Translate(codeAt, codecache.Record)
	if g.planned != 1 || b.Rec.ID == 0 {
		t.Fatalf("planned %d times, facts %d", g.planned, b.Rec.ID)
	}
	f := c.Facts.Get(b.Rec.ID)
	if f == nil || f.Addr != codeAt || f.Image != 7 || len(f.Ins) != 3 || !bytes.Equal(f.Code, sum) {
		t.Fatalf("facts: %+v", f)
	}
	if a := f.Ins[1].Accesses; len(a) != 1 || !a[0].Store || a[0].Size != 4 || a[0].Offset != -8 {
		t.Errorf("accesses: %+v", a)
	}
	if _, code := written(t, c, b); !bytes.Contains(code, sum[3:7]) {
		t.Errorf("the store is not there: %x", code)
	}
}

// TestFewAddresses has words for return addresses and for what words say the number of, and of all else how large it is.
func TestFewAddresses(t *testing.T) {
	// mov [rbx+4], eax; push fs:[rdx]; rep movsb; call behind
	code := []byte{0x89, 0x43, 0x04, 0x64, 0xff, 0x32, 0xf3, 0xa4, 0xe8, 0, 0, 0, 0}
	var words [2]int
	for i := range words {
		u, c, _ := translator(t, code)
		u.NoSuper, u.FewAddresses = true, i > 0
		f := c.Facts.Get(u.Translate(codeAt, codecache.Record).Rec.ID)
		if f == nil || len(f.Ins) != 4 {
			t.Fatalf("facts: %+v", f)
		}
		words[i] = f.Words
		for k, want := range [][]records.Access{{{Store: true, Size: 4}}, {{Size: 8}, {Store: true, Size: 8}}} {
			for n, a := range f.Ins[k].Accesses {
				if w := want[n]; a.Store != w.Store || a.Size != w.Size || i > 0 && (a.Word != records.NoWord || a.Offset != 0 || a.Seg != records.SegNone) {
					t.Errorf("access %d of %d: %+v", n, k, a)
				}
			}
		}
		if a := f.Ins[3].Accesses; len(a) != 1 || a[0].Word == records.NoWord {
			t.Errorf("call: %+v", a)
		}
		if a := f.Ins[2].Accesses; len(a) != 2 || a[0].Word == records.NoWord || a[1].AuxWord == records.NoWord {
			t.Errorf("string: %+v", a)
		}
	}
	if words != [2]int{5 + 2, 5} {
		t.Errorf("words: %d", words)
	}
}

// TestPointersOfHalves saves the register in which the pointers of a repeated string instruction with 32-bit addresses are cut.
func TestPointersOfHalves(t *testing.T) {
	// addr32 rep movsb; add ecx, ecx; jmp to itself
	u, c, _ := translator(t, []byte{0x67, 0xf3, 0xa4, 0x01, 0xc9, 0xeb, 0xf9})
	u.NoSuper = true
	b := u.Translate(codeAt, codecache.Record)
	if !b.Rec.HasB {
		ins, _ := written(t, c, b)
		t.Errorf("borrows one register: %+v", ins)
	}
}

// TestShortBranches leaves near branches that some processors cut to 16 bits to the processor, and no others.
func TestShortBranches(t *testing.T) {
	for _, c := range []struct {
		code string
		trap bool
	}{
		{"\x66\xe8\x01\x00\x00\x00", true}, {"\x66\xe9\x01\x00\x00\x00", true}, {"\x66\xeb\x00", true}, {"\x66\x75\x00", true},
		{"\x66\x0f\x84\x00\x00\x00\x00", true}, {"\x66\xe2\x01", true}, {"\x66\xe3\x01", true}, {"\x66\xff\xe0", true},
		{"\x66\xff\xd0", true}, {"\x66\xc3", true}, {"\x66\xc2\x08\x00", true},
		{"\x75\x00", false}, {"\xe2\x01", false}, {"\xc3", false}, {"\xff\xe0", false}, {"\x66\x66\x48\xe8\x00\x00\x00\x00", false},
	} {
		for _, v := range []codecache.Variant{codecache.Plain, codecache.Record} {
			u, _, _ := translator(t, []byte(c.code+"\x90\xeb\xfd"))
			if b := u.Translate(codeAt, v); (b.Term == codecache.TermTrap) != c.trap {
				t.Errorf("% x in variant %d: ends as %d", c.code, v, b.Term)
			}
		}
	}
}

// TestSuperblock goes on along the jump: all of its stores lie at one word.
func TestSuperblock(t *testing.T) {
	u, c, _ := translator(t, sum)
	b := u.Translate(codeAt, codecache.Record)
	f := c.Facts.Get(b.Rec.ID)
	if len(f.Ins) < 6 || f.Words != 1 || f.InsAddr(3) != codeAt || int(b.Insns) != len(f.Ins) {
		t.Errorf("%d instructions, %d words, the fourth at %#x", len(f.Ins), f.Words, f.InsAddr(3))
	}
}

// TestBehind writes the code behind calls that a superblock goes along, and target checks for the returns there.
func TestBehind(t *testing.T) {
	code := []byte{
		0xe8, 0x01, 0x00, 0x00, 0x00, // call f
		0xc3,                         // ret
		0xe8, 0x01, 0x00, 0x00, 0x00, // f: call g
		0xc3,       // ret
		0x50, 0xc3, // g: push rax; ret
	}
	for _, off := range []bool{false, true} {
		u, c, g := translator(t, code)
		u.NoBehind = off
		if b := u.Translate(codeAt, codecache.Record); b.Insns != 4 {
			t.Fatalf("%d instructions in one superblock", b.Insns)
		}
		for _, ret := range []uint64{codeAt + 5, codeAt + 11} {
			if there := c.BlockOf(ret, codecache.Record) != nil && c.HasCheck(ret, codecache.Record); there == off {
				t.Errorf("off %v: the code at %#x is there: %v", off, ret, there)
			}
		}
		if !off && len(g.Checks) != 2 {
			t.Errorf("%d checks", len(g.Checks))
		}
	}
}

// TestCallees translates with a group what it calls in any case, and what that calls, but nothing behind a condition.
func TestCallees(t *testing.T) {
	code := []byte{
		0xe8, 0x08, 0x00, 0x00, 0x00, // call f
		0x74, 0x00, // je
		0xe8, 0x07, 0x00, 0x00, 0x00, // call h
		0xc3,                         // ret
		0xe8, 0x03, 0x00, 0x00, 0x00, // f: call g
		0xc3, // ret
		0xc3, // h: ret
		0x90, // nop
		0xc3, // g: ret
	}
	const f, g, h = codeAt + 13, codeAt + 21, codeAt + 19
	for _, off := range []bool{false, true} {
		u, c, _ := translator(t, code)
		u.NoCallees = off
		u.Translate(codeAt, codecache.Plain)
		for addr, want := range map[uint64]bool{f: !off, g: !off, h: false} {
			if there := c.BlockOf(addr, codecache.Plain) != nil; there != want {
				t.Errorf("off %v: the function at %#x is there: %v", off, addr, there)
			}
		}
	}
}

// TestSplits ends a block where something is watched.
func TestSplits(t *testing.T) {
	u, c, g := translator(t, sum)
	g.Split = codeAt + 3
	b := u.Translate(codeAt, codecache.Plain)
	if b.Insns != 1 || b.AppSize != 3 || c.BlockOf(g.Split, codecache.Plain) == nil {
		t.Errorf("%d instructions of %d bytes", b.Insns, b.AppSize)
	}
}

// TestNoCode gives no block where nothing may be executed.
func TestNoCode(t *testing.T) {
	u, _, _ := translator(t, sum)
	if b := u.Translate(codeAt+0x1000, codecache.Plain); b != nil {
		t.Errorf("a block: %+v", b)
	}
}
