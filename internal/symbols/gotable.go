package symbols

import (
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"fmt"
	"sort"
	"strings"
)

// goTable reads the functions out of the table that Go programs carry for
// their own stack traces. It can't be stripped, which is fortunate, as Go's
// internal linker writes no .eh_frame: a stripped Go program would have no
// functions at all.
func (im *Image) goTable() (syms []symbol, err error) {
	if !im.golang {
		return nil, nil
	}
	// debug/gosym slices the table by counts that it finds in it.
	defer func() {
		if p := recover(); p != nil {
			syms, err = nil, fmt.Errorf("%s: Go's function table: %v: %w", im.Name, p, errTruncated)
		}
	}()
	var table section
	for _, s := range im.sections {
		if strings.HasSuffix(s.name, goTableSection) {
			table = s
		}
	}
	b, err := im.contents(table)
	if err != nil {
		return nil, err
	}
	misfit := fmt.Errorf("%s: Go's function table does not fit the code: %w", im.Name, errTruncated)
	text, ok := im.goText(table, b)
	if !ok { // wrong names are worse than none
		return nil, misfit
	}
	t, err := gosym.NewTable(nil, gosym.NewLineTable(b, text))
	if err != nil {
		return nil, fmt.Errorf("%s: Go's function table: %w", im.Name, err)
	}
	for _, f := range t.Funcs {
		seg, ok := im.segment(f.Entry)
		if !ok || seg.Prot&Exec == 0 || f.End <= f.Entry {
			return nil, misfit
		}
		size := min(f.End-f.Entry, seg.Vaddr+seg.MemSize-f.Entry)
		syms = append(syms, symbol{addr: f.Entry, size: size, name: f.Name, source: GoTable, global: true})
	}
	return syms, nil
}

// goTableSection is how the section's name ends; in position-independent
// programs something stands before it.
const goTableSection = "gopclntab"

// Of the head of a Go function table (runtime.pcHeader): two magic numbers whose tables have offsets in place of addresses,
// and where the fields lie that are needed here.
const (
	goMagic118, goMagic120 = 0xfffffff0, 0xfffffff1

	goHeadFuncs = 8       // number of functions
	goHeadText  = 8 + 2*8 // what offsets count from; 0 in programs of Go 1.26 and later
	goHeadTable = 8 + 7*8 // offset of the table of functions
	goHeadSize  = goHeadTable + 8

	// moduledata begins with the address of the head, and has the start of the text here.
	goModuleText = 8 + 6*24 + 3*8
)

// goText returns the address that the functions' offsets count from. It is the start of .text where Go's own linker has written the program,
// and lies behind C code of that section where another one has (cgo). The table's head says it, the program's own description of itself since Go 1.26;
// in position-independent programs what these words will hold stands in relocations.
//
// Whatever says it is held against the code, since breakpoints are put where functions are said to begin: ok is false where nothing fits.
func (im *Image) goText(table section, b []byte) (text uint64, ok bool) {
	start, _ := im.section(".text")
	if len(b) < goHeadSize {
		return start.vaddr, true // its reader says what is wrong
	}
	if magic := binary.LittleEndian.Uint32(b); magic != goMagic118 && magic != goMagic120 {
		return start.vaddr, true // older ones have addresses
	}
	said := []uint64{binary.LittleEndian.Uint64(b[goHeadText:])}
	if s, found := im.slotAt(table.vaddr + goHeadText); found {
		said = append(said, s.addend)
	}
	for _, at := range im.goModules(table.vaddr) {
		said = append(said, im.wordAt(at+goModuleText))
	}
	for _, text := range append(said, start.vaddr) {
		if text != 0 && im.fitsGoText(b, text) {
			return text, true
		}
	}
	return 0, false
}

// goModules returns where the address of a table's head stands in data: at the start of the module's description among others.
func (im *Image) goModules(head uint64) (at []uint64) {
	im.eachSlot(func(addr uint64, s slot) bool {
		if s.kind == relocRelative && s.addend == head {
			at = append(at, addr)
		}
		return true
	})
	for _, s := range im.sections {
		if s.kind != elf.SHT_PROGBITS || s.vaddr == 0 || s.vaddr%8 != 0 || elf.SectionFlag(s.flags)&elf.SHF_WRITE == 0 {
			continue
		}
		b, err := im.contents(s)
		if err != nil {
			continue
		}
		for i := 0; i+8 <= len(b); i += 8 {
			if binary.LittleEndian.Uint64(b[i:]) == head {
				at = append(at, s.vaddr+uint64(i))
			}
		}
	}
	return at
}

// wordAt returns the word that will lie at an address, 0 if none is known to.
func (im *Image) wordAt(vaddr uint64) uint64 {
	if s, ok := im.slotAt(vaddr); ok {
		return s.addend
	}
	b := im.table(vaddr, 8)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// goSamples is how many functions are held against the code.
const goSamples = 256

// fitsGoText tells whether functions begin behind each other's padding, which is int3, if their offsets count from text. That of a function
// whose length is a multiple of the alignment has none: half of them has to.
func (im *Image) fitsGoText(b []byte, text uint64) bool {
	n, at := binary.LittleEndian.Uint64(b[goHeadFuncs:]), binary.LittleEndian.Uint64(b[goHeadTable:])
	if at > uint64(len(b)) || n > (uint64(len(b))-at)/8 {
		return false
	}
	padded, seen := 0, 0
	for i := uint64(1); i < n; i += n/goSamples + 1 {
		addr := text + uint64(binary.LittleEndian.Uint32(b[at+i*8:]))
		seg, ok := im.segment(addr)
		if !ok || seg.Prot&Exec == 0 {
			return false
		}
		seen++
		if before := im.table(addr-1, 1); before != nil && before[0] == 0xcc {
			padded++
		}
	}
	return 2*padded >= seen
}

// GoFrames is what a Go program says of the stack that its functions have taken, instruction by instruction: the table by which its runtime reads
// stacks. It is there in stripped programs too, where Go's linker writes no other.
type GoFrames struct {
	funcs []byte // entry and record of each function, offsets of 32 bits
	table []byte // funcs and the records
	sizes []byte // programs of sizes
	text  uint64
}

// Of the head of the table, and of a function's record (runtime._func) since Go 1.20.
const (
	goHeadSizes = 8 + 6*8 // offset of the programs of sizes

	goRecordSizes = 16
	goRecordFlag  = 41
	goRecordSize  = 44

	goTopFrame = 1 // nobody has called it
	goSPWrite  = 2 // its stack may be another one than its caller's
)

// GoFrames returns what a Go program says of its frames; nil: it is none, or from before Go 1.20.
func (im *Image) GoFrames() (*GoFrames, error) {
	if !im.golang {
		return nil, nil
	}
	for _, s := range im.sections {
		if !strings.HasSuffix(s.name, goTableSection) {
			continue
		}
		b, err := im.contents(s)
		if err != nil {
			return nil, err
		}
		if len(b) < goHeadSize || binary.LittleEndian.Uint32(b) != goMagic120 {
			return nil, nil
		}
		text, ok := im.goText(s, b)
		n, at, sizes := binary.LittleEndian.Uint64(b[goHeadFuncs:]), binary.LittleEndian.Uint64(b[goHeadTable:]), binary.LittleEndian.Uint64(b[goHeadSizes:])
		if !ok || at > uint64(len(b)) || n > (uint64(len(b))-at)/8 || sizes > uint64(len(b)) {
			return nil, fmt.Errorf("%s: Go's function table does not fit the code: %w", im.Name, errTruncated)
		}
		return &GoFrames{funcs: b[at : at+8*n], table: b[at:], sizes: b[sizes:], text: text}, nil
	}
	return nil, nil
}

// Size is how much of the stack lies between the stack pointer and the return address, in front of the instruction at an address of the image. top:
// nobody has called its function. ok: it is known.
func (g *GoFrames) Size(vaddr uint64) (size uint64, top, ok bool) {
	off := vaddr - g.text
	word := func(i int) uint64 { return uint64(binary.LittleEndian.Uint32(g.funcs[i:])) }
	i := sort.Search(len(g.funcs)/8, func(i int) bool { return word(8*i) > off }) - 1
	if i < 0 {
		return 0, false, false
	}
	at := word(8*i + 4)
	if at > uint64(len(g.table)) || uint64(len(g.table))-at < goRecordSize {
		return 0, false, false
	}
	record := g.table[at:]
	switch flag := record[goRecordFlag]; {
	case flag&goTopFrame != 0:
		return 0, true, true
	case flag&goSPWrite != 0:
		return 0, false, false
	}
	size, ok = g.run(uint64(binary.LittleEndian.Uint32(record[goRecordSizes:])), off-word(8*i))
	return size, false, ok
}

// run executes a program of sizes: what the size changes by, and for how many bytes of code it is so, until one covers the instruction at off.
func (g *GoFrames) run(program, off uint64) (uint64, bool) {
	if program == 0 || program > uint64(len(g.sizes)) {
		return 0, false
	}
	size, pc := int64(-1), uint64(0)
	for b := g.sizes[program:]; ; {
		by, n := binary.Uvarint(b)
		if n <= 0 || by == 0 && pc != 0 {
			return 0, false
		}
		length, k := binary.Uvarint(b[n:])
		if k <= 0 {
			return 0, false
		}
		b = b[n+k:]
		size += int64(by>>1) ^ -int64(by&1)
		if pc += length; off < pc {
			return uint64(size), size >= 0
		}
	}
}
