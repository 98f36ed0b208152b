package translate

import (
	"testing"

	"alleria/engine/x86"
)

// TestOnward: superblocks go along jumps and calls, once more through loops that begin a little further back, and straight on behind all other conditional branches.
func TestOnward(t *testing.T) {
	const at = 0x10000
	for _, c := range []struct {
		what, code string
		want       uint64
	}{
		{"forward", "\x74\x10", at + 2},
		{"far forward", "\x0f\x84\x00\x10\x00\x00", at + 6},
		{"to itself", "\x74\xfe", at},
		{"a little back", "\x0f\x84\x3a\xff\xff\xff", at - 192},
		{"further back", "\x0f\x84\x39\xff\xff\xff", at + 6},
		{"a jump far back", "\xe9\x00\xf0\xff\xff", at + 5 - 0x1000},
		{"a call", "\xe8\x00\x01\x00\x00", at + 5 + 0x100},
	} {
		ins := make([]x86.Insn, 1)
		if n, _ := x86.Decode([]byte(c.code), at, ins); n != 1 {
			t.Fatalf("%s: no instruction", c.what)
		}
		if got := onward(&ins[0]); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.what, got, c.want)
		}
	}
}
