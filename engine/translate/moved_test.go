package translate

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"testing"

	"alleria/engine/codecache"
	"alleria/engine/testprogram"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// movable is code that may lie anywhere, of whose instructions all is recorded, with values.
type movable struct {
	program
	base uint64
}

func (g *movable) Fetch(addr uint64, n int) []byte {
	return g.program.Fetch(addr-g.base+codeAt, n)
}
func (g *movable) Executable(addr uint64) bool { return addr-g.base < uint64(len(g.Code)) }
func (g *movable) Mapping(uint64) (start, end uint64) {
	return g.base, g.base + uint64(len(g.Code))
}
func (g *movable) Plan(_ int, ins []x86.Insn, want []Want) uint32 {
	for i := range ins {
		want[i].Flags = records.InsRecorded | records.InsAddrs | records.InsValues | records.InsBranch
	}
	return 7
}

// apart is how far the instructions of spread code lie from each other.
const apart = 32

// spread lays instructions apart, each with a return behind it.
func spread(list [][]byte) []byte {
	code := bytes.Repeat([]byte{0xc3}, apart*len(list))
	for i, b := range list {
		copy(code[i*apart:], b)
	}
	return code
}

// anywhere translates spread code that lies at base into a region that lies at region.
func anywhere(t *testing.T, code []byte, base, region uint64, v codecache.Variant) *codecache.Cache {
	t.Helper()
	const size = 16 << 20
	f, err := sys.Memfd("alleria-test", size)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := codecache.NewRegion(f, 0, size, region)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sys.UnmapAligned(r.Mem) })
	c := new(codecache.Cache)
	c.Init(false, func() { t.Error("the region is full") })
	c.Regions = []*codecache.Region{r}
	g := &movable{program{Program: testprogram.Program{Code: code}}, base}
	u := new(Translator)
	u.Init(c, g, new(x86.Decoder), Settings{Switches: Switches{NoHuge: true}, Budgets: Budgets{Words: layout.BudgetWords}, Features: Features{HasAVX: true, HasBMI2: true, HasAVX512: true, States: x86.States, HasRTM: x86.HasRTM}})
	for at := 0; at < len(code); at += apart {
		if c.BlockOf(base+uint64(at), v) == nil {
			u.Translate(base+uint64(at), v)
		}
	}
	return c
}

// move corrects what was noted of a cache's code, for an image that lies shift bytes further on, and its facts, as package reuse does.
func move(c *codecache.Cache, shift uint64) {
	for _, n := range c.Written.Relocs.All() {
		switch at := c.Regions[0].Mem[n.At:]; n.Kind {
		case codecache.RelocDisp:
			binary.LittleEndian.PutUint32(at, binary.LittleEndian.Uint32(at)+uint32(shift))
		case codecache.RelocAbs:
			binary.LittleEndian.PutUint64(at, binary.LittleEndian.Uint64(at)+shift)
		case codecache.RelocNeg:
			binary.LittleEndian.PutUint64(at, binary.LittleEndian.Uint64(at)-shift)
		}
	}
	for id := uint32(1); id <= c.Facts.Last(); id++ {
		if !c.Facts.IsPart(id) {
			c.Facts.Move(id, shift)
		}
	}
}

// relative is every instruction with an operand relative to RIP that decodes and may be moved, those that differ in no more than registers left out.
func relative(t *testing.T) (list [][]byte) {
	t.Helper()
	var opcodes [][]byte
	for op := range 256 {
		b := byte(op)
		opcodes = append(opcodes, []byte{b}, []byte{0x0f, b}, []byte{0x0f, 0x38, b}, []byte{0x0f, 0x3a, b})
		for m := byte(1); m <= 3; m++ {
			for pp := range byte(8) { // with the 256-bit form
				opcodes = append(opcodes, []byte{0xc4, 0xe0 | m, 0x78 | pp, b}, []byte{0x62, 0xf0 | m, 0x7c | pp&3, 0x08 | pp>>2<<5, b}, []byte{0x62, 0xf0 | m, 0xfc | pp&3, 0x09 | pp>>2<<5, b})
			}
		}
	}
	for _, prefix := range [][]byte{nil, {0x66}, {0xf2}, {0xf3}, {0x48}, {0xf0}, {0xf0, 0x48}} {
		for _, op := range opcodes {
			if len(prefix) > 0 && len(op) > 3 {
				continue
			}
			for reg := byte(0); reg < 64; reg += 8 {
				b := append(append(append([]byte(nil), prefix...), op...), 5|reg, 0x40, 0x12, 0, 0, 1, 2, 3, 4)
				var one [1]x86.Insn
				if n, _ := x86.Decode(b, 0, one[:]); n == 1 && one[0].RIPRelative() && !storesPointer(&one[0]) && int(one[0].Len) > len(prefix)+len(op)+4 {
					list = append(list, b[:one[0].Len])
				}
			}
		}
	}
	if len(list) < 3000 {
		t.Fatalf("%d instructions", len(list))
	}
	return list
}

// storesPointer tells an instruction that writes the x87's instruction pointer: with an operand relative to RIP its code is not for others.
func storesPointer(in *x86.Insn) bool {
	_, ok := pointerStored(in)
	return ok
}

// direct are branches, and what stores an address that follows from where it lies.
var direct = [][]byte{
	{0xe8, 0x1b, 0, 0, 0}, {0xe8, 0x9b, 0xff, 0xff, 0xff}, {0xe9, 0x3b, 0, 0, 0}, {0xeb, 0x1e}, {0x74, 0x1e}, {0x0f, 0x85, 0x5a, 0, 0, 0}, {0xe2, 0x1e}, {0xe3, 0x1e},
	{0xff, 0xd0}, {0xff, 0xe0}, {0xff, 0x15, 0x40, 0, 0, 0}, {0xff, 0x25, 0x40, 0, 0, 0}, {0x0f, 0x05}, {0xc2, 8, 0}, {0x68, 1, 2, 3, 4}, {0x6a, 0xff},
	{0xc7, 0xf8, 0x3a, 0, 0, 0}, {0xc6, 0xf8, 1}, {0x48, 0x8d, 0x05, 0x40, 0, 0, 0}, {0x50, 0xe8, 0x1a, 0, 0, 0},
}

// TestMoved: code that is corrected where it refers to the application is what it would be if it had been translated where the application lies now, and so are its
// facts: of each instruction with an operand relative to RIP, and of each branch, near to its region and far from it.
func TestMoved(t *testing.T) {
	const (
		base      = 0x7f12_3400_0000
		near, far = base + 1<<29, 1 << 40 // the region, which lies where it did
		atOnce    = 2048
	)
	list := append(relative(t), direct...)
	for _, v := range []codecache.Variant{codecache.Plain, codecache.Count, codecache.Record} {
		for from := 0; from < len(list); from += atOnce {
			some := list[from:min(from+atOnce, len(list))]
			code := spread(some)
			for region, shift := range map[uint64]uint64{near: 1 << 28, far: 0x5_6780_0000} {
				was, is := anywhere(t, code, base, region, v), anywhere(t, code, base+shift, region, v)
				if was.Written.Mixed {
					t.Errorf("region at %#x: the code is not for others", region)
				}
				move(was, shift)
				sameCode(t, was, is, some, base+shift)
			}
		}
	}
}

// TestPatchedInOneLine: what is patched while threads may be executing it does not lie in two cache lines, where the store would stop all processors, and on some be a trap besides.
func TestPatchedInOneLine(t *testing.T) {
	const base, region = 0x7f12_3400_0000, 0x7f12_3400_0000 + 1<<29
	var list [][]byte
	for n := range 2048 { // at each place in a line: some bytes of code, and a branch to code that is not there yet
		list = append(list, append(bytes.Repeat([]byte{0x90}, n%13), direct[n%6]...))
	}
	sites := 0
	for _, v := range []codecache.Variant{codecache.Plain, codecache.Count, codecache.Record} {
		c := anywhere(t, spread(list), base, region, v)
		for n := range c.Exits.N {
			if e := c.ExitAt(n); e.Site != 0 {
				if sites++; e.Site%64 > 60 {
					t.Errorf("variant %d: the displacement of an exit lies at %#x", v, e.Site)
				}
			}
		}
	}
	if sites < 1000 {
		t.Errorf("%d displacements", sites)
	}
}

// TestNotMoved: what cannot be moved with its image is not for others.
func TestNotMoved(t *testing.T) {
	for what, code := range map[string][]byte{
		"segment": {0x64, 0x48, 0x8b, 0x05, 0x40, 0, 0, 0}, "cut off": {0x67, 0x8b, 0x05, 0x40, 0, 0, 0}, "x87's pointer": {0x0f, 0xae, 0x05, 0x40, 0, 0, 0},
	} {
		if c := anywhere(t, spread([][]byte{code}), 0x7f12_3400_0000, 1<<40, codecache.Record); !c.Written.Mixed {
			t.Errorf("%s: others may have it", what)
		}
	}
}

// sameCode compares what two caches have of a list of instructions, the second's from base on.
func sameCode(t *testing.T, was, is *codecache.Cache, list [][]byte, base uint64) {
	t.Helper()
	r, q := was.Regions[0], is.Regions[0]
	if was.BlockPool.N != is.BlockPool.N || was.Facts.Last() != is.Facts.Last() || r.Next != q.Next || r.Cold != q.Cold {
		t.Fatalf("%d blocks and %d, %d facts and %d, code up to %#x and %#x", was.BlockPool.N, is.BlockPool.N, was.Facts.Last(), is.Facts.Last(), r.Next, q.Next)
	}
	for n := range is.BlockPool.N {
		a, b := was.BlockPool.At(n), is.BlockPool.At(n)
		x, y := r.Mem[a.Code-r.Base:][:a.Size], q.Mem[b.Code-q.Base:][:b.Size]
		if !bytes.Equal(x, y) {
			t.Errorf("region at %#x, variant %d, %x:\n%x, not\n%x", q.Base, b.Variant, list[(b.App-base)/apart], x, y)
		}
	}
	for id := uint32(1); id <= is.Facts.Last(); id++ {
		if x, y := was.Facts.Get(id), is.Facts.Get(id); !reflect.DeepEqual(x, y) {
			t.Errorf("region at %#x: facts %+v, not %+v", q.Base, x, y)
		}
	}
	if !bytes.Equal(r.Mem[r.Routines.Size:r.Next], q.Mem[q.Routines.Size:q.Next]) || !bytes.Equal(r.Mem[len(r.Mem)/4*3:r.Cold], q.Mem[len(q.Mem)/4*3:q.Cold]) {
		t.Errorf("region at %#x: code beside blocks differs", q.Base)
	}
}
