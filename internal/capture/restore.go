package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrIncomplete is wrapped by the errors of Restore: what was captured is not enough for calling the function again.
var ErrIncomplete = errors.New("not captured whole")

// Block is bytes that lay somewhere when a call was captured.
type Block struct {
	Addr uint64
	Data []byte
}

// Restored is a call as it was captured: what lay in each Item, and behind pointers.
type Restored struct {
	Values [][]byte // one for each item
	Memory []Block  // in the order of the capture
}

// Restore takes the words of a capture by items apart: the opposite of Run.
func Restore(items []Item, words []uint64) (*Restored, error) {
	r := restorer{words: words}
	var out Restored
	for i := range items {
		b, err := r.take(int(items[i].Bytes))
		if err != nil {
			return nil, err
		}
		out.Values = append(out.Values, b)
		if err := r.points(&out, b, items[i].Points); err != nil {
			return nil, err
		}
	}
	if len(r.words) > 0 {
		return nil, fmt.Errorf("%d words too many: %w", len(r.words), ErrIncomplete)
	}
	return &out, nil
}

// restorer takes words one after the other.
type restorer struct{ words []uint64 }

func (r *restorer) take(n int) ([]byte, error) {
	k := WordsOf(n)
	if k > len(r.words) {
		return nil, fmt.Errorf("its capture was cut: %w", ErrIncomplete)
	}
	var b []byte
	for _, w := range r.words[:k] {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	r.words = r.words[k:]
	return b[:n], nil
}

func (r *restorer) points(out *Restored, b []byte, ps []Pointer) error {
	for _, p := range ps {
		if int(p.Off)+8 > len(b) {
			return fmt.Errorf("pointer at %d of %d bytes: %w", p.Off, len(b), ErrIncomplete)
		}
		if err := r.part(out, binary.LittleEndian.Uint64(b[p.Off:]), p.Target); err != nil {
			return err
		}
	}
	return nil
}

// part takes what one pointer led to.
func (r *restorer) part(out *Restored, ptr uint64, t *Target) error {
	if len(r.words) == 0 {
		return fmt.Errorf("its capture was cut: %w", ErrIncomplete)
	}
	status, n := SplitPart(r.words[0])
	r.words = r.words[1:]
	switch status {
	case Null, Seen:
		return nil
	case Whole:
	case Bounded:
		return fmt.Errorf("what %#x leads to was cut at %d bytes (maxBytes takes more): %w", ptr, n, ErrIncomplete)
	default:
		return fmt.Errorf("what %#x leads to was %s: %w", ptr, status, ErrIncomplete)
	}
	if n < 0 || n > 8*len(r.words) {
		return fmt.Errorf("its capture was cut: %w", ErrIncomplete)
	}
	data, err := r.take(n)
	if err != nil {
		return err
	}
	from := ptr
	switch {
	case t.Len.Kind == Start && t.Len.EndValid, t.Dec && t.Len.Kind != Start:
		from = ptr + uint64(t.Size) - uint64(n)
	case t.Len.Kind == Start:
		from = ptr - uint64(n)
	}
	out.Memory = append(out.Memory, Block{from, data})
	for i := 0; t.Size > 0 && i+int(t.Size) <= n && len(t.Points) > 0; i += int(t.Size) {
		if err := r.points(out, data[i:i+int(t.Size)], t.Points); err != nil {
			return err
		}
	}
	return nil
}
