package calls

import (
	"encoding/binary"
	"fmt"
)

// Status is what became of a pointer's target.
type Status uint8

// The statuses. The numbers are the file's.
const (
	Whole      Status = iota
	Null              // the pointer is null: no bytes
	Unreadable        // as many bytes as could be read, maybe none
	Bounded           // cut at a bound
	Seen              // captured in this call before, from the same address: no bytes
	Unknown           // the length could not be told: no bytes
	Missing           // the call's bound ended the capture before
)

// String names the status as reports print it.
func (s Status) String() string {
	names := [...]string{"whole", "null", "unreadable", "cut", "seen", "unknown", "missing"}
	if int(s) < len(names) {
		return names[s]
	}
	return "unknown"
}

// Target is what a pointer leads to.
type Target struct {
	Status Status
	Data   []byte   // of all elements
	Points []Target // of each whole element in turn: its pointers in the order of Table.Points
}

// Value is a captured value.
type Value struct {
	Table   *Table
	Type    TypeID
	Data    []byte   // as many bytes as the type has, or fewer where they are missing
	Targets []Target // of its pointers, in the order of Table.Points
}

// Argument is a value with what it is of.
type Argument struct {
	Param int32 // index in Signature.Params, or ResultParam
	Extra int   // of a variable argument: which, from 1
	Value Value
}

// wordReader takes words one after the other.
type wordReader struct {
	table *Table
	words []uint64
	at    int
	room  []byte // the bytes of what was taken
	cut   bool   // the end of the words is the end of the capture
	ended bool   // it was met
	left  int    // of Parts: what damaged words may claim is bounded
	// What was captured, by where: the first, which mostly is the only one, and the others.
	firstKey  seenKey
	firstSeen []byte
	seen      map[seenKey][]byte
}

// seenKey is a target that was captured in this call.
type seenKey struct {
	addr uint64
	elem TypeID
}

// maxParts bounds the parts of one capture.
const maxParts = 1 << 20

// Values takes the words of a capture apart. cut: its end may be missing.
func (s *Signature) Values(t *Table, exit bool, words []uint64, cut bool) ([]Argument, error) {
	slots := s.Entry
	if exit {
		slots = s.Exit
	}
	r := wordReader{table: t, words: words, cut: cut, left: maxParts}
	out := make([]Argument, 0, len(slots))
	for i := range slots {
		v, err := r.slot(&slots[i])
		if err != nil {
			return out, fmt.Errorf("value %d of %s: %w", i, s.Name, err)
		}
		if r.ended && v.Data == nil {
			break
		}
		out = append(out, Argument{Param: slots[i].Param, Value: v})
	}
	if !r.ended && r.at < len(words) {
		return out, fmt.Errorf("%d words too many in a call of %s: %w", len(words)-r.at, s.Name, ErrCorrupt)
	}
	return out, nil
}

// take takes so many bytes, which fill whole words; nil at the end of a cut capture.
func (r *wordReader) take(n int) ([]byte, error) {
	words := (n + 7) / 8
	if words > len(r.words)-r.at {
		if r.cut {
			r.ended, r.at = true, len(r.words)
			return nil, nil
		}
		return nil, fmt.Errorf("cut short: %w", ErrCorrupt)
	}
	if cap(r.room)-len(r.room) < 8*words { // once: for all that is left
		r.room = make([]byte, 0, 8*(len(r.words)-r.at))
	}
	from := len(r.room)
	for _, w := range r.words[r.at : r.at+words] {
		r.room = binary.LittleEndian.AppendUint64(r.room, w)
	}
	r.at += words
	return r.room[from : from+n : len(r.room)], nil
}

// slot takes one value.
func (r *wordReader) slot(s *Slot) (Value, error) {
	v := Value{Table: r.table, Type: s.Type}
	size := r.table.Type(s.Type).Size
	if s.Hidden {
		if _, err := r.take(8); err != nil || r.ended {
			return v, err
		}
		t, err := r.part(s.Type, 0)
		v.Data, v.Targets = t.Data, t.Points
		if v.Data == nil {
			v.Data = []byte{}
		}
		return v, err
	}
	points, first := r.table.Points(s.Type), 0
	for _, p := range s.Pieces {
		b, err := r.take(int(p.Bytes))
		if err != nil || r.ended {
			return v, err
		}
		if v.Data == nil && p.Offset == 0 {
			v.Data = b
		} else if n := int(p.Offset) + len(b); n > len(v.Data) && p.Offset < 1<<24 {
			v.Data = append(v.Data, make([]byte, n-len(v.Data))...)
		}
		copy(v.Data[p.Offset:], b)
		if err := r.pointed(&v, p, b, points, &first); err != nil {
			return v, err
		}
	}
	if v.Data == nil {
		v.Data = []byte{}
	}
	v.Data = v.Data[:min(int(size), len(v.Data))]
	return v, nil
}

// pointed takes the targets of the pointers that lie in a piece. Rust's records need not have their fields in the order of their offsets; first is the first
// pointer that was not met yet.
func (r *wordReader) pointed(v *Value, p Piece, b []byte, points []Point, first *int) error {
	next := *first
	for i := *first; i < len(points) && len(b) >= 8; i++ {
		q := points[i]
		if q.Offset < p.Offset || uint64(q.Offset)+8 > uint64(p.Offset)+uint64(p.Bytes) {
			continue
		}
		if v.Targets == nil {
			v.Targets = missing(len(points))
		}
		var err error
		if v.Targets[i], err = r.part(r.table.Type(q.Type).Elem, pointerIn(b, q.Offset-p.Offset)); err != nil {
			return err
		}
		if i == next {
			next++
		}
	}
	*first = next
	return nil
}

// missing are targets of which nothing was captured.
func missing(n int) []Target {
	t := make([]Target, n)
	for i := range t {
		t[i].Status = Missing
	}
	return t
}

// pointerIn is the pointer at an offset of some bytes.
func pointerIn(b []byte, at uint32) uint64 {
	b = sub(b, at, 8)
	if len(b) < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// part takes a target of elements of a type, at an address.
func (r *wordReader) part(elem TypeID, addr uint64) (Target, error) {
	if r.left--; r.left < 0 {
		return Target{}, fmt.Errorf("too many parts: %w", ErrCorrupt)
	}
	if r.ended || r.at >= len(r.words) {
		if r.cut {
			r.ended = true
			return Target{Status: Missing}, nil
		}
		return Target{}, fmt.Errorf("cut short: %w", ErrCorrupt)
	}
	w := r.words[r.at]
	r.at++
	t := Target{Status: Status(w)}
	if w>>8 > 1<<40 || t.Status >= Missing {
		return t, fmt.Errorf("part %#x: %w", w, ErrCorrupt)
	}
	var err error
	if t.Data, err = r.take(int(w >> 8)); err != nil || r.ended {
		return t, err
	}
	if t.Status == Seen {
		t.Data = nil
	}
	points, size := r.table.Points(elem), int(r.table.Type(elem).Size)
	if len(points) == 0 || size == 0 {
		r.remember(&t, seenKey{addr, elem})
		return t, nil
	}
	for i := range len(t.Data) / size {
		for _, p := range points {
			next, err := r.part(r.table.Type(p.Type).Elem, pointerIn(t.Data, uint32(i*size)+p.Offset))
			if err != nil {
				return t, err
			}
			t.Points = append(t.Points, next)
		}
	}
	return t, nil
}

// remember keeps the bytes of a target without pointers, and gives them to the same one when it is seen again.
func (r *wordReader) remember(t *Target, key seenKey) {
	if t.Data == nil && t.Status == Whole {
		t.Data = []byte{} // it is known that there is nothing
	}
	switch {
	case key.addr == 0:
	case t.Status == Seen && key == r.firstKey:
		t.Data = r.firstSeen
	case t.Status == Seen:
		t.Data = r.seen[key]
	case len(t.Data) == 0 && t.Status != Whole:
	case r.firstSeen == nil || key == r.firstKey:
		r.firstKey, r.firstSeen = key, t.Data
	default:
		if r.seen == nil {
			r.seen = make(map[seenKey][]byte)
		}
		r.seen[key] = t.Data
	}
}
