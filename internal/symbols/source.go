package symbols

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// errTruncated is what a table that ends outside of the file wraps.
var errTruncated = errors.New("the file is truncated or damaged")

// maxTable bounds one table of an image whose size is not known (memory of a
// process). Files bound their tables by their size.
const maxTable = 64 << 20

// pageSize is the smallest page of x86-64, what the loader's and the kernel's
// rounding of segments comes down to.
const pageSize = 4096

func pageDown(a uint64) uint64 { return a &^ (pageSize - 1) }
func pageUp(a uint64) uint64   { return (a + pageSize - 1) &^ (pageSize - 1) }

// source is where an image's bytes come from. Reading was preferred to mapping
// the file: a program that is rebuilt while it is being traced would turn an
// access to the mapping into SIGBUS, and names would keep the mapping alive.
// The reader must allow concurrent reads at places, as files do.
type source struct {
	r     io.ReaderAt
	size  int64 // -1 when the reader cannot tell
	close func() error
}

// readAt reads what there is, up to len(p).
// A short read at the end is no error; nothing at all is one.
func (s source) readAt(p []byte, off uint64) (int, error) {
	if off > 1<<62 {
		return 0, errTruncated
	}
	n, err := s.r.ReadAt(p, int64(off))
	if n > 0 && n < len(p) && errors.Is(err, io.EOF) {
		return n, nil
	}
	return n, err
}

// bytes reads n bytes at off, all of them. The size is checked first, so that
// a damaged header cannot ask for more memory than the file is long.
//
// The result is the caller's own. No more than one table is in memory at a time, since
// the callers keep what they extract and not the bytes.
func (s source) bytes(off, n uint64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if s.size >= 0 && (off > uint64(s.size) || n > uint64(s.size)-off) {
		return nil, errTruncated
	}
	if s.size < 0 && (n > maxTable || off > 1<<62) {
		return nil, errTruncated
	}
	p := make([]byte, n)
	if got, err := s.r.ReadAt(p, int64(off)); uint64(got) < n {
		return nil, fmt.Errorf("%w: %w", errTruncated, err)
	}
	return p, nil
}

// cursor reads little-endian fields from a table. Its error is sticky: after a
// read past the end, bad is set and every read gives zero, so that a decoder
// checks once for a whole record.
// Offsets never exceed the table's length, so that left cannot wrap.
type cursor struct {
	b   []byte
	off uint64
	bad bool
}

// left is how many bytes there are still.
func (c *cursor) left() uint64 { return uint64(len(c.b)) - c.off }

// take returns the next n bytes, not copied.
func (c *cursor) take(n uint64) []byte {
	if c.bad || n > c.left() {
		c.bad = true
		return nil
	}
	p := c.b[c.off : c.off+n]
	c.off += n
	return p
}

// align skips to the next multiple of n, or to the end when that is nearer: the
// padding of the last note may be missing.
// n is a power of two.
func (c *cursor) align(n uint64) {
	c.off = min((c.off+n-1)&^(n-1), uint64(len(c.b)))
}

func (c *cursor) u8() uint8 {
	if p := c.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (c *cursor) u16() uint16 {
	if p := c.take(2); p != nil {
		return binary.LittleEndian.Uint16(p)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if p := c.take(4); p != nil {
		return binary.LittleEndian.Uint32(p)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if p := c.take(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

// uleb reads an unsigned LEB128; what does not fit 64 bits marks the table bad.
// Padded forms (trailing zero groups) are fine, as in DWARF.
func (c *cursor) uleb() uint64 {
	var v uint64
	for shift := uint(0); shift < 64; shift += 7 {
		b := c.u8()
		v |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			return v
		}
	}
	c.bad = true
	return 0
}

// cstring reads up to and without the next zero byte.
func (c *cursor) cstring() string {
	start := c.off
	for !c.bad {
		if c.u8() == 0 && !c.bad {
			return string(c.b[start : c.off-1])
		}
	}
	return ""
}
