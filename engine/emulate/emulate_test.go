package emulate

import (
	"bytes"
	"slices"
	"testing"

	"alleria/internal/records"
	"alleria/internal/sys"
)

// TestAccesses holds the accesses of instructions to their registers before and behind them.
func TestAccesses(t *testing.T) {
	const store = 1 << 63
	for _, c := range []struct {
		what          string
		code          []byte
		before, after sys.Regs
		want          []uint64 // pairs of an address and a size
	}{
		{"mov 8(%rsi),%rax", []byte{0x48, 0x8b, 0x46, 0x08}, sys.Regs{Rsi: 0x1000}, sys.Regs{}, []uint64{0x1008, 8}},
		{"mov (%rsi),%rsi, whose address is formed before", []byte{0x48, 0x8b, 0x36}, sys.Regs{Rsi: 0x1000}, sys.Regs{Rsi: 7}, []uint64{0x1000, 8}},
		{"mov %eax,%gs:0x10", []byte{0x65, 0x89, 0x04, 0x25, 0x10, 0, 0, 0}, sys.Regs{}, sys.Regs{}, []uint64{0x7010, 4 | store}},
		{"rep movsb, three times", []byte{0xf3, 0xa4}, sys.Regs{Rsi: 0x1000, Rdi: 0x2000, Rcx: 5}, sys.Regs{Rsi: 0x1003, Rdi: 0x2003, Rcx: 2},
			[]uint64{0x1000, 1, 0x2000, 1 | store, 0x1001, 1, 0x2001, 1 | store, 0x1002, 1, 0x2002, 1 | store}},
		{"rep stosl, backwards", []byte{0xf3, 0xab}, sys.Regs{Rdi: 0x2000, Rcx: 2}, sys.Regs{Rdi: 0x1ff8}, []uint64{0x2000, 4 | store, 0x1ffc, 4 | store}},
		{"rep movsb, not at all", []byte{0xf3, 0xa4}, sys.Regs{Rsi: 0x1000, Rdi: 0x2000}, sys.Regs{Rsi: 0x1000, Rdi: 0x2000}, nil},
	} {
		facts := &records.Block{ID: 9, Code: c.code, Ins: []records.Ins{{Flags: records.InsRecorded | records.InsAddrs}}}
		e := Before(bytes.NewReader(nil), facts, 0x400000, &c.before, 0x7000, nil)
		if e.Next() != 0x400000+uint64(len(c.code)) {
			t.Errorf("%s: it ends at %#x", c.what, e.Next())
		}
		words := e.After(&c.after)
		if words[0] != records.Mark(records.MarkEmulated, 9) || words[1] != uint64(len(c.want)/2) || !slices.Equal(words[2:], c.want) {
			t.Errorf("%s: mark %#x, want %d accesses %#x", c.what, words, len(c.want)/2, c.want)
		}
		if got, want := RepeatsAt(bytes.NewReader(c.code), 0), c.code[0] == 0xf3; got != want {
			t.Errorf("%s: repeats %v, want %v", c.what, got, want)
		}
	}
}

// memory is zeros but for what was put there.
type memory map[int64]byte

func (m memory) ReadAt(b []byte, at int64) (int, error) {
	for i := range b {
		b[i] = m[at+int64(i)]
	}
	return len(b), nil
}

func (m memory) put(at int64, b ...byte) {
	for i, v := range b {
		m[at+int64(i)] = v
	}
}

// TestBeside holds what is recorded beside the accesses: a string's iterations load and store over each other here.
func TestBeside(t *testing.T) {
	const store = 1 << 63
	facts := &records.Block{ID: 9, Words: 3, Code: []byte{0xf3, 0xa4}, Ins: []records.Ins{{Flags: records.InsRecorded | records.InsAddrs | records.InsValues}},
		Regs: []records.RegWord{{Reg: records.RegGPR64 | 6, Word: 0}, {Reg: records.RegRIP, Word: records.NoWord}, {Reg: records.RegXMM | 2, Word: 1}}}
	mem := memory{}
	mem.put(0x1000, 1, 2, 3)
	before := sys.Regs{Rip: 0x400000, Rsi: 0x1000, Rdi: 0x1001, Rcx: 2}
	e := Before(mem, facts, 0x400000, &before, 0, func(b []byte) (int, error) {
		copy(b[160+2*16:], []byte{0xaa, 0xbb, 7: 0xcc, 8: 0xdd})
		return 1024, nil
	})
	after := before
	for i := range int64(2) {
		if i > 0 {
			e.Again(&after)
		}
		mem.put(0x1001+i, mem[0x1000+i])
		after.Rsi, after.Rdi, after.Rcx = after.Rsi+1, after.Rdi+1, after.Rcx-1
	}
	want := []uint64{records.Mark(records.MarkBeside, 7<<48), 0x1000, 0xcc0000000000bbaa, 0xdd, 1, 1, 1, 1,
		records.Mark(records.MarkEmulated, 9), 4, 0x1000, 1, 0x1001, 1 | store, 0x1001, 1, 0x1002, 1 | store}
	if got := e.After(&after); !slices.Equal(got, want) {
		t.Errorf("marks %#x,\nwant %#x", got, want)
	}
}
