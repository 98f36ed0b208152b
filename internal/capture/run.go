package capture

import (
	"encoding/binary"
	"io"
	"math/bits"
	"slices"
)

// Machine is a thread at a call's entry or return.
type Machine interface {
	// Value puts the bytes of a source into b, as many as b has; false: they cannot be had.
	Value(src Source, b []byte) bool
	// ReadAt reads the application's memory. It may return fewer bytes, with an error.
	io.ReaderAt
}

// Run captures items, with at most maxBytes of targets, and appends the words to dst. cut tells that the bound
// ended it.
func Run(m Machine, items []Item, maxBytes uint32, dst []uint64) (words []uint64, cut bool) {
	r := Runner{m: m, words: dst}
	return r.run(items, maxBytes)
}

// Runner captures one call after the other, with the memory that it had for those before, and reads by pages (see pages). The zero value is ready.
type Runner struct {
	m     Machine
	left  int // bytes
	words []uint64
	seen  map[seenKey]int // the bytes that were captured
	room  []byte          // of targets that are under way, those of the innermost last
	pages pages
}

// mostKept is how much memory of each kind a Runner keeps for its next capture.
const mostKept = 1 << 20

// Run is the function Run, for first and what comes behind it. The words are valid until the next Run.
func (r *Runner) Run(m Machine, items []Item, maxBytes uint32, first []uint64) (words []uint64, cut bool) {
	if cap(r.room) > mostKept || cap(r.words) > mostKept/8 {
		r.room, r.words = nil, nil
	}
	clear(r.seen)
	r.m, r.room, r.words = r.pages.over(m), r.room[:0], append(r.words[:0], first...)
	return r.run(items, maxBytes)
}

func (r *Runner) run(items []Item, maxBytes uint32) (words []uint64, cut bool) {
	r.left = int(maxBytes)
	if r.seen == nil {
		r.seen = make(map[seenKey]int)
	}
	for i := range items {
		it := &items[i]
		r.room = r.room[:0]
		b := r.make(uint64(it.Bytes))
		clear(b)
		r.m.Value(it.Src, b) // zeros if it cannot
		r.put(b)
		if !r.points(b, it.Points) {
			return r.words, true
		}
	}
	return r.words, false
}

// make is n more bytes of room, with anything in them. Where room moves, the bytes before stay where they are, for who has them.
func (r *Runner) make(n uint64) []byte {
	r.room = slices.Grow(r.room, int(n))
	r.room = r.room[:len(r.room)+int(n)]
	return r.room[len(r.room)-int(n):]
}

// seenKey is what a target is known by: a list that leads back to itself would never end. Where a variable
// says how long it is, it is known as far as it was captured.
type seenKey struct {
	addr uint64
	t    *Target
}

// put appends bytes, padded.
func (r *Runner) put(b []byte) {
	var w [8]byte
	for len(b) >= 8 {
		r.words = append(r.words, binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	if len(b) > 0 {
		copy(w[:], b)
		r.words = append(r.words, binary.LittleEndian.Uint64(w[:]))
	}
}

// points captures what the pointers in b lead to; false: the bound is reached.
func (r *Runner) points(b []byte, ps []Pointer) bool {
	for _, p := range ps {
		if r.left <= 0 {
			return false
		}
		ptr := binary.LittleEndian.Uint64(b[p.Off:])
		if !r.part(ptr, p.Target, b) {
			return false
		}
	}
	return true
}

// part captures one target. record is the bytes that hold the pointer.
func (r *Runner) part(ptr uint64, t *Target, record []byte) bool {
	if ptr == 0 {
		return r.none(Null)
	}
	key := seenKey{ptr, t}
	if had, seen := r.seen[key]; seen && !r.longer(ptr, t, record, had) {
		return r.none(Seen)
	}
	had := len(r.room)
	defer func() { r.room = r.room[:had] }()
	data, status := r.read(ptr, t, record)
	if len(data) > r.left {
		whole := r.left - r.left%int(max(t.Size, 1))
		if t.Dec {
			data = data[len(data)-whole:]
		} else {
			data = data[:whole]
		}
		status = Bounded
	}
	r.seen[key] = len(data)
	r.left -= max(len(data), 8)
	r.words = append(r.words, PartWord(status, len(data)))
	r.put(data)
	for i := 0; i+int(t.Size) <= len(data) && len(t.Points) > 0; i += int(t.Size) {
		if !r.points(data[i:i+int(t.Size)], t.Points) {
			return false
		}
	}
	return true
}

// longer tells whether a target that was captured before, so many bytes of it, is longer this time.
func (r *Runner) longer(ptr uint64, t *Target, record []byte, had int) bool {
	if t.Len.Kind == Fixed || t.Len.Kind == Sentinel {
		return false
	}
	_, bytes, ok := r.extent(ptr, t, record)
	return ok && min(bytes, uint64(t.Max)) > uint64(had)
}

// none appends a part without bytes. It costs a word of the bound, or an endless list of nulls would cost nothing.
func (r *Runner) none(s Status) bool {
	r.left -= 8
	r.words = append(r.words, PartWord(s, 0))
	return true
}

// read reads a target's bytes.
func (r *Runner) read(ptr uint64, t *Target, record []byte) ([]byte, Status) {
	size, most := uint64(t.Size), uint64(t.Max)
	switch {
	case t.Len.Kind == Sentinel && t.Dec:
		return r.sentinelBelow(ptr, t)
	case t.Len.Kind == Sentinel:
		return r.sentinel(ptr, t)
	}
	from, bytes, ok := r.extent(ptr, t, record)
	switch {
	case !ok:
		return nil, Unknown
	case bytes <= most:
		return r.bytes(from, bytes)
	}
	whole := most / size * size // whole elements, those nearest to the pointer
	if t.Dec {
		from += bytes - whole
	}
	data, status := r.bytes(from, whole)
	if status == Whole {
		status = Bounded
	}
	return data, status
}

// extent is where a target of known length begins, and how long it is.
func (r *Runner) extent(ptr uint64, t *Target, record []byte) (from, bytes uint64, ok bool) {
	size := uint64(t.Size)
	switch t.Len.Kind {
	case Fixed:
		bytes, ok = times(t.Len.N, size)
	case Count:
		var n uint64
		if n, ok = r.variable(&t.Len.Var, record); ok {
			bytes, ok = times(n, size)
		}
	case End, Start:
		var other uint64
		if other, ok = r.variable(&t.Len.Var, record); !ok {
			return 0, 0, false
		}
		lo, hi := ptr, other
		if t.Len.Kind == Start {
			lo, hi = other, ptr
		}
		if t.Len.EndValid {
			hi += size
		}
		if hi < lo {
			return 0, 0, false
		}
		return lo, (hi - lo) / size * size, true
	}
	if t.Dec && ok {
		return ptr + size - bytes, bytes, true
	}
	return ptr, bytes, ok
}

// times multiplies; false where that is no length of anything.
func times(n, size uint64) (uint64, bool) {
	hi, lo := bits.Mul64(n, size)
	return lo, hi == 0 && lo < 1<<48
}

// variable is the value of a length's variable.
func (r *Runner) variable(v *Var, record []byte) (uint64, bool) {
	var b [8]byte
	n := int(v.Bytes)
	if v.Deref {
		n = 8
	}
	if v.Field {
		if int(v.Off)+n > len(record) {
			return 0, false
		}
		copy(b[:], record[v.Off:int(v.Off)+n])
	} else if !r.m.Value(v.Src, b[:n]) {
		return 0, false
	}
	if v.Deref {
		addr := binary.LittleEndian.Uint64(b[:])
		b = [8]byte{}
		if got, _ := r.m.ReadAt(b[:v.Bytes], int64(addr)); got < int(v.Bytes) {
			return 0, false
		}
	}
	x := binary.LittleEndian.Uint64(b[:])
	if v.Signed && v.Bytes > 0 && x>>(8*v.Bytes-1)&1 == 1 {
		return 0, true
	}
	return x, true
}

// bytes reads memory, as far as it can be read.
func (r *Runner) bytes(addr, n uint64) ([]byte, Status) {
	b := r.make(n)
	for at := uint64(0); at < n; {
		step := min(n-at, pageSize-(addr+at)%pageSize)
		got, _ := r.m.ReadAt(b[at:at+step], int64(addr+at))
		at += uint64(got)
		if uint64(got) < step {
			return b[:at], Unreadable
		}
	}
	return b, Whole
}

// sentinel reads elements up to the one that ends them. Page by page: what lies behind may not be readable.
func (r *Runner) sentinel(ptr uint64, t *Target) ([]byte, Status) {
	size, most := uint64(t.Size), uint64(t.Max)/uint64(t.Size)*uint64(t.Size)
	end := t.end()
	start := len(r.room)
	var data []byte
	for done := uint64(0); ; {
		if uint64(len(data)) >= most {
			return data[:most], Bounded
		}
		at := ptr + uint64(len(data))
		more, status := r.bytes(at, min(pageSize-at%pageSize, most-uint64(len(data))))
		data = r.room[start : start+len(data)+len(more)] // one behind the other
		for ; done+size <= uint64(len(data)); done += size {
			if string(data[done:done+size]) == string(end) {
				return data[:done+size], Whole
			}
		}
		if status != Whole {
			return data[:uint64(len(data))/size*size], Unreadable
		}
	}
}

// sentinelBelow is sentinel for elements that lie downwards from the last, which the pointer holds. The bytes are in the
// order of addresses all the same: the sentinel is the first of them.
func (r *Runner) sentinelBelow(ptr uint64, t *Target) ([]byte, Status) {
	size, most := uint64(t.Size), uint64(t.Max)/uint64(t.Size)
	end := t.end()
	var back []byte // elements, the last first
	status := Bounded
	for n := uint64(0); n < most; n++ {
		elem, st := r.bytes(ptr-n*size, size)
		if st != Whole {
			status = Unreadable
			break
		}
		back = append(back, elem...)
		if string(elem) == string(end) {
			status = Whole
			break
		}
	}
	data := make([]byte, 0, len(back))
	for at := len(back); at > 0; at -= int(size) {
		data = append(data, back[at-int(size):at]...)
	}
	return data, status
}

// end is the bytes of the element that ends a target.
func (t *Target) end() []byte {
	end := make([]byte, t.Size)
	for i := range min(t.Size, 8) {
		end[i] = byte(t.Len.N >> (8 * i))
	}
	return end
}
