package symbols

import (
	"encoding/binary"
	"fmt"
	"sort"
	"strings"
)

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
