package abp

import (
	"reflect"
	"testing"

	"alleria/abp/internal/wire"
)

// TestPieces writes and reads blocks whose code goes on elsewhere, alone and beside registers.
func TestPieces(t *testing.T) {
	for _, regs := range [][]RegisterWord{nil, {{Ins: 1, Reg: 3, Word: 0}}} {
		want := Block{ID: 7, Addr: 0x401000, Words: 1, TimeWord: NoWord, BranchWord: NoWord, Code: make([]byte, 12), Registers: regs}
		for i, far := range []int32{0, 0, -0x300, -0x300, 0x10, 0} {
			want.Ins = append(want.Ins, Ins{Off: uint16(2 * i), Len: 2, Far: far, Flags: InsRecorded})
		}
		row := want.Append(nil)
		if n := want.pieces(); n != 3 {
			t.Fatalf("%d pieces", n)
		}
		var got Block
		d := wire.Decoder{B: row[rowHeader:]}
		if err := got.decode(&d); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Ins, want.Ins) || len(got.Registers) != len(regs) || got.Sample != nil || len(d.B) != 0 {
			t.Errorf("read %+v\nwant %+v", got, want)
		}
		for i, addr := range []uint64{0x401000, 0x401002, 0x400d04, 0x400d06, 0x401018, 0x40100a} {
			if got.InsAddr(i) != addr {
				t.Errorf("instruction %d at %#x, want %#x", i, got.InsAddr(i), addr)
			}
		}
		if got.End() != 0x40100c {
			t.Errorf("ends at %#x", got.End())
		}
	}
}
