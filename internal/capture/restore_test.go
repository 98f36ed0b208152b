package capture

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"
)

// memory is a machine with registers and one stretch of memory.
type memory struct {
	regs [16]uint64
	base uint64
	b    []byte
}

func (m *memory) Value(src Source, b []byte) bool {
	return src.Kind == GPR && copy(b, binary.LittleEndian.AppendUint64(nil, m.regs[src.N])) == len(b)
}

func (m *memory) ReadAt(b []byte, addr int64) (int, error) {
	at := uint64(addr) - m.base
	if at >= uint64(len(m.b)) {
		return 0, io.EOF
	}
	n := copy(b, m.b[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// restoreItems is a string, a list, three elements downwards, and elements up to where a register leads.
func restoreItems() []Item {
	node := &Target{Size: 16, Len: Length{Kind: Fixed, N: 1}, Max: 64}
	node.Points = []Pointer{{Off: 8, Target: node}}
	to := func(n uint32, t *Target) Item {
		return Item{Src: Source{Kind: GPR, N: n}, Bytes: 8, Points: []Pointer{{Target: t}}}
	}
	return []Item{
		to(0, &Target{Size: 1, Len: Length{Kind: Sentinel}, Max: 64}), to(1, node), to(2, &Target{Size: 4, Len: Length{Kind: Fixed, N: 3}, Dec: true, Max: 64}),
		to(3, &Target{Size: 2, Len: Length{Kind: Start, Var: Var{Src: Source{Kind: GPR, N: 5}, Bytes: 8}, EndValid: true}, Max: 64}),
	}
}

// TestRestore puts what was captured of a memory into another one, which is the same then.
func TestRestore(t *testing.T) {
	m := &memory{base: 0x1000}
	m.b = append(m.b, "text\x00"...)
	m.b = append(m.b, make([]byte, 64)...)
	copy(m.b[16:], binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 7), 0x1020))
	copy(m.b[32:], binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 8), 0x1010)) // back to the first
	copy(m.b[48:], []byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0})
	m.regs = [16]uint64{0: 0x1000, 1: 0x1010, 2: 0x1038, 3: 0x1034, 5: 0x1030}
	words, cut := Run(m, restoreItems(), 1<<20, nil)
	got, err := Restore(restoreItems(), words)
	if err != nil || cut {
		t.Fatal(err, cut)
	}
	back := make([]byte, len(m.b))
	for _, b := range got.Memory {
		copy(back[b.Addr-m.base:], b.Data)
	}
	if !bytes.Equal(back, m.b) {
		t.Errorf("got  %x\nwant %x", back, m.b)
	}
	if len(got.Values) != 4 || binary.LittleEndian.Uint64(got.Values[2]) != 0x1038 {
		t.Errorf("values %x", got.Values)
	}
	for n := range words {
		if _, err := Restore(restoreItems(), words[:n]); err == nil {
			t.Errorf("of the first %d words it makes a call", n)
		}
	}
}

// FuzzRestore: any words are a call or an error.
func FuzzRestore(f *testing.F) {
	f.Add(make([]byte, 64))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var words []uint64
		for ; len(raw) >= 8; raw = raw[8:] {
			words = append(words, binary.LittleEndian.Uint64(raw))
		}
		got, err := Restore(restoreItems(), words)
		if (got == nil) != (err != nil) {
			t.Fatalf("a value and an error, or neither: %v, %v", got, err)
		}
	})
}
