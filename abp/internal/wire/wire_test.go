package wire

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

// TestRoundTrip has every kind of field, and each way to cut the row short.
func TestRoundTrip(t *testing.T) {
	var e Encoder
	e.U8(1)
	e.U16(0x203)
	e.U32(0x4050607)
	e.U64(1 << 63)
	e.Bool(true)
	e.Bytes([]byte{9, 8})
	e.Str("text")
	e.Strs([]string{"a", ""})
	for n := range len(e.B) + 1 {
		d := Decoder{B: e.B[:n]}
		a, b, c, f, g := d.U8(), d.U16(), d.U32(), d.U64(), d.Bool()
		h, s, l := d.Bytes(), d.Str(), d.Strs()
		if n < len(e.B) {
			if !errors.Is(d.Err, ErrShort) {
				t.Errorf("%d of %d bytes: %v", n, len(e.B), d.Err)
			}
			continue
		}
		if d.Err != nil || len(d.B) != 0 || a != 1 || b != 0x203 || c != 0x4050607 || f != 1<<63 || !g ||
			!bytes.Equal(h, []byte{9, 8}) || s != "text" || !slices.Equal(l, []string{"a", ""}) {
			t.Errorf("%v %v %v %v %v %v %q %q, %v, %d left", a, b, c, f, g, h, s, l, d.Err, len(d.B))
		}
	}
}

// FuzzDecoder takes fields off anything: no count is believed that the rest cannot hold.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0, 1, 0, 0, 0, 'a', 0, 0, 0, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		d := Decoder{B: b}
		list := d.Strs()
		n := 4
		for _, s := range list {
			n += 4 + len(s)
		}
		if d.Err == nil && n+len(d.B) != len(b) || 4*len(list) > len(b) {
			t.Errorf("%d strings of %d bytes, %d left", len(list), len(b), len(d.B))
		}
	})
}
