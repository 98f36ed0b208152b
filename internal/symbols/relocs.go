package symbols

import (
	"debug/elf"
	"encoding/binary"
	"strings"
	"sync"
)

// Relocations of x86-64 that fill a slot with an address (System V ABI,
// AMD64 supplement, table 4.9).
const (
	relocGlobDat   = 6
	relocJumpSlot  = 7
	relocRelative  = 8
	relocIRelative = 37

	relaSize = 24 // Elf64_Rela
)

// Four kinds are enough: where main is reached through the GOT, the slot has
// GLOB_DAT (main is exported) or RELATIVE (it isn't); PLT stubs go through
// JUMP_SLOT, GLOB_DAT when bound early, and IRELATIVE for an IFUNC.

// slot is what the loader will put at an address.
// Addresses are the file's, not yet moved by the load bias.
type slot struct {
	kind   uint32
	symbol uint32 // index in the dynamic symbol table, 0 for none
	addend uint64
}

// eachSlot calls f for every relocation that fills a slot, until f returns
// false. Tables are read in windows: those of large programs have millions of
// entries.
func (im *Image) eachSlot(f func(at uint64, s slot) bool) {
	for _, sec := range im.sections {
		if sec.kind != elf.SHT_RELA || !strings.HasPrefix(sec.name, ".rela.") || sec.vaddr == 0 {
			continue // others belong to an object file or to --emit-relocs
		}
		// An unreadable table means names that are missing, and the section or
		// segment it lies in is reported where that matters.
		for done := uint64(0); done+relaSize <= sec.size; {
			n := min((sec.size-done)/relaSize, symbolWindow)
			b, err := im.src.bytes(sec.off+done, n*relaSize)
			if err != nil {
				return
			}
			for ; len(b) > 0; b = b[relaSize:] {
				info := binary.LittleEndian.Uint64(b[8:])
				s := slot{kind: uint32(info), symbol: uint32(info >> 32), addend: binary.LittleEndian.Uint64(b[16:])}
				switch s.kind {
				case relocGlobDat, relocJumpSlot, relocRelative, relocIRelative:
					if !f(binary.LittleEndian.Uint64(b), s) {
						return
					}
				}
			}
			done += n * relaSize
		}
	}
}

// slotAt finds the relocation of one slot.
// It walks all relocations: it is asked once an image.
func (im *Image) slotAt(vaddr uint64) (found slot, ok bool) {
	im.eachSlot(func(at uint64, s slot) bool {
		if at == vaddr {
			found, ok = s, true
		}
		return !ok
	})
	return found, ok
}

// dynamicSymbols resolves indices of the dynamic symbol table.
type dynamicSymbols struct {
	b     []byte
	names string
}

// dynamicSymbols reads the table, empty when there is none.
func (im *Image) dynamicSymbols() (d dynamicSymbols) {
	// Read anew at each call rather than kept: it is needed for main and for the
	// stubs, once each, and is the largest part of a stripped library.
	s, ok := im.section(".dynsym")
	if !ok || uint64(s.link) >= uint64(len(im.sections)) {
		return d
	}
	names, err := im.readString(im.sections[s.link])
	if err != nil {
		return d
	}
	if d.b, err = im.contents(s); err != nil {
		return dynamicSymbols{}
	}
	d.names = names
	return d
}

// at gives a symbol's name and, where this image defines it, its address.
func (d dynamicSymbols) at(index uint32) (name string, vaddr uint64) {
	if index == 0 || (uint64(index)+1)*symbolSize > uint64(len(d.b)) {
		return "", 0
	}
	b := d.b[uint64(index)*symbolSize:]
	if off := uint64(binary.LittleEndian.Uint32(b)); off < uint64(len(d.names)) {
		name, _, _ = strings.Cut(d.names[off:], "\x00")
	}
	// Undefined with an address means the stub of a fixed program, see function.
	if binary.LittleEndian.Uint16(b[6:]) != uint16(elf.SHN_UNDEF) {
		vaddr = binary.LittleEndian.Uint64(b[8:])
	}
	return name, vaddr
}

// slotTable is where the loader puts addresses, by the symbols' names, made when the first is asked for.
type slotTable struct {
	slotsOnce sync.Once
	slots     map[string][]uint64
}

// Slots lists where the loader puts the address of a symbol of that name, as the file states addresses.
func (im *Image) Slots(name string) []uint64 {
	im.slotsOnce.Do(func() {
		// All at once: hundreds of names are asked for in each process.
		im.slots = make(map[string][]uint64)
		dyn := im.dynamicSymbols()
		im.eachSlot(func(addr uint64, s slot) bool {
			if s.kind == relocGlobDat || s.kind == relocJumpSlot {
				if n, _ := dyn.at(s.symbol); n != "" {
					im.slots[strings.Clone(n)] = append(im.slots[n], addr)
				}
			}
			return true
		})
	})
	return im.slots[name]
}
