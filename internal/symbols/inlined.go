package symbols

import (
	"debug/dwarf"
	"fmt"
	"sort"
)

// Frame is a function at an address: one that was inlined there, or the one that others were
// inlined into.
type Frame struct {
	Function string // as linked, else as in the source; empty: not known
	File     string // where in its source the address is; empty: not known
	Line     int
}

// UnitLine is a place where a line of the source begins. Several lines may begin at one
// address: all but the last have no code of their own there.
type UnitLine struct {
	Addr uint64
	File string
	Line int
}

// inlinedCall is a stretch of code of a function that was inlined, or of a whole function.
type inlinedCall struct {
	low, high uint64
	depth     int // 0: not inlined
	name      string
	file      string // where it was called
	line      int
}

// Frames returns what is at an address: the innermost inlined function first, the function
// that the code is of last. Without DWARF there is one frame at most, and an error that wraps
// ErrNoLine.
func (im *Image) Frames(vaddr uint64) (frames []Frame, err error) {
	file, line, err := im.Line(vaddr)
	if err != nil {
		return nil, err
	}
	im.lineMu.Lock()
	defer im.lineMu.Unlock()
	defer func() { // as in Line
		if p := recover(); p != nil {
			frames, err = nil, fmt.Errorf("frames of %s at %#x: %v: %w", im.Name, vaddr, p, ErrNoLine)
		}
	}()
	calls := im.lines.callsAt(vaddr)
	for i := len(calls) - 1; i >= 0; i-- {
		frames = append(frames, Frame{calls[i].name, file, line})
		file, line = calls[i].file, calls[i].line
	}
	if len(frames) == 0 {
		frames = []Frame{{"", file, line}}
	}
	return frames, nil
}

// UnitLines returns a number of the compilation unit that has code at an address, and all
// lines that it has code of, by address.
func (im *Image) UnitLines(vaddr uint64) (unit uint64, lines []UnitLine, err error) {
	if _, _, err := im.Line(vaddr); err != nil {
		return 0, nil, err
	}
	im.lineMu.Lock()
	defer im.lineMu.Unlock()
	u := im.lines.unitAt(vaddr)
	for _, r := range im.lines.units[u.Offset] {
		if r.file != "" {
			lines = append(lines, UnitLine{r.addr, r.file, r.line})
		}
	}
	return uint64(u.Offset), lines, nil
}

// unitAt returns the unit with code at an address; there is one.
func (t *lineTable) unitAt(vaddr uint64) *dwarf.Entry {
	return t.ranges[sort.Search(len(t.ranges), func(i int) bool { return t.ranges[i].low > vaddr })-1].unit
}

// callsAt returns what holds an address, from the whole function inwards.
func (t *lineTable) callsAt(vaddr uint64) (at []inlinedCall) {
	unit := t.unitAt(vaddr)
	all, ok := t.calls[unit.Offset]
	if !ok {
		if t.calls == nil || len(t.calls) >= maxUnits {
			t.calls = make(map[dwarf.Offset][]inlinedCall)
		}
		all = t.readCalls(unit)
		t.calls[unit.Offset] = all
	}
	// Behind a function come the calls in it: the last function not behind the address
	// has all there is.
	n := sort.Search(len(all), func(i int) bool { return all[i].low > vaddr })
	for n--; n >= 0; n-- {
		if c := &all[n]; vaddr < c.high {
			at = append(at, *c)
		}
		if all[n].depth == 0 {
			break
		}
	}
	sort.SliceStable(at, func(i, j int) bool { return at[i].depth < at[j].depth })
	return at
}

// readCalls lists a unit's functions and what was inlined into them, by address and depth.
func (t *lineTable) readCalls(unit *dwarf.Entry) []inlinedCall {
	var files []*dwarf.LineFile
	if lr, err := t.data.LineReader(unit); err == nil && lr != nil {
		files = lr.Files()
	}
	var all []inlinedCall
	r := t.data.Reader()
	r.Seek(unit.Offset)
	if _, err := r.Next(); err != nil {
		return nil
	}
	var depths []int // of inlining, at each level of the tree
	depth := 0
	for {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == dwarf.TagCompileUnit {
			break
		}
		if e.Tag == 0 { // the end of a level
			if len(depths) == 0 {
				break
			}
			depth, depths = depths[len(depths)-1], depths[:len(depths)-1]
			continue
		}
		inner := depth
		switch e.Tag {
		case dwarf.TagSubprogram:
			inner = 1
			all = t.appendCall(all, unit, e, 0, files)
		case dwarf.TagInlinedSubroutine:
			all = t.appendCall(all, unit, e, depth, files)
			inner = depth + 1
		}
		if e.Children {
			depths, depth = append(depths, depth), inner
		}
	}
	sort.SliceStable(all, func(i, j int) bool {
		if all[i].low != all[j].low {
			return all[i].low < all[j].low
		}
		return all[i].depth < all[j].depth
	})
	return all
}

// appendCall appends each stretch of code of an entry.
func (t *lineTable) appendCall(all []inlinedCall, unit, e *dwarf.Entry, depth int, files []*dwarf.LineFile) []inlinedCall {
	ranges, err := t.data.Ranges(e)
	if err != nil {
		return all
	}
	c := inlinedCall{depth: depth}
	if len(ranges) > 0 {
		c.name = t.nameOf(e, 8)
		if i, ok := e.Val(dwarf.AttrCallFile).(int64); ok && i >= 0 && int(i) < len(files) && files[i] != nil {
			c.file = sourcePath(unit, files[i].Name)
		}
		line, _ := e.Val(dwarf.AttrCallLine).(int64)
		c.line = int(line)
	}
	for _, p := range ranges {
		c.low, c.high = p[0], p[1]
		all = append(all, c)
	}
	return all
}

// nameOf returns a function's linked name, else its own, from whichever entry has it. An
// entry refers to another at most so many times.
func (t *lineTable) nameOf(e *dwarf.Entry, times int) string {
	if name, ok := e.Val(dwarf.AttrLinkageName).(string); ok {
		return name
	}
	for _, attr := range []dwarf.Attr{dwarf.AttrAbstractOrigin, dwarf.AttrSpecification} {
		if off, ok := e.Val(attr).(dwarf.Offset); ok && times > 0 {
			r := t.data.Reader()
			r.Seek(off)
			if of, err := r.Next(); err == nil && of != nil {
				if name := t.nameOf(of, times-1); name != "" {
					return name
				}
			}
		}
	}
	name, _ := e.Val(dwarf.AttrName).(string)
	return name
}
