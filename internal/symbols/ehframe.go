package symbols

import (
	"cmp"
	"slices"
)

// The unwind tables are the only description of functions that survives
// stripping, because C++ exceptions and stack traces need them at run time: GCC
// and Clang emit them for C too. What they lack are hand-written leaf functions
// without CFI directives, and code built with -fno-asynchronous-unwind-tables.
// debug/dwarf reads .debug_frame for nobody and .eh_frame not at all, hence the
// parser here. Its shape follows the LSB core specification, chapter 10.6.

// bound is the extent of a piece of code according to the unwind table.
type bound struct{ addr, size uint64 }

// end is the first address behind it.
func (b bound) end() uint64 { return b.addr + b.size }

// The parts of a DW_EH_PE_ pointer encoding (LSB core specification, 10.5.1).
const (
	peFormat   = 0x0f
	peRelative = 0x70
	peIndirect = 0x80
	peOmit     = 0xff

	peAbs    = 0x00
	peUleb   = 0x01
	peU2     = 0x02
	peU4     = 0x03
	peU8     = 0x04
	peSleb   = 0x09
	peS2     = 0x0a
	peS4     = 0x0b
	peS8     = 0x0c
	pePcrel  = 0x10
	peDatrel = 0x30
)

// encoded reads a pointer. base is the address of the table's first byte, for
// pc-relative encodings; data is what datarel is relative to, which
// .eh_frame_hdr uses with its own address. An encoding that real tools don't
// emit marks the cursor bad.
func (c *cursor) encoded(enc byte, base, data uint64) uint64 {
	at := base + c.off
	var v uint64
	switch enc & peFormat {
	case peAbs, peU8, peS8:
		v = c.u64()
	case peU2:
		v = uint64(c.u16())
	case peS2:
		v = uint64(int64(int16(c.u16())))
	case peU4:
		v = uint64(c.u32())
	case peS4:
		v = uint64(int64(int32(c.u32())))
	// Variable lengths come last since no tool is known to emit them for FDEs.
	case peUleb, peSleb:
		v = c.uleb() // unsigned is right for lengths, and nothing else has them
	default:
		c.bad = true
	}
	// An indirect pointer would have to be read from relocated memory; personality
	// routines have them, which are skipped without their meaning.
	if enc == peOmit || enc&peIndirect != 0 {
		c.bad = true
	}
	switch enc & peRelative {
	case 0:
	case pePcrel:
		v += at
	case peDatrel:
		v += data
	default:
		c.bad = true
	}
	return v
}

// unwindBounds reads .eh_frame from end to end and gives the code extents in
// it, sorted and without duplicates. The binary-search index in .eh_frame_hdr
// has only the starts and costs a seek a function for the ends, so it is used
// only for what a damaged table hides from the walk.
//
// Bounds from here matter most where names are missing: every function that may be
// unwound through has a record, also in stripped programs, since C++ exceptions and the
// x86-64 ABI ask for it.
func (im *Image) unwindBounds() ([]bound, error) {
	s, ok := im.section(".eh_frame")
	if !ok {
		return nil, nil
	}
	b, err := im.contents(s)
	if err != nil {
		return nil, err
	}
	t := unwindTable{b: b, base: s.vaddr, encodings: make(map[uint64]byte), out: make([]bound, 0, len(b)/recordBytes)}
	whole := t.walk(im)
	if !whole {
		t.fromIndex(im)
	}
	slices.SortFunc(t.out, func(x, y bound) int {
		if c := cmp.Compare(x.addr, y.addr); c != 0 {
			return c
		}
		return cmp.Compare(y.size, x.size) // the longest first, which is kept
	})
	return slices.CompactFunc(t.out, func(x, y bound) bool { return x.addr == y.addr }), nil
}

// recordBytes is about what a function takes in .eh_frame, little rather than much.
const recordBytes = 48

// unwindTable is .eh_frame while it is being read.
type unwindTable struct {
	b         []byte
	base      uint64
	encodings map[uint64]byte // pointer encoding by offset of the CIE
	out       []bound
}

// walk reads records one after the other and reports whether it got to the end.
// An image that ends early without saying how long its table is (memory, no section
// table) is read as far as it goes, and that counts as whole.
func (t *unwindTable) walk(im *Image) bool {
	for c := (cursor{b: t.b}); c.left() >= 4; {
		start := c.off
		length := uint64(c.u32())
		if length == 0xffffffff {
			length = c.u64()
		}
		if length == 0 {
			// Zero length, where a record begins:
			// A terminator. Linking crt files in an odd order puts one in the
			// middle, so the walk goes on, as readelf's does.
			continue
		}
		next := c.off + length
		if c.bad || length > c.left() {
			return im.src.size < 0 || len(im.sections) == 0
		}
		if !t.record(start, im) {
			return false
		}
		c.off = next
	}
	return true
}

// record reads the record at an offset: an FDE adds a bound, a CIE nothing, as
// FDEs ask for theirs themselves.
func (t *unwindTable) record(start uint64, im *Image) bool {
	c, idAt, id := t.open(start)
	if c.bad {
		return false
	}
	if id == 0 {
		return true
	}
	// The id of an FDE is the distance back to its CIE, from the id itself.
	enc, ok := t.encoding(idAt - id)
	if !ok || id > idAt {
		return false
	}
	addr := c.encoded(enc, t.base, 0)
	// The length has the format of the start, but is never relative to anything.
	size := c.encoded(enc&peFormat, t.base, 0)
	if c.bad {
		return false
	}
	// A record whose function the linker dropped starts at zero.
	if s, ok := im.segment(addr); ok && s.Prot&Exec != 0 && size > 0 {
		t.out = append(t.out, bound{addr, min(size, s.Vaddr+s.MemSize-addr)})
	}
	return true
}

// open reads a record's length and id and leaves the cursor behind them, cut
// off at the record's end.
func (t *unwindTable) open(start uint64) (c cursor, idAt, id uint64) {
	c = cursor{b: t.b, off: start}
	length := uint64(c.u32())
	if length == 0xffffffff {
		length = c.u64()
	}
	if c.bad || length > c.left() {
		c.bad = true
		return c, 0, 0
	}
	// Cutting the buffer makes every later read of this record stop at its end:
	// a wrong augmentation string can't run into the next.
	c.b = c.b[:c.off+length]
	idAt = c.off
	return c, idAt, uint64(c.u32())
}

// encoding finds how the FDEs of a CIE write addresses.
func (t *unwindTable) encoding(cie uint64) (byte, bool) {
	if enc, ok := t.encodings[cie]; ok {
		return enc, true
	}
	if cie >= uint64(len(t.b)) {
		return 0, false
	}
	c, _, id := t.open(cie)
	version := c.u8()
	augmentation := c.cstring()
	if augmentation == "eh" {
		c.u64() // GCC 2's exception table
		augmentation = ""
	}
	c.uleb() // code alignment
	c.uleb() // data alignment, of which only the length matters
	if version == 1 {
		c.u8() // return address register
	} else {
		c.uleb()
	}
	enc := byte(peAbs)
	// The letters say in which order the augmentation data comes. An unknown one
	// ends the knowledge of where 'R' would be, but known compilers put 'R' among
	// the first, and the others ('S', 'B') have no data.
	for i := range len(augmentation) {
		switch augmentation[i] {
		case 'z':
			c.uleb()
		case 'R':
			enc = c.u8()
		case 'L':
			c.u8()
		case 'P':
			p := c.u8()
			c.encoded(p&peFormat, 0, 0)
		}
	}
	if c.bad || id != 0 {
		return 0, false
	}
	t.encodings[cie] = enc
	return enc, true
}

// fromIndex reads the records that .eh_frame_hdr points to.
// Records that the walk has read as well come out once: the caller removes
// duplicates.
func (t *unwindTable) fromIndex(im *Image) {
	s, ok := im.section(".eh_frame_hdr")
	if !ok {
		return
	}
	b, err := im.contents(s)
	if err != nil || len(b) < 4 {
		return
	}
	c := cursor{b: b, off: 4}
	// The header: version, then the encodings of the pointer to .eh_frame, of the
	// count and of the table. The pointer is known from the section already.
	c.encoded(b[1], s.vaddr, s.vaddr)
	n := c.encoded(b[2], s.vaddr, s.vaddr)
	for ; n > 0 && !c.bad; n-- {
		c.encoded(b[3], s.vaddr, s.vaddr)
		at := c.encoded(b[3], s.vaddr, s.vaddr) - t.base
		if !c.bad && at < uint64(len(t.b)) {
			t.record(at, im)
		}
	}
}

// UnwindTable returns .eh_frame and its address, in the image's own terms; nil: the image has none.
func (im *Image) UnwindTable() (table []byte, addr uint64, err error) {
	s, ok := im.section(".eh_frame")
	if !ok {
		return nil, 0, nil
	}
	table, err = im.contents(s)
	return table, s.vaddr, err
}
