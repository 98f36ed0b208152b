package abp

import (
	"encoding/hex"
	"errors"
	"os"
	"reflect"
	"strings"
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

// packedVector is the packed blocks of docs/format.md: block 7, and a part of it.
func packedVector(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(text), "```packed\n")
	block, _, end := strings.Cut(after, "```")
	if !ok || !end {
		t.Fatal("docs/format.md has no packed blocks")
	}
	var all strings.Builder
	for line := range strings.Lines(block) {
		bytes, _, _ := strings.Cut(line, "|")
		all.WriteString(strings.Join(strings.Fields(bytes), ""))
	}
	b, err := hex.DecodeString(all.String())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// unpack reads packed blocks.
func unpack(b []byte) ([]*Block, error) {
	var p Process
	err := rowsOf(&p, AppendPackedRow(nil, b))
	return p.blocks, err
}

// rowsOf reads the rows of a BLOCKS section.
func rowsOf(p *Process, payload []byte) (err error) {
	return errors.Join(eachRow(payload, func(kind uint16, d *wire.Decoder) {
		if err == nil {
			err = p.addBlock(kind, d)
		}
	}), err)
}

// TestPackedVector reads what docs/format.md has as an example.
func TestPackedVector(t *testing.T) {
	blocks, err := unpack(packedVector(t))
	if err != nil || len(blocks) != 9 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	access := Access{AddrBits: 64, Word: NoWord, AuxWord: NoWord, IndexWord: NoWord, Value: NoWord}
	load, store, near, masked := access, access, access, access
	load.Size, load.Word = 8, 0
	store.Store, store.Size, store.Word, store.Offset = true, 4, 1, 8
	near.Size, near.Offset = 4, 0x40110c
	masked.Kind, masked.Seg, masked.AddrBits, masked.Size, masked.Word, masked.Offset = AccessMasked, SegFS, 32, 4, 2, -4
	masked.Lanes, masked.Scale, masked.AuxWord, masked.Value = 8, 1, 3, 4
	memory := InsRecorded | InsAddrs | InsMemory
	want := &Block{ID: 7, Image: 1, Addr: 0x401000, Target: 0x401020, Words: 9, TimeWord: NoWord, BranchWord: 8, Branch: BranchCond,
		Code: blocks[7].Code,
		Ins: []Ins{{Off: 0, Len: 3, Flags: memory, AccFrom: 0, AccTo: 1, Func: 5}, {Off: 3, Len: 3, Flags: memory, AccFrom: 1, AccTo: 2, Func: 5},
			{Off: 6, Len: 6, Flags: memory, AccFrom: 2, AccTo: 3, Func: 5, Far: 0x40}, {Off: 12, Len: 7, Flags: memory | InsValues, AccFrom: 3, AccTo: 4, Func: 5, Far: 0x40},
			{Off: 19, Len: 2, Flags: InsRecorded | InsBranch | InsRegs, AccFrom: 4, AccTo: 4, Func: 6, Far: 0x40}},
		Accesses:  []Access{load, store, near, masked},
		Registers: []RegisterWord{{Ins: 4, Reg: Register(0x0b01), Word: 7}},
	}
	if err := want.Prepare(); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(blocks[7], want) || len(want.Code) != 21 {
		t.Errorf("read %+v\nwant %+v", blocks[7], want)
	}
	part := *want
	part.ID, part.Words, part.Target, part.BranchWord = 8, 1, 0x400ff0, NoWord
	part.Ins, part.Accesses, part.Code, part.Registers = want.Ins[:1], want.Accesses[:1], want.Code[:3], want.Registers[:0]
	if err := part.Prepare(); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(blocks[8], &part) {
		t.Errorf("read %+v\nwant %+v", blocks[8], &part)
	}
	again := want.Append(nil)
	var plain Process
	if err := rowsOf(&plain, again); err != nil || !reflect.DeepEqual(plain.blocks[7], want) {
		t.Errorf("the plain row reads as %+v, %v", plain.blocks[7], err)
	}
}

// TestPackedCut: packed blocks that end too early, anywhere, are an error, as are parts of more than there is; one of a block that was lost is lost as well.
func TestPackedCut(t *testing.T) {
	whole := packedVector(t)
	first := len(whole) - 5
	for n := 1; n < len(whole); n++ {
		blocks, err := unpack(whole[:n])
		if n == first && err == nil && blocks[7] != nil {
			continue
		}
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, wire.ErrShort) {
			t.Errorf("of %d bytes: %v", n, err)
		}
	}
	if blocks, err := unpack(whole[first:]); err != nil || len(blocks) != 0 {
		t.Errorf("a part of nothing: %d blocks, %v", len(blocks), err)
	}
	for _, part := range [][]byte{{7, 0, 1, 0}, {7, 6, 1, 0}, {7, 1, 0xff, 0xff, 3, 0}, {7, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0}} {
		if _, err := unpack(AppendPackedPart(whole[:first:first], 8, part)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("part % x: %v", part, err)
		}
	}
	for _, number := range []uint32{0, maxBlockID} {
		if _, err := unpack(AppendPackedBlock(nil, number, whole[1:first])); !errors.Is(err, ErrCorrupt) {
			t.Errorf("block %d: %v", number, err)
		}
	}
}

// FuzzPacked: whatever a packed row has is blocks that make sense, or an error.
func FuzzPacked(f *testing.F) {
	whole := packedVector(f)
	f.Add(whole)
	f.Add(whole[:len(whole)-5])
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<12 {
			return
		}
		blocks, err := unpack(b)
		for id, b := range blocks {
			if b == nil {
				continue
			}
			if bad := b.check(); bad != nil || b.ID != uint32(id) {
				t.Errorf("block %d of %d (%v): %v", b.ID, id, err, bad)
			}
		}
	})
}
