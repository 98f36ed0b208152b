package engine

import (
	"fmt"
	"os"

	"alleria/internal/sys"
)

// A program that was run before in the tree asks for the same code in the same order, wherever its images
// lie now. So what each program asks for is remembered, as places in files, and a request for one of them has those
// translated that came next the last time: from the code as it is now, as ever. The dispatch costs
// more than the translation: two switches of threads, a hundred times what a short unit takes to write.
//
// It is for what is not taken over whole (reuse.go): recording code, and processes that something is asked of. Refused: a cache on disk;
// what is left of a start is not translation.

const (
	// prefetchMost is how much is translated with a request, and prefetchLook how far is looked for it.
	prefetchMost = 32
	prefetchLook = 128
	// historyMost bounds what is remembered of a program.
	historyMost = 1 << 17
)

// history is what programs have asked for, by program. Only the tracer's goroutine touches it.
type history struct {
	off      bool
	files    map[fileID]uint64 // numbers of files
	programs map[string]*programHistory
}

// fileID names a file as /proc/PID/maps does.
type fileID struct {
	dev   string
	inode uint64
}

// programHistory is what one program has asked for, by what its translations do besides running.
type programHistory struct {
	path  string
	kinds [3]askedFor
}

// askedFor is a sequence of places, each once, and where each stands in it.
type askedFor struct {
	order []filePlace
	at    map[filePlace]int32
}

// filePlace is a place in a file: the number of the file, whether an indirect branch led there, and the offset.
type filePlace uint64

const (
	placeFile     = 49 // bits from here on
	placeIndirect = 48
)

// kindOf is which of a program's sequences a variant goes by.
func kindOf(v Variant) int { return min(int(v), int(Record)) }

// historyOf finds what is known of the program that a process executes; nil where that cannot be told.
func (h *history) historyOf(pid int) *programHistory {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return nil
	}
	p := h.programs[path]
	if p == nil {
		if h.programs == nil {
			h.programs, h.files = make(map[string]*programHistory), make(map[fileID]uint64)
		}
		p = &programHistory{path: path}
		h.programs[path] = p
	}
	return p
}

// placeIn names an address by the file that is mapped there; ok is false where none is.
func (p *Process) placeIn(app uint64, indirect bool) (filePlace, bool) {
	if !p.executable(app) {
		return 0, false
	}
	m := p.code.mapping(app)
	off := app - m.Start + m.Offset
	if m.Inode == 0 || off >= 1<<placeIndirect {
		return 0, false
	}
	place := filePlace(off | p.tr.history.file(m)<<placeFile)
	if indirect {
		place |= 1 << placeIndirect
	}
	return place, true
}

// file is the number of a mapped file.
func (h *history) file(m *sys.Mapping) uint64 {
	id := fileID{m.Dev, m.Inode}
	n, ok := h.files[id]
	if !ok {
		n = uint64(len(h.files))
		h.files[id] = n
	}
	return n
}

// addressOf is where a place is mapped in the process; 0 if nowhere.
func (p *Process) addressOf(place filePlace) uint64 {
	off, file := uint64(place)&(1<<placeIndirect-1), uint64(place)>>placeFile
	for i := range p.code.maps {
		m := &p.code.maps[i]
		if m.Inode != 0 && m.Offset <= off && off-m.Offset < m.End-m.Start && p.tr.history.file(m) == file {
			return off - m.Offset + m.Start
		}
	}
	return 0
}

// prefetch remembers that app was asked for, and translates what followed the last time that the program ran.
func (p *Process) prefetch(app uint64, v Variant, indirect bool) {
	if p.past == nil || p.tr.history.off || v == Aside {
		return
	}
	place, ok := p.placeIn(app, indirect)
	if !ok {
		return
	}
	seq := &p.past.kinds[kindOf(v)]
	i, known := seq.at[place]
	if !known {
		seq.add(place)
		return
	}
	left := prefetchMost
	for _, next := range seq.order[i+1 : min(int(i)+1+prefetchLook, len(seq.order))] {
		if left == 0 {
			return
		}
		if at := p.addressOf(next); at != 0 && !p.notify[at] && p.makeReady(at, v, next>>placeIndirect&1 != 0) {
			left--
		}
	}
}

// makeReady translates what an address needs that is about to be asked for; false if it is there.
func (p *Process) makeReady(at uint64, v Variant, indirect bool) bool {
	if indirect {
		if p.hasHead(at, v) {
			return false
		}
		_, ok := p.head(at, v)
		return ok
	}
	return p.blockOf(at, v) == nil && p.translate(at, v) != nil
}

// add appends a place that was asked for.
func (a *askedFor) add(place filePlace) {
	if len(a.order) >= historyMost {
		return
	}
	if a.at == nil {
		a.at = make(map[filePlace]int32)
	}
	a.at[place] = int32(len(a.order))
	a.order = append(a.order, place)
}
