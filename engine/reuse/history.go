package reuse

import (
	"fmt"
	"os"

	"alleria/engine/codecache"
	"alleria/internal/sys"
)

// A program that was run before in the tree asks for the same code in the same order, wherever its images
// lie now. So what each program asks for is remembered, as places in files, and a dispatch for one of them has those
// translated that came next the last time: from the code as it is now, as ever. The dispatch costs
// more than the translation: two switches of threads, a hundred times what a short group takes to write.
//
// It is for what is not taken over whole (taken.go): processes that something is asked of. It goes with the run.

const (
	// prefetchLook is how far is looked for what is to be translated with a dispatch.
	prefetchLook = 128
	// historyMost bounds what is remembered of a program.
	historyMost = 1 << 17
)

// History is what programs have asked for, by program. Only the tracer's goroutine touches it.
type History struct {
	Off      bool
	files    map[fileID]uint64 // numbers of files
	programs map[string]*Program
}

// fileID names a file as /proc/PID/maps does.
type fileID struct {
	dev   string
	inode uint64
}

// Program is what one program has asked for, by what its translations do besides running.
type Program struct {
	Path  string // empty for forked children, of which no templates are kept
	kinds [3]Sequence
}

// Sequence is a sequence of places, each once, and where each stands in it.
type Sequence struct {
	order codecache.Pool[Place]
	// at has where each place stands, plus 1, by the place's hash: open, probed linearly, a power of two. Go's maps took four times the memory.
	at []int32
}

// Place is a place in a file: the number of the file, whether an indirect branch led there, and the offset.
type Place uint64

const (
	placeFile     = 49 // bits from here on
	placeIndirect = 48
)

// HistoryOf finds what is known of the program that a process executes, or of what its forked children do, which is another thing; nil where that
// cannot be told.
func (h *History) HistoryOf(pid int, forked bool) *Program {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return nil
	}
	key := path
	if forked {
		key, path = path+"\x00forked", ""
	}
	p := h.programs[key]
	if p == nil {
		if h.programs == nil {
			h.programs, h.files = make(map[string]*Program), make(map[fileID]uint64)
		}
		p = &Program{Path: path}
		h.programs[key] = p
	}
	return p
}

// file is the number of a mapped file.
func (h *History) file(m *sys.Mapping) uint64 {
	id := fileID{m.Dev, m.Inode}
	n, ok := h.files[id]
	if !ok {
		n = uint64(len(h.files))
		h.files[id] = n
	}
	return n
}

// find is where a place stands, or a free slot for it.
func (a *Sequence) find(place Place) (slot uint64, known bool) {
	mask := uint64(len(a.at) - 1)
	for slot = uint64(place) * 0x9e3779b97f4a7c15 >> 32 & mask; a.at[slot] != 0; slot = (slot + 1) & mask {
		if *a.order.At(int(a.at[slot]) - 1) == place {
			return slot, true
		}
	}
	return slot, false
}

// add appends a place that was asked for and is not known.
func (a *Sequence) add(place Place) {
	if a.order.N >= historyMost {
		return
	}
	if (a.order.N+1)*4 > len(a.at)*3 {
		a.at = make([]int32, max(256, 2*len(a.at)))
		for n, known := range a.order.All() {
			slot, _ := a.find(known)
			a.at[slot] = int32(n) + 1
		}
	}
	slot, _ := a.find(place)
	a.order.Append(place)
	a.at[slot] = int32(a.order.N)
}

// Asked is the sequence that a variant goes by.
func (p *Program) Asked(v codecache.Variant) *Sequence {
	return &p.kinds[min(int(v), int(codecache.Record))]
}

// After is which places were asked for behind a place the last time, by number (At), from the first up to before the end; none the first time, when the
// place is noted. It is no iterator: one for each dispatch made five megabytes of garbage in a compiler's run.
func (a *Sequence) After(place Place) (first, end int) {
	if a.order.N != 0 {
		if slot, known := a.find(place); known {
			first = int(a.at[slot])
			return first, min(first+prefetchLook, a.order.N)
		}
	}
	a.add(place)
	return 0, 0
}

// At is the place of a number.
func (a *Sequence) At(n int) Place { return *a.order.At(n) }

// PlaceIn names an address in a mapping by the file that is mapped there; ok is false where none is.
func (h *History) PlaceIn(m *sys.Mapping, app uint64, indirect bool) (place Place, ok bool) {
	off := app - m.Start + m.Offset
	if m.Inode == 0 || off >= 1<<placeIndirect {
		return 0, false
	}
	place = Place(off | h.file(m)<<placeFile)
	if indirect {
		place |= 1 << placeIndirect
	}
	return place, true
}

// Indirect tells whether an indirect branch led to a place.
func (place Place) Indirect() bool { return place>>placeIndirect&1 != 0 }

// AddressOf is where a place is mapped; 0 if nowhere.
func (h *History) AddressOf(place Place, maps []sys.Mapping) uint64 {
	off, file := uint64(place)&(1<<placeIndirect-1), uint64(place)>>placeFile
	for i := range maps {
		m := &maps[i]
		if m.Inode != 0 && m.Offset <= off && off-m.Offset < m.End-m.Start && h.file(m) == file {
			return off - m.Offset + m.Start
		}
	}
	return 0
}
