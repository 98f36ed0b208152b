package asm

import "encoding/binary"

// Writer writes machine code into a stretch of memory.
type Writer struct {
	buf  []byte // our view of the memory
	base uint64 // the target's address of buf[0]
	pos  int
	full bool
	// Far is the positions of displacements that lead from the code to addresses given as such (Abs), where they did not fit in 31 bits:
	// they change when either side is moved.
	Far []int
}

// New returns a Writer that goes on at pos of buf, whose first byte has the address base
// where the code will run.
func New(buf []byte, base uint64, pos int) Writer { return Writer{buf: buf, base: base, pos: pos} }

// Here is the address of the next byte.
func (w *Writer) Here() uint64 { return w.base + uint64(w.pos) }

// Pos is where the next byte goes, counted from the stretch's first.
func (w *Writer) Pos() int { return w.pos }

// Seek goes on at another position.
func (w *Writer) Seek(pos int) { w.pos = pos }

// Full tells that something did not fit and is missing.
func (w *Writer) Full() bool { return w.full }

// Last is the n bytes written last, to be changed in place.
func (w *Writer) Last(n int) []byte { return w.buf[w.pos-n : w.pos] }

// Patch32 replaces the four bytes at a position, in code that nobody runs yet.
func (w *Writer) Patch32(pos int, v uint32) {
	if pos+4 > len(w.buf) {
		w.full = true
		return
	}
	binary.LittleEndian.PutUint32(w.buf[pos:], v)
}

// Uint64 writes a constant of eight bytes, which is no instruction.
func (w *Writer) Uint64(v uint64) {
	if b := w.room(8); b != nil {
		binary.LittleEndian.PutUint64(b, v)
	}
}

// Copy writes instructions as they are.
func (w *Writer) Copy(code []byte) {
	if b := w.room(len(code)); b != nil {
		copy(b, code)
	}
}

// room takes the next n bytes; nil if there are not so many.
func (w *Writer) room(n int) []byte {
	if w.pos+n > len(w.buf) {
		w.full = true
		return nil
	}
	b := w.buf[w.pos : w.pos+n : w.pos+n]
	w.pos += n
	return b
}

// b1 to b4 write single bytes, u16 and u32 integers. They are not one variadic function: that
// would call memmove for a byte or two.
func (w *Writer) b1(x byte) {
	if b := w.room(1); b != nil {
		b[0] = x
	}
}

func (w *Writer) b2(x, y byte) {
	if b := w.room(2); b != nil {
		b[1] = y
		b[0] = x
	}
}

func (w *Writer) b3(x, y, z byte) {
	if b := w.room(3); b != nil {
		b[2] = z
		b[1] = y
		b[0] = x
	}
}

func (w *Writer) b4(x, y, z, u byte) {
	if b := w.room(4); b != nil {
		binary.LittleEndian.PutUint32(b, uint32(x)|uint32(y)<<8|uint32(z)<<16|uint32(u)<<24)
	}
}

func (w *Writer) u16(v uint16) {
	if b := w.room(2); b != nil {
		binary.LittleEndian.PutUint16(b, v)
	}
}

func (w *Writer) u32(v uint32) {
	if b := w.room(4); b != nil {
		binary.LittleEndian.PutUint32(b, v)
	}
}

// rel32 writes the displacement from after itself to target.
// The target must be within two gigabytes: regions and their routines are.
func (w *Writer) rel32(target uint64) { w.u32(uint32(int64(target) - int64(w.Here()+4))) }
