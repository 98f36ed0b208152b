package symbols

import (
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"path/filepath"
	"sort"

	"alleria/internal/debuginfo"
)

// Lines come from debug/dwarf, unlike everything else here: line programs and
// their five versions are intricate, and nobody waits for them. They are read
// only when a line is asked for, which takes 0.1 s for the C library.

// ErrNoLine says that no line table covers an address, or that there is none.
var ErrNoLine = errors.New("no source line known")

const (
	// maxUnits is how many compilation units' lines are kept decoded. Look-ups
	// come in order of address (a report by line), so few do.
	maxUnits = 64
	// maxRows bounds one unit's table against a looping line program.
	maxRows = 4 << 20
)

// lineTable finds lines. Guarded by Image.lineMu.
type lineTable struct {
	file   *Image // the debug file, nil when the image has its own DWARF
	data   *debuginfo.Data
	ranges []unitRange // by low address
	units  map[dwarf.Offset][]lineRow
	calls  map[dwarf.Offset][]inlinedCall           // see Frames
	starts map[dwarf.Offset]map[uint64]dwarf.Offset // by unit: functions by their first address, see Subprogram
	params *paramTable                              // see HasParam
}

// unitRange is a stretch of code of one compilation unit.
type unitRange struct {
	low, high uint64
	unit      *dwarf.Entry
}

// lineRow is the first address of a line; file is empty where code has none.
type lineRow struct {
	addr uint64
	file string
	line int
}

// Line gives the source file and line of an address, from the image's DWARF or
// that of its separate debug file. Whatever is needed is read on the first call.
// Errors wrap ErrNoLine.
func (im *Image) Line(vaddr uint64) (file string, line int, err error) {
	im.lineMu.Lock()
	defer im.lineMu.Unlock()
	// debug/dwarf is not hardened like the rest of this package, and a damaged
	// debug file is no reason to lose a trace.
	defer func() {
		if p := recover(); p != nil {
			file, line, err = "", 0, fmt.Errorf("line of %s at %#x: %v: %w", im.Name, vaddr, p, ErrNoLine)
		}
	}()
	// Also a failure is kept: looking for debug files means a dozen stats, or the
	// network, and a report asks for thousands of lines.
	if im.lines == nil {
		im.lines = im.openLines()
	}
	r, ok := im.lines.find(vaddr)
	if !ok {
		return "", 0, fmt.Errorf("line of %s at %#x: %w", im.Name, vaddr, ErrNoLine)
	}
	return r.file, r.line, nil
}

// openLines finds the DWARF and makes its index of units. A table without data
// remembers that there is none.
func (im *Image) openLines() *lineTable {
	t := &lineTable{units: make(map[dwarf.Offset][]lineRow)}
	from := im
	if !im.hasDebugLines() {
		debug, err := im.debugImage()
		if err != nil || debug == nil {
			return t
		}
		t.file, from = debug, debug
	}
	// debug/elf unpacks compressed sections and relocates; the copy of the section
	// table that it makes is garbage again soon.
	f, err := elf.NewFile(from.src.r)
	if err != nil {
		return t
	}
	if t.data, err = debuginfo.Read(f); err != nil {
		t.data = nil
		return t
	}
	t.index()
	return t
}

// index lists the units' code. dwarf.Reader.SeekPC would do the same walk at
// each look-up.
func (t *lineTable) index() {
	for _, e := range t.data.Units() {
		// Inlined and partial units have no code ranges of their own.
		if e.Tag != dwarf.TagCompileUnit {
			continue
		}
		ranges, err := t.data.Ranges(e)
		if err != nil {
			continue
		}
		for _, p := range ranges {
			t.ranges = append(t.ranges, unitRange{p[0], p[1], e})
		}
	}
	sort.Slice(t.ranges, func(i, j int) bool { return t.ranges[i].low < t.ranges[j].low })
}

// find looks an address up.
func (t *lineTable) find(vaddr uint64) (lineRow, bool) {
	i := sort.Search(len(t.ranges), func(i int) bool { return t.ranges[i].low > vaddr }) - 1
	if i < 0 || vaddr >= t.ranges[i].high {
		return lineRow{}, false
	}
	unit := t.ranges[i].unit
	rows, ok := t.units[unit.Offset]
	if !ok {
		if len(t.units) >= maxUnits {
			clear(t.units)
		}
		rows = t.decode(unit)
		t.units[unit.Offset] = rows
	}
	// The last row not behind the address: a row holds until the next.
	i = sort.Search(len(rows), func(i int) bool { return rows[i].addr > vaddr }) - 1
	if i < 0 || rows[i].file == "" {
		return lineRow{}, false
	}
	return rows[i], true
}

// decode runs a unit's line program.
func (t *lineTable) decode(unit *dwarf.Entry) []lineRow {
	lr, err := t.data.LineReader(unit)
	if err != nil || lr == nil {
		return nil
	}
	var rows []lineRow
	var e dwarf.LineEntry
	// Line 0 is the compiler's mark for code that no line is to blame for.
	for len(rows) < maxRows && lr.Next(&e) == nil {
		r := lineRow{addr: e.Address}
		if !e.EndSequence && e.File != nil && e.Line > 0 {
			r.file, r.line = sourcePath(unit, e.File.Name), e.Line
		}
		rows = append(rows, r)
	}
	// Sequences come in any order. Where one ends and another begins at the
	// same address, the beginning counts, hence the end goes first.
	sort.SliceStable(rows, func(i, j int) bool {
		if rows[i].addr != rows[j].addr {
			return rows[i].addr < rows[j].addr
		}
		return rows[i].file == "" && rows[j].file != ""
	})
	return rows
}

// sourcePath makes a file's name absolute where the unit says in which directory it was
// compiled: debug/dwarf does so for DWARF 4 and not for 5.
func sourcePath(unit *dwarf.Entry, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	if dir, _ := unit.Val(dwarf.AttrCompDir).(string); filepath.IsAbs(dir) {
		return filepath.Join(dir, name)
	}
	return name
}

// close lets go of the debug file.
func (t *lineTable) close() error {
	if t == nil || t.file == nil {
		return nil
	}
	return t.file.Close()
}
