package symbols

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"sort"

	"alleria/internal/debuginfo"
)

// ErrNoTypes says that no debug information describes a function.
var ErrNoTypes = errors.New("no debug information")

// Subprogram gives the entry of the function that begins at an address in the image's debug information, or in that of its
// separate debug file, and the information itself. It is for one goroutine at a time. Errors wrap ErrNoTypes.
func (im *Image) Subprogram(vaddr uint64) (data *debuginfo.Data, entry *dwarf.Entry, err error) {
	im.lineMu.Lock()
	defer im.lineMu.Unlock()
	// As for lines: debug/dwarf is not hardened.
	defer func() {
		if p := recover(); p != nil {
			data, entry, err = nil, nil, fmt.Errorf("function of %s at %#x: %v: %w", im.Name, vaddr, p, ErrNoTypes)
		}
	}()
	if im.lines == nil {
		im.lines = im.openLines()
	}
	t := im.lines
	i := sort.Search(len(t.ranges), func(i int) bool { return t.ranges[i].low > vaddr }) - 1
	if t.data == nil || i < 0 || vaddr >= t.ranges[i].high {
		return nil, nil, fmt.Errorf("function of %s at %#x: %w", im.Name, vaddr, ErrNoTypes)
	}
	unit := t.ranges[i].unit
	starts := t.starts[unit.Offset]
	if starts == nil {
		starts = t.subprograms(unit)
		if t.starts == nil {
			t.starts = make(map[dwarf.Offset]map[uint64]dwarf.Offset)
		}
		t.starts[unit.Offset] = starts
	}
	at, ok := starts[vaddr]
	if !ok {
		return nil, nil, fmt.Errorf("function of %s at %#x: %w", im.Name, vaddr, ErrNoTypes)
	}
	r := t.data.Reader()
	r.Seek(at)
	if entry, err = r.Next(); err != nil || entry == nil {
		return nil, nil, fmt.Errorf("function of %s at %#x: %w", im.Name, vaddr, ErrNoTypes)
	}
	return t.data, entry, nil
}

// holdsFunctions tells whether functions may lie within an entry: within what groups them, or, nested or as methods of classes of their own, within others and their blocks.
func holdsFunctions(e *dwarf.Entry) bool {
	switch e.Tag {
	case dwarf.TagNamespace, dwarf.TagModule, dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagSubprogram, dwarf.TagLexDwarfBlock:
		return true
	}
	return false
}

// subprograms lists where a unit's functions begin.
func (t *lineTable) subprograms(unit *dwarf.Entry) map[uint64]dwarf.Offset {
	starts := make(map[uint64]dwarf.Offset)
	r := t.data.Reader()
	r.Seek(unit.Offset)
	if _, err := r.Next(); err != nil {
		return starts
	}
	for depth := 1; depth > 0; {
		e, err := r.Next()
		if err != nil || e == nil {
			break
		}
		switch {
		case e.Tag == 0:
			depth--
			continue
		case e.Tag == dwarf.TagSubprogram:
			if low, ok := e.Val(dwarf.AttrLowpc).(uint64); ok {
				starts[low] = e.Offset
			} else if ranges, err := t.data.Ranges(e); err == nil && len(ranges) > 0 {
				starts[ranges[0][0]] = e.Offset
			}
		}
		switch {
		case !e.Children:
		case holdsFunctions(e):
			depth++
		default:
			r.SkipChildren()
		}
	}
	return starts
}
