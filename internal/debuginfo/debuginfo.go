// Package debuginfo is package debug/dwarf's data with the types of type units among it (-fdebug-types-section: types that a linker keeps
// one of, which are referred to by signatures, DW_FORM_ref_sig8, and not by offsets).
//
// Package debug/dwarf reads the type units of DWARF 4, in a section of their own, for its own types only, whose entries nobody sees, and
// knows no signatures of DWARF 5. Here the section's units are laid behind those of .debug_info (units.go), so that all types have
// offsets, and a table says which signature is which.
//
// Callers: internal/symbols, for functions by their parameters' types, and interceptors, for types. A Data is for one goroutine at a time,
// as dwarf.Data is. What damaged sections state is checked against their sizes; what cannot be read is not found.
//
// What it does not do: split debug information (.dwo), or what several files share (DW_FORM_GNU_ref_alt).
package debuginfo

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"sort"
	"strings"
)

// Data is one file's debug information.
type Data struct {
	*dwarf.Data
	types map[uint64]dwarf.Offset // by signature, once it was asked for
	info  func() ([]byte, error)  // reads .debug_info for that; nil: all signatures are known
	units []*dwarf.Entry          // see Units
	// read reads a section, sections has those that were asked for; see section.
	read     func(name string) ([]byte, error)
	sections map[string][]byte
}

// Of is debug information without type units.
func Of(data *dwarf.Data) *Data { return &Data{Data: data} }

// Read reads the debug information of a file, which has to stay open.
func Read(f *elf.File) (*Data, error) {
	types := find(f, "types")
	// Package elf relocates the sections of object files, which have several of types.
	if types == nil || f.Type == elf.ET_REL {
		data, err := f.DWARF()
		if err != nil {
			return nil, fmt.Errorf("debug information: %w", err)
		}
		read := func(name string) ([]byte, error) { return contents(f, name) }
		return &Data{Data: data, info: func() ([]byte, error) { return contents(f, "info") }, read: read}, nil
	}
	sections := make(map[string][]byte)
	for _, s := range f.Sections {
		if name := debugName(s.Name); name != "" && s.Type != elf.SHT_NOBITS {
			b, err := s.Data()
			if err != nil {
				return nil, fmt.Errorf("section %s: %w", s.Name, err)
			}
			sections[name] = b
		}
	}
	d := &Data{types: make(map[uint64]dwarf.Offset), read: func(name string) ([]byte, error) { return contents(f, name) }}
	signatures(sections["info"], d.types)
	info := join(sections["info"], sections["types"], d.types)
	var err error
	d.Data, err = dwarf.New(sections["abbrev"], nil, nil, info, sections["line"], nil, sections["ranges"], sections["str"])
	if err != nil {
		return nil, fmt.Errorf("debug information: %w", err)
	}
	for _, name := range []string{"abbrev", "info", "line", "ranges", "str", "types"} {
		delete(sections, name)
	}
	for name, b := range sections {
		if err := d.AddSection(".debug_"+name, b); err != nil {
			return nil, fmt.Errorf("section .debug_%s: %w", name, err)
		}
	}
	return d, nil
}

// debugName is what a section of debug information is called behind .debug_, or behind .zdebug_ where it is compressed as of old; empty: it is none.
func debugName(section string) string {
	if name, ok := strings.CutPrefix(section, ".debug_"); ok {
		return name
	}
	name, _ := strings.CutPrefix(section, ".zdebug_")
	if name == section {
		return ""
	}
	return name
}

// find finds a section of debug information with contents; nil: there is none.
func find(f *elf.File, name string) *elf.Section {
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NOBITS && debugName(s.Name) == name {
			return s
		}
	}
	return nil
}

// contents reads a section of debug information.
func contents(f *elf.File, name string) ([]byte, error) {
	s := find(f, name)
	if s == nil {
		return nil, nil
	}
	b, err := s.Data()
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", s.Name, err)
	}
	return b, nil
}

// Ref is the offset that an attribute of an entry refers to; false: it refers to none that is there.
func (d *Data) Ref(e *dwarf.Entry, attr dwarf.Attr) (dwarf.Offset, bool) {
	switch v := e.Val(attr).(type) {
	case dwarf.Offset:
		return v, true
	case uint64:
		if f := e.AttrField(attr); f.Class == dwarf.ClassReferenceSig {
			return d.typeUnit(v)
		}
	}
	return 0, false
}

// typeUnit is where the type of a signature is.
func (d *Data) typeUnit(signature uint64) (dwarf.Offset, bool) {
	if d.types == nil {
		d.types = make(map[uint64]dwarf.Offset)
		if d.info != nil {
			if b, err := d.info(); err == nil { // a file that was closed meanwhile has no types any more
				signatures(b, d.types)
			}
		}
	}
	off, ok := d.types[signature]
	return off, ok
}

// Units lists the entries of all units, in the order of their offsets.
func (d *Data) Units() []*dwarf.Entry {
	if d.units != nil {
		return d.units
	}
	ends := 0
	for r := d.Reader(); ends < MostEnds; r.SkipChildren() {
		e, err := r.Next()
		if err != nil || e == nil {
			break
		}
		if ends++; e.Tag != 0 { // of a type unit's header
			d.units, ends = append(d.units, e), 0
		}
	}
	return d.units
}

// MostEnds is how many entries that only end a list may follow each other where no list is open, before nothing more is read: of a number that is cut off, package
// debug/dwarf makes such entries without end.
const MostEnds = 1 << 16

// UnitOf is the entry of the unit that an entry is in; nil: none.
func (d *Data) UnitOf(e *dwarf.Entry) *dwarf.Entry {
	units := d.Units()
	if i := sort.Search(len(units), func(i int) bool { return units[i].Offset > e.Offset }); i > 0 {
		return units[i-1]
	}
	return nil
}

// Entry reads the entry at an offset; nil: there is none. One that only stands for a type of a type unit is that type.
func (d *Data) Entry(off dwarf.Offset) *dwarf.Entry {
	r := d.Reader()
	for range 4 {
		r.Seek(off)
		e, err := r.Next()
		if err != nil || e == nil {
			return nil
		}
		to, ok := d.Ref(e, dwarf.AttrSignature)
		if !ok || to == off {
			return e
		}
		off = to
	}
	return nil
}
