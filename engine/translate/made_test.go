package translate

import (
	"bytes"
	"testing"

	"alleria/engine/codecache"
)

// patched is a program of two pages, of which it has made the second.
type patched struct{ program }

const madeFrom = codeAt + codePage

func (g *patched) Made(addr uint64) bool { return addr >= madeFrom && addr < madeFrom+codePage }

// patchedTranslator makes the translator of such a program; at puts code into it.
func patchedTranslator(t *testing.T, at map[uint64][]byte) (*Translator, *codecache.Cache) {
	t.Helper()
	u, c, plain := translator(t, bytes.Repeat([]byte{0x90}, 2*codePage))
	for addr, code := range at {
		copy(plain.Code[addr-codeAt:], code)
	}
	g := &patched{*plain}
	u.target = g
	return u, c
}

// ofOne tells whether each block is of code of one kind, and says of which.
func ofOne(t *testing.T, c *codecache.Cache) {
	t.Helper()
	for n := range c.BlockPool.N {
		b := c.BlockPool.At(n)
		if reaches := c.Covers(b, madeFrom, madeFrom+codePage); reaches != b.OfMadeCode() {
			t.Errorf("the block at %#x reaches into code that was made: %t; it is told to be of such: %t", b.App, reaches, b.OfMadeCode())
		}
	}
	if c.Written.Mixed {
		t.Error("nothing of it is of use to others")
	}
}

// TestBlocksOfOneKind: in all variants no block is of a file's code and of code that the program has made, by whatever way one goes on with the other.
func TestBlocksOfOneKind(t *testing.T) {
	move := []byte{0x48, 0xb9, 1, 2, 3, 4, 5, 6, 7, 8} // movabs
	long := append(append(append([]byte{}, move...), move...), move...)
	const end = madeFrom
	for name, test := range map[string]struct {
		code map[uint64][]byte
		at   uint64
		made bool // the block at that address
	}{
		"falls":        {map[uint64][]byte{end - 3: {0x83, 0xc0, 1}, end: {0xc3}}, end - 3, false},
		"lies in both": {map[uint64][]byte{end - 2: {0x05, 1, 0, 0, 0, 0xc3}}, end - 2, true},
		"comes to it":  {map[uint64][]byte{end - 32: append(long, 0x05, 1, 0, 0, 0, 0xc3)}, end - 32, false},
		"jumps to it":  {map[uint64][]byte{codeAt: {0xe9, 0xdb, 0x0f, 0, 0}, end - 32: append(long, 0x05, 1, 0, 0, 0, 0xc3)}, codeAt, false},
		"jumps into":   {map[uint64][]byte{codeAt: {0xe9, 0xfb, 0x0f, 0, 0}, end: {0xc3}}, codeAt, false},
		"returns":      {map[uint64][]byte{codeAt: {0xc3}, end - 5: {0xe8, 0x00, 0xf0, 0xff, 0xff}, end: {0xc3}}, end - 5, false},
		"half":         {map[uint64][]byte{end - 1: {0x66, 0x0f, 0x04}}, end - 1, true}, // no instruction, as it is now
		"goes back":    {map[uint64][]byte{end: {0xe9, 0xfb, 0xef, 0xff, 0xff}, codeAt: {0xc3}}, end, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range []codecache.Variant{codecache.Plain, codecache.Count, codecache.Record} {
				u, c := patchedTranslator(t, test.code)
				b := u.Translate(test.at, v)
				if b == nil {
					t.Fatal("no block")
				}
				if b.OfMadeCode() != test.made {
					t.Errorf("variant %d: of made code: %t", v, b.OfMadeCode())
				}
				u.Translate(madeFrom, v)
				if name != "half" {
					ofOne(t, c)
				}
			}
		})
	}
}

// TestSideExitOfOneKind: the code of a side exit is of its block's kind, whatever was written before it.
func TestSideExitOfOneKind(t *testing.T) {
	u, c := patchedTranslator(t, map[uint64][]byte{codeAt: {0x85, 0xff, 0x0f, 0x85, 0xf8, 0x0f, 0, 0, 0x89, 0x07, 0xc3}, madeFrom: {0xc3}}) // test edi, edi; jnz made; mov [rdi], eax; ret
	b := u.Translate(codeAt, codecache.Record)
	if c.SideExits.N != 1 {
		t.Fatalf("%d side exits", c.SideExits.N)
	}
	made := u.Translate(madeFrom, codecache.Record)
	if made == nil || !c.InMade {
		t.Fatal("what was written last is of a file")
	}
	before := c.Exits.N
	if !u.WriteLazySideExit(c.SideExits.At(0), b, codecache.Uncounted) {
		t.Fatal("no room")
	}
	if c.Exits.N != before+1 || c.Exits.At(before).OfMadeCode() {
		t.Errorf("%d exits more; of made code: %t", c.Exits.N-before, c.Exits.N > before && c.Exits.At(before).OfMadeCode())
	}
}
