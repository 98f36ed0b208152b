package symbols

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

const (
	symbolSize = 24 // Elf64_Sym

	sttGNUIFunc = 10 // STT_GNU_IFUNC
	verHidden   = 0x8000
	// symbolWindow is how many symbols are read at once. The table of a large
	// program is hundreds of megabytes, of which the functions' names stay.
	symbolWindow = 4096
	// stringWindow is how many bytes of names are read at once: what is read stays in the
	// second-level cache until it is copied.
	stringWindow = 128 << 10
)

// Symbol tables: .symtab has all names and is what strip removes, .dynsym has
// those that other images may bind to and can't be removed. Debug files hold the
// .symtab that strip took.

// symbol is a name for an address, from wherever.
type symbol struct {
	addr, size uint64
	name       string
	version    string
	source     Source
	kind       Kind
	weakClaim  bool // untyped (an assembler label): counts only where no function does
	global     bool
	isDefault  bool // the version that new programs link against
}

// symbolsOf reads the functions of a symbol table of file, which is the image
// itself or a debug file of it. Addresses are judged by the image: a debug file
// may lack segments' contents but never code that the image hasn't.
// No table of that name is no error and gives nothing.
func (im *Image) symbolsOf(file *Image, table string, from Source) ([]symbol, error) {
	s, ok := file.section(table)
	if !ok || (s.kind != elf.SHT_SYMTAB && s.kind != elf.SHT_DYNSYM) {
		return nil, nil
	}
	if uint64(s.link) >= uint64(len(file.sections)) {
		return nil, fmt.Errorf("%s: %s: %w", file.Name, table, errTruncated)
	}
	names, err := file.readString(file.sections[s.link])
	if err != nil {
		return nil, fmt.Errorf("%s: names of %s: %w", file.Name, table, err)
	}
	// Versions exist only for dynamic symbols: an array parallel to the table.
	var versions []byte
	var versionNames map[uint16]string
	if s.kind == elf.SHT_DYNSYM {
		versions, versionNames = file.versions()
	}
	out := make([]symbol, 0, file.countFunctions(s))
	// A table that is cut off yields what there is of it, with the error.
	err = file.records(s, func(i uint64, b []byte) bool {
		if y, ok := im.function(b, names, file); ok {
			y.source = from
			y.setVersion(i, versions, versionNames)
			out = append(out, y)
		}
		return true
	})
	return out, err
}

// countFunctions is about how many functions a symbol table has, so that the list of them need not grow: what growing left behind was six times the
// list, eleven megabytes of a compiler's. Reading the table twice is a hundredth of what is made of it.
func (im *Image) countFunctions(s section) (n int) {
	_ = im.records(s, func(_ uint64, b []byte) bool {
		if kind := b[4] & 15; (kind == uint8(elf.STT_FUNC) || kind == sttGNUIFunc) && binary.LittleEndian.Uint16(b[6:]) != uint16(elf.SHN_UNDEF) {
			n++
		}
		return true
	}) // what cannot be read is told by who reads it
	return n
}

// records calls f with the symbols of a table, decoded by nobody yet, until it returns false.
// b is valid during the call.
func (im *Image) records(s section, f func(i uint64, b []byte) bool) error {
	buf := make([]byte, min(s.size/symbolSize, symbolWindow)*symbolSize)
	for done := uint64(0); done+symbolSize <= s.size; {
		b := buf[:min((s.size-done)/symbolSize, symbolWindow)*symbolSize]
		if got, err := im.src.readAt(b, s.off+done); got < len(b) {
			return fmt.Errorf("%s: %s: %w", im.Name, s.name, errors.Join(errTruncated, err))
		}
		for i := uint64(0); i < uint64(len(b)); i += symbolSize {
			if !f((done+i)/symbolSize, b[i:i+symbolSize]) {
				return nil
			}
		}
		done += uint64(len(b))
	}
	return nil
}

// setVersion sets the version of the symbol number i of a dynamic table.
func (y *symbol) setVersion(i uint64, versions []byte, names map[uint16]string) {
	if at := i * 2; at+2 <= uint64(len(versions)) {
		v := binary.LittleEndian.Uint16(versions[at:])
		y.version, y.isDefault = names[v&^verHidden], v&verHidden == 0
	}
}

// function decodes one symbol and reports whether it names code of the image.
// b has at least symbolSize bytes.
func (im *Image) function(b []byte, names string, file *Image) (symbol, bool) {
	// st_info, packed from type and binding. The test for the type is first because
	// it rejects most: in a table with data, sections and files, three of four.
	kind, bind := b[4]&15, elf.SymBind(b[4]>>4)
	if kind != uint8(elf.STT_FUNC) && kind != sttGNUIFunc && kind != uint8(elf.STT_NOTYPE) {
		return symbol{}, false
	}
	// An undefined symbol may have an address in a fixed program (that of its PLT
	// stub, which then stands for the function), but is named by plt.go.
	index := elf.SectionIndex(binary.LittleEndian.Uint16(b[6:]))
	if index == elf.SHN_UNDEF || index == elf.SHN_COMMON {
		return symbol{}, false
	}
	y := symbol{
		addr:   binary.LittleEndian.Uint64(b[8:]),
		size:   binary.LittleEndian.Uint64(b[16:]),
		global: bind != elf.STB_LOCAL,
	}
	off := uint64(binary.LittleEndian.Uint32(b))
	// Functions of discarded sections stay in some debug files with address 0.
	if !im.executable(y.addr) || off >= uint64(len(names)) {
		return symbol{}, false
	}
	name := names[off:]
	if end := strings.IndexByte(name, 0); end >= 0 {
		name = name[:end]
	}
	if name == "" {
		return symbol{}, false
	}
	switch kind {
	case sttGNUIFunc:
		y.kind = IFunc
	case uint8(elf.STT_NOTYPE):
		if !file.isLabel(name, index) {
			return symbol{}, false
		}
		y.weakClaim = true
	}
	// Static symbol tables carry the version inside of the name.
	if at := strings.IndexByte(name, '@'); at > 0 {
		y.isDefault = strings.HasPrefix(name[at:], "@@")
		y.version, name = strings.TrimLeft(name[at:], "@"), name[:at]
	}
	y.name = name
	// Sizes are only descriptive, and wrong in damaged files: with an end inside of
	// the segment no sum overflows later.
	seg, _ := im.segment(y.addr)
	y.size = min(y.size, seg.Vaddr+seg.MemSize-y.addr)
	return y, true
}

// isLabel reports whether an untyped symbol may be a function: musl's and old
// crt files' _start, the signal trampolines. Linker-defined limits
// (__executable_start, etext, absolute ones) and local labels are none.
func (im *Image) isLabel(name string, index elf.SectionIndex) bool {
	if index >= elf.SHN_LORESERVE && index != elf.SHN_XINDEX || name[0] == '.' || name[0] == '$' {
		return false
	}
	return int(index) >= len(im.sections) || im.sections[index].flags&uint64(elf.SHF_EXECINSTR) != 0
}

// readString reads a section as one string, of which all names are parts:
// without the second copy that a conversion from bytes would make.
func (im *Image) readString(s section) (string, error) {
	if s.kind == elf.SHT_NOBITS || s.size == 0 {
		return "", nil
	}
	if im.src.size >= 0 && (s.off > uint64(im.src.size) || s.size > uint64(im.src.size)-s.off) ||
		im.src.size < 0 && s.size > maxTable || s.off > 1<<62 {
		return "", errTruncated
	}
	var b strings.Builder
	b.Grow(int(s.size))
	buf := make([]byte, min(s.size, stringWindow))
	for done := uint64(0); done < s.size; {
		n, err := im.src.readAt(buf[:min(uint64(len(buf)), s.size-done)], s.off+done)
		b.Write(buf[:n])
		done += uint64(n)
		if err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// versions reads the version of each dynamic symbol and the names of those
// versions that the image defines. Versions of what it needs are of no
// interest: such symbols are undefined.
func (im *Image) versions() ([]byte, map[uint16]string) {
	// The two sections come together or not at all. Their contents are a few
	// kilobytes in the C library, none in most programs.
	index, ok := im.section(".gnu.version")
	if !ok {
		return nil, nil
	}
	of, err := im.contents(index)
	if err != nil {
		return nil, nil
	}
	d, ok := im.section(".gnu.version_d")
	if !ok || uint64(d.link) >= uint64(len(im.sections)) {
		return nil, nil
	}
	defs, err := im.contents(d)
	strs, err2 := im.contents(im.sections[d.link])
	if err != nil || err2 != nil {
		return nil, nil
	}
	names := make(map[uint16]string)
	// Entries are chained by relative offsets; those never go back, and the
	// table's length bounds their number.
	for at := uint64(0); at < uint64(len(defs)); {
		c := cursor{b: defs, off: at}
		c.take(2) // format version
		flags, ndx, _ := c.u16(), c.u16(), c.u16()
		c.take(4) // hash
		aux, next := uint64(c.u32()), uint64(c.u32())
		n := cursor{b: defs, off: min(at+aux, uint64(len(defs)))}
		s := cursor{b: strs, off: min(uint64(n.u32()), uint64(len(strs)))}
		// The base definition (flag 1) is the library's own name, no version.
		if name := s.cstring(); !c.bad && !n.bad && !s.bad && flags&1 == 0 {
			names[ndx&^verHidden] = name
		}
		if next == 0 {
			break
		}
		at += next
	}
	return of, names
}
