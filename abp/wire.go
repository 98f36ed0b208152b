package abp

import (
	"encoding/binary"
	"errors"
	"math"
)

// errShort is what a decoder answers when a row is shorter than its fields.
var errShort = errors.New("row is cut short")

// wireEnc appends little-endian fields. By hand rather than by encoding/binary's
// reflection: the order and width of every field is the format, and shall be read
// in one place and not from struct tags.
// Appending cannot fail. bytes and str have their length before them, as uint32.
type wireEnc struct{ b []byte }

func (e *wireEnc) u8(v uint8)   { e.b = append(e.b, v) }
func (e *wireEnc) u16(v uint16) { e.b = binary.LittleEndian.AppendUint16(e.b, v) }
func (e *wireEnc) u32(v uint32) { e.b = binary.LittleEndian.AppendUint32(e.b, v) }
func (e *wireEnc) u64(v uint64) { e.b = binary.LittleEndian.AppendUint64(e.b, v) }

// bool is a byte, 0 or 1; readers take any other value for true.
func (e *wireEnc) bool(v bool) {
	if v {
		e.u8(1)
		return
	}
	e.u8(0)
}

func (e *wireEnc) bytes(v []byte) {
	e.u32(uint32(len(v)))
	e.b = append(e.b, v...)
}

func (e *wireEnc) str(v string) {
	e.u32(uint32(len(v)))
	e.b = append(e.b, v...)
}

// strs is a count and so many strings, each with its length.
func (e *wireEnc) strs(v []string) {
	e.u32(uint32(len(v)))
	for _, s := range v {
		e.str(s)
	}
}

// wireDec takes the fields off again. Its error is sticky: a caller reads all
// fields and looks once.
// Behind the end every field is zero, which is what lets a new reader take an old row.
type wireDec struct {
	b   []byte
	err error
}

// take takes n bytes off, nil if there are not so many.
// It is a part of the row, not a copy.
func (d *wireDec) take(n int) []byte {
	if n < 0 || n > len(d.b) {
		d.err = errShort
		d.b = nil
		return nil
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

// The numbers are little-endian, as everywhere in the format.
func (d *wireDec) u8() uint8 {
	if v := d.take(1); v != nil {
		return v[0]
	}
	return 0
}

func (d *wireDec) u16() uint16 {
	if v := d.take(2); v != nil {
		return binary.LittleEndian.Uint16(v)
	}
	return 0
}

func (d *wireDec) u32() uint32 {
	if v := d.take(4); v != nil {
		return binary.LittleEndian.Uint32(v)
	}
	return 0
}

func (d *wireDec) u64() uint64 {
	if v := d.take(8); v != nil {
		return binary.LittleEndian.Uint64(v)
	}
	return 0
}

func (d *wireDec) bool() bool { return d.u8() != 0 }

// str, strs and bytes start with their length.

// count reads a number of things of at least size bytes each, and refuses one
// that the rest of the row cannot hold, so that nothing is allocated for it.
// size is the least that one of them takes.
func (d *wireDec) count(size int) int {
	n := d.u32()
	if n > math.MaxInt32 || int(n)*size > len(d.b) {
		d.err = errShort
		d.b = nil
		return 0
	}
	return int(n)
}

// bytes returns a copy: rows outlive the section that they were read from.
func (d *wireDec) bytes() []byte {
	n := d.count(1)
	if n == 0 {
		return nil
	}
	return append([]byte(nil), d.take(n)...)
}

// str and strs are copies, by the conversion.
func (d *wireDec) str() string { return string(d.take(d.count(1))) }

func (d *wireDec) strs() []string {
	// 4 is the least: the length of an empty string.
	n := d.count(4)
	var v []string
	for range n {
		v = append(v, d.str())
	}
	return v
}
