package debuginfo

import (
	"debug/dwarf"
	"encoding/binary"
)

// header is the header of a unit.
type header struct {
	end       uint64 // of the unit, in its section
	version   uint16
	typed     bool // it is a type unit
	signature uint64
	at, size  uint64 // where signature and place of a type unit's type lie, behind which the entries begin
	place     uint64 // of the type, from the unit's beginning
}

// readHeader reads the header of the unit at an offset. Units of .debug_types are all type units, and of version 4.
func readHeader(b []byte, off uint64, types bool) (h header, ok bool) {
	left := b[off:]
	word := func(at, width uint64) uint64 {
		switch {
		case at+width > uint64(len(left)):
			ok = false
			return 0
		case width == 8:
			return binary.LittleEndian.Uint64(left[at:])
		case width == 4:
			return uint64(binary.LittleEndian.Uint32(left[at:]))
		case width == 2:
			return uint64(binary.LittleEndian.Uint16(left[at:]))
		}
		return uint64(left[at])
	}
	ok = true
	at, width := uint64(4), uint64(4)
	length := word(0, 4)
	if length == 0xffffffff {
		at, width = 12, 8
		length = word(4, 8)
	}
	if length > uint64(len(left)) || at+length > uint64(len(left)) {
		return h, false
	}
	h.end = off + at + length
	if length == 0 { // padding
		return h, ok
	}
	h.version = uint16(word(at, 2))
	switch {
	case types && h.version == 4:
		h.typed, h.at = true, at+2+width+1 // behind where abbreviations are, and an address's size
	case !types && h.version == 5:
		const unitType, unitSplitType = 2, 6
		kind := word(at+2, 1)
		h.typed, h.at = kind == unitType || kind == unitSplitType, at+2+2+width
	}
	if h.typed {
		h.signature, h.place, h.size = word(h.at, 8), word(h.at+8, width), 8+width
		ok = ok && off+h.at+h.size <= h.end
	}
	h.at += off
	return h, ok
}

// signatures notes where the types of .debug_info's type units are. Of several with one signature, the first serves: they are the same.
func signatures(info []byte, types map[uint64]dwarf.Offset) {
	for off := uint64(0); off < uint64(len(info)); {
		h, ok := readHeader(info, off, false)
		if !ok {
			return
		}
		note(types, h, off, off)
		off = h.end
	}
}

// note notes a type unit, which is at off of its section, and at base of all.
func note(types map[uint64]dwarf.Offset, h header, off, base uint64) {
	if _, known := types[h.signature]; h.typed && !known && h.place < h.end-off {
		types[h.signature] = dwarf.Offset(base + h.place)
	}
}

// join lays the units of .debug_types behind those of .debug_info, and notes where their types are then.
//
// Their headers are longer than others' of version 4. What is behind a header's common part is zeroed, so that it reads as the unit's first
// entries, of which each says that a list of entries has ended, and references within the unit stay right.
// Refused: headers of version 5, which would have the same length but for one byte, and other meanings of attributes.
func join(info, types []byte, found map[uint64]dwarf.Offset) []byte {
	all := append(info[:len(info):len(info)], types...)
	base := uint64(len(info))
	for off := uint64(0); off < uint64(len(types)); {
		h, ok := readHeader(types, off, true)
		if !ok || h.version != 4 && h.version != 0 {
			return all[:base+off] // damaged from here
		}
		if h.typed {
			note(found, h, off, base+off)
			clear(all[base+h.at : base+h.at+h.size])
		}
		off = h.end
	}
	return all
}
