// Package wire puts the fields of a profile's rows and headers into bytes, and takes them off again.
//
// In a nutshell: an Encoder appends little-endian numbers, and texts with their lengths before them; a
// Decoder takes them off in the same order. What a row consists of is package abp's; only abp uses this
// package. An Encoder or a Decoder belongs to one goroutine.
//
// It knows no types of rows and no checksums, and does not judge values.
package wire

import (
	"encoding/binary"
	"errors"
	"math"
)

// ErrShort is what a Decoder answers when a row is shorter than its fields.
var ErrShort = errors.New("row is cut short")

// Encoder appends little-endian fields. By hand rather than by encoding/binary's
// reflection: the order and width of every field is the format, and shall be read
// in one place and not from struct tags.
// Appending cannot fail. Bytes and Str have their length before them, as uint32.
type Encoder struct{ B []byte }

// U8 appends a byte.
func (e *Encoder) U8(v uint8) { e.B = append(e.B, v) }

// U16 appends two bytes.
func (e *Encoder) U16(v uint16) { e.B = binary.LittleEndian.AppendUint16(e.B, v) }

// U32 appends four bytes.
func (e *Encoder) U32(v uint32) { e.B = binary.LittleEndian.AppendUint32(e.B, v) }

// U64 appends eight bytes.
func (e *Encoder) U64(v uint64) { e.B = binary.LittleEndian.AppendUint64(e.B, v) }

// Uvarint appends a number as LEB128, seven bits a byte, the lowest first.
func (e *Encoder) Uvarint(v uint64) { e.B = binary.AppendUvarint(e.B, v) }

// Varint appends a number with its sign as LEB128: 0, -1, 1, -2 … as 0, 1, 2, 3 …
func (e *Encoder) Varint(v int64) { e.B = binary.AppendVarint(e.B, v) }

// Bool is a byte, 0 or 1; readers take any other value for true.
func (e *Encoder) Bool(v bool) {
	if v {
		e.U8(1)
		return
	}
	e.U8(0)
}

// Bytes appends a length and the bytes.
func (e *Encoder) Bytes(v []byte) {
	e.U32(uint32(len(v)))
	e.B = append(e.B, v...)
}

// Str appends a length and the text.
func (e *Encoder) Str(v string) {
	e.U32(uint32(len(v)))
	e.B = append(e.B, v...)
}

// Strs is a count and so many strings, each with its length.
func (e *Encoder) Strs(v []string) {
	e.U32(uint32(len(v)))
	for _, s := range v {
		e.Str(s)
	}
}

// Decoder takes the fields off again. Its error is sticky: a caller reads all
// fields and looks once.
// Behind the end every field is zero, which is what lets a new reader take an old row.
type Decoder struct {
	B   []byte // what is left
	Err error  // the first error; wraps nothing but ErrShort
}

// take takes n bytes off, nil if there are not so many.
// It is a part of the row, not a copy.
func (d *Decoder) take(n int) []byte {
	if n < 0 || n > len(d.B) {
		d.Err = ErrShort
		d.B = nil
		return nil
	}
	v := d.B[:n]
	d.B = d.B[n:]
	return v
}

// U8 takes a byte off. The numbers are little-endian, as everywhere in the format.
func (d *Decoder) U8() uint8 {
	if v := d.take(1); v != nil {
		return v[0]
	}
	return 0
}

// U16 takes two bytes off.
func (d *Decoder) U16() uint16 {
	if v := d.take(2); v != nil {
		return binary.LittleEndian.Uint16(v)
	}
	return 0
}

// U32 takes four bytes off.
func (d *Decoder) U32() uint32 {
	if v := d.take(4); v != nil {
		return binary.LittleEndian.Uint32(v)
	}
	return 0
}

// U64 takes eight bytes off.
func (d *Decoder) U64() uint64 {
	if v := d.take(8); v != nil {
		return binary.LittleEndian.Uint64(v)
	}
	return 0
}

// Uvarint takes off what Encoder.Uvarint appends.
func (d *Decoder) Uvarint() uint64 {
	if len(d.B) > 0 && d.B[0] < 0x80 { // as most are
		v := d.B[0]
		d.B = d.B[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(d.B)
	d.pass(n)
	return v
}

// Varint takes off what Encoder.Varint appends.
func (d *Decoder) Varint() int64 {
	v, n := binary.Varint(d.B)
	d.pass(n)
	return v
}

// pass takes the bytes of a number off; none or less: it is cut short, or too long for one.
func (d *Decoder) pass(n int) {
	if n <= 0 {
		d.Err, d.B = ErrShort, nil
		return
	}
	d.B = d.B[n:]
}

// Bool takes a byte off; any but 0 is true.
func (d *Decoder) Bool() bool { return d.U8() != 0 }

// Count reads a number of things of at least size bytes each, and refuses one
// that the rest of the row cannot hold, so that nothing is allocated for it.
// size is the least that one of them takes.
func (d *Decoder) Count(size int) int {
	n := d.U32()
	if n > math.MaxInt32 || int(n)*size > len(d.B) {
		d.Err = ErrShort
		d.B = nil
		return 0
	}
	return int(n)
}

// Bytes returns a copy: rows outlive the section that they were read from.
func (d *Decoder) Bytes() []byte {
	n := d.Count(1)
	if n == 0 {
		return nil
	}
	return append([]byte(nil), d.take(n)...)
}

// Str takes a text off with its length before it: a copy, by the conversion.
func (d *Decoder) Str() string { return string(d.take(d.Count(1))) }

// Strs takes off what Encoder.Strs appends.
func (d *Decoder) Strs() []string {
	// 4 is the least: the length of an empty string.
	n := d.Count(4)
	var v []string
	for range n {
		v = append(v, d.Str())
	}
	return v
}
