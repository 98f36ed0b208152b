package debuginfo

import (
	"debug/dwarf"
	"encoding/binary"
)

// Kinds of entries of a list of locations (DWARF 5, section 7.7.3), and GNU's, which says nothing of places.
const (
	lleEnd          = 0
	lleBaseIndexed  = 1
	lleStartEnd     = 2
	lleStartLength  = 3
	lleOffsets      = 4
	lleDefault      = 5
	lleBase         = 6
	lleAddresses    = 7
	lleAddressSized = 8
	lleViewPair     = 9
)

// attrLocBase is DW_AT_loclists_base.
const attrLocBase dwarf.Attr = 0x8c

// mostLocations bounds the list of one variable.
const mostLocations = 1 << 12

// Location is the expression that says where a variable of an entry is when the instruction at pc is about to be executed; nil: none does.
func (d *Data) Location(e *dwarf.Entry, pc uint64) []byte {
	f := e.AttrField(dwarf.AttrLocation)
	if f == nil {
		return nil
	}
	var off uint64
	switch v := f.Val.(type) {
	case []byte:
		return v
	case int64: // an offset
		off = uint64(v)
	case uint64: // a number
		off = v
	default:
		return nil
	}
	unit := d.UnitOf(e)
	if unit == nil {
		return nil
	}
	base, _ := unit.Val(dwarf.AttrLowpc).(uint64)
	if d.versionOf(unit) < 5 {
		l := locations{data: d.section("loc"), at: off, base: base, pc: pc}
		return l.findOld()
	}
	lists := d.section("loclists")
	if f.Class == dwarf.ClassLocList {
		from, _ := unit.Val(attrLocBase).(int64)
		at := reader{data: lists, at: uint64(from) + 4*off}
		off = uint64(from) + at.word(4)
	}
	l := locations{data: lists, at: off, base: base, pc: pc, addrs: d.section("addr"), addrBase: addrBase(unit)}
	return l.find()
}

// addrBase is where a unit's addresses begin in .debug_addr.
func addrBase(unit *dwarf.Entry) uint64 {
	at, _ := unit.Val(dwarf.AttrAddrBase).(int64)
	return uint64(at)
}

// section reads a section of debug information once; nil: there is none.
func (d *Data) section(name string) []byte {
	b, known := d.sections[name]
	if !known && d.read != nil {
		b, _ = d.read(name) // a file that was closed meanwhile has none any more
		if d.sections == nil {
			d.sections = make(map[string][]byte)
		}
		d.sections[name] = b
	}
	return b
}

// versionOf is the version of DWARF that a unit is written in, as far as lists of locations have it: mostly a file has only one kind of them.
func (d *Data) versionOf(unit *dwarf.Entry) int {
	switch old, lists := d.section("loc"), d.section("loclists"); {
	case len(lists) == 0:
		return 4
	case len(old) == 0:
		return 5
	}
	return unitVersion(d.section("info"), uint64(unit.Offset))
}

// unitVersion finds the version of the unit whose first entry lies at an offset: headers of 32-bit DWARF are 11 bytes long up to version 4 and 12 in 5, or 24 of
// skeletons and type units.
func unitVersion(info []byte, entry uint64) int {
	for _, size := range []uint64{11, 12, 20, 24} {
		if entry < size || entry > uint64(len(info)) {
			continue
		}
		head := info[entry-size:]
		version := int(binary.LittleEndian.Uint16(head[4:]))
		length := uint64(binary.LittleEndian.Uint32(head))
		if (size == 11) == (version < 5) && version >= 2 && version <= 5 && length > 0 && entry-size+4+length <= uint64(len(info)) {
			return version
		}
	}
	return 0
}

// reader reads numbers; behind the end all are 0.
type reader struct {
	data []byte
	at   uint64
}

func (r *reader) word(size uint64) (v uint64) {
	if r.at > uint64(len(r.data)) || size > uint64(len(r.data))-r.at {
		r.at = uint64(len(r.data))
		return 0
	}
	for i := range size {
		v |= uint64(r.data[r.at+i]) << (8 * i)
	}
	r.at += size
	return v
}

func (r *reader) uleb() uint64 {
	if r.at >= uint64(len(r.data)) {
		return 0
	}
	v, n := binary.Uvarint(r.data[r.at:])
	if n <= 0 {
		r.at = uint64(len(r.data))
		return 0
	}
	r.at += uint64(n)
	return v
}

// bytes reads so many; nil if there are not.
func (r *reader) bytes(n uint64) []byte {
	if r.at > uint64(len(r.data)) || n > uint64(len(r.data))-r.at {
		r.at = uint64(len(r.data))
		return nil
	}
	r.at += n
	return r.data[r.at-n : r.at]
}

// locations is a list of them, and what is looked for in it.
type locations struct {
	data     []byte
	at       uint64
	base, pc uint64
	addrs    []byte
	addrBase uint64
}

// indexed is an address by its number.
func (l *locations) indexed(n uint64) uint64 {
	r := reader{data: l.addrs, at: l.addrBase + 8*n}
	return r.word(8)
}

// find looks a list of DWARF 5 through.
func (l *locations) find() []byte {
	r := reader{data: l.data, at: l.at}
	for range mostLocations {
		if r.at >= uint64(len(r.data)) {
			return nil
		}
		var low, high uint64
		switch r.word(1) {
		case lleBaseIndexed:
			l.base = l.indexed(r.uleb())
			continue
		case lleBase:
			l.base = r.word(8)
			continue
		case lleViewPair:
			r.uleb()
			r.uleb()
			continue
		case lleStartEnd:
			low, high = l.indexed(r.uleb()), l.indexed(r.uleb())
		case lleStartLength:
			low = l.indexed(r.uleb())
			high = low + r.uleb()
		case lleOffsets:
			low, high = l.base+r.uleb(), l.base+r.uleb()
		case lleDefault:
			low, high = 0, ^uint64(0)
		case lleAddresses:
			low, high = r.word(8), r.word(8)
		case lleAddressSized:
			low = r.word(8)
			high = low + r.uleb()
		default: // lleEnd, or nothing that is known
			return nil
		}
		if expr := r.bytes(r.uleb()); low <= l.pc && l.pc < high {
			return expr
		}
	}
	return nil
}

// findOld looks a list of earlier versions through: pairs of addresses with an expression behind.
func (l *locations) findOld() []byte {
	r := reader{data: l.data, at: l.at}
	for range mostLocations {
		if r.at >= uint64(len(r.data)) {
			return nil
		}
		low, high := r.word(8), r.word(8)
		switch {
		case low == 0 && high == 0:
			return nil
		case low == ^uint64(0):
			l.base = high
			continue
		}
		if expr := r.bytes(r.word(2)); l.base+low <= l.pc && l.pc < l.base+high {
			return expr
		}
	}
	return nil
}
