package symbols

import (
	"debug/gosym"
	"fmt"
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
	text := uint64(0)
	var table section
	for _, s := range im.sections {
		switch {
		case s.name == ".text":
			text = s.vaddr
		case strings.HasSuffix(s.name, goTableSection):
			table = s
		}
	}
	b, err := im.contents(table)
	if err != nil {
		return nil, err
	}
	t, err := gosym.NewTable(nil, gosym.NewLineTable(b, text))
	if err != nil {
		return nil, fmt.Errorf("%s: Go's function table: %w", im.Name, err)
	}
	for _, f := range t.Funcs {
		// Addresses that aren't code mean that the linker put the start of the
		// text elsewhere (an external linker, with C code before it): then all
		// would be off, and wrong names are worse than none.
		seg, ok := im.segment(f.Entry)
		if !ok || seg.Prot&Exec == 0 || f.End <= f.Entry {
			return nil, fmt.Errorf("%s: Go's function table does not fit the code: %w", im.Name, errTruncated)
		}
		size := min(f.End-f.Entry, seg.Vaddr+seg.MemSize-f.Entry)
		syms = append(syms, symbol{addr: f.Entry, size: size, name: f.Name, source: GoTable, global: true})
	}
	return syms, nil
}

// goTableSection is how the section's name ends; in position-independent
// programs something stands before it.
const goTableSection = "gopclntab"
