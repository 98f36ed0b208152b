package stacks

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// TestCallLength: calls of each form are as long as the assembler makes them.
func TestCallLength(t *testing.T) {
	for _, c := range []struct {
		code string
		want int
	}{
		{"\xff\xd0", 2},                         // call rax
		{"\x41\xff\xd4", 3},                     // call r12
		{"\xff\x10", 2},                         // call [rax]
		{"\xff\x50\x08", 3},                     // call [rax+8]
		{"\xff\x14\xc5\x00\x10\x00\x00", 7},     // call [rax*8+0x1000]
		{"\xff\x54\x24\x08", 4},                 // call [rsp+8]
		{"\xff\x14\x24", 3},                     // call [rsp]
		{"\xff\x90\x00\x01\x00\x00", 6},         // call [rax+0x100]
		{"\x41\xff\x94\x24\x00\x01\x00\x00", 8}, // call [r12+0x100]
		{"\xff\x15\x00\x01\x00\x00", 6},         // call [rip+0x100]
		{"\x43\xff\x14\xc1", 4},                 // call [r9+r8*8]
		{"\xff\xe0\x00", 0},                     // jmp rax
		{"\x48\x89\xc3", 0},                     // mov rbx, rax
	} {
		if got := callLength(append([]byte(c.code), 0)); got != c.want {
			t.Errorf("% x: %d, want %d", c.code, got, c.want)
		}
	}
}

// TestMemory: what was read ahead, and what lies elsewhere, is what the memory has; what is not there is not made up.
func TestMemory(t *testing.T) {
	mem := make([]byte, window+64)
	for i := range mem {
		mem[i] = byte(i >> 3)
	}
	s := stack{mem: bytes.NewReader(mem)}
	s.from(32)
	for _, at := range []uint64{0, 24, 32, 40, window - 8, window + 24, window + 28, window + 32, window + 56} {
		w, ok := s.Word(at)
		if want := binary.LittleEndian.Uint64(mem[at:]); !ok || w != want {
			t.Errorf("at %d: %#x, %v, want %#x", at, w, ok, want)
		}
	}
	if w, ok := s.Word(window + 60); ok {
		t.Errorf("past the end: %#x", w)
	}
}
