package calls

import (
	"encoding/binary"
	"fmt"
)

// A Block's payload, in Streams, is described with its Encoder. Before, it was records one after the other, each:
//
//	uvarint  Exit in bit 0, More in 1, Cut in 2, the function from bit 3, Altered in bit 35
//	uvarint  TSC beyond the record's before, zigzag
//	uvarint  SP beyond the record's before, zigzag
//	uvarint  Ret beyond that of the same function's record before, zigzag; 0 at first
//	uvarint  number of words
//	         for each two words a byte, the first one's half below: 0, the word is that of the same function's record before (of
//	         the same kind, at the same place, 0 where that had none); 1 to 4, so many bytes of the difference to it, zigzag, follow;
//	         8, the word itself follows. All of these behind the byte.
//
// In Bitmaps, for each eight words a byte with a bit for each: set where the word is that of the record before, then the words that are not, 8 bytes each.
//
// Numbers that follow from what came before begin at zero in each block, so that a block can be read alone.

// Encoding is how a block's records are packed.
type Encoding uint8

// The encodings.
const (
	Bitmaps     Encoding = iota // since 1.9
	Differences                 // since 1.11
	Streams                     // since 1.13; what Encoder writes
)

// wholeWord is the half byte of a word that follows as it is; mostDifference is how many bytes of a difference may.
const (
	wholeWord      = 8
	mostDifference = 4
)

// keepWords is how many words of a record those of the next are compared with.
const keepWords = 64

// history is what is known of a function's record before.
type history struct {
	ret   uint64
	words []uint64
}

// state is what encoder and decoder remember within a block.
type state struct {
	tsc, sp uint64
	few     [fewKeys]*history   // by key: the function's number, times two, plus one for exits
	funcs   map[uint32]*history // of other keys
}

// fewKeys is how many histories are found without a map: most programs' interceptors are of a few functions.
const fewKeys = 64

// of returns the history of a function's entries or exits.
func (s *state) of(fn uint32, exit bool) *history {
	key := fn << 1
	if exit {
		key |= 1
	}
	if key < fewKeys {
		if s.few[key] == nil {
			s.few[key] = &history{}
		}
		return s.few[key]
	}
	h := s.funcs[key]
	if h == nil {
		if s.funcs == nil {
			s.funcs = make(map[uint32]*history)
		}
		h = &history{}
		s.funcs[key] = h
	}
	return h
}

func (h *history) keep(words []uint64) {
	h.words = append(h.words[:0], words[:min(len(words), keepWords)]...)
}

func zigzag(d uint64) uint64   { return d<<1 ^ uint64(int64(d)>>63) }
func unzigzag(z uint64) uint64 { return z>>1 ^ -(z & 1) }

// Decoder takes a block's payload apart.
type Decoder struct {
	b        []byte
	s        state
	words    []uint64
	encoding Encoding
	streams  *streams // of Streams; nil: the payload was not looked at yet
}

// NewDecoder makes one for a payload.
func NewDecoder(payload []byte, e Encoding) *Decoder { return &Decoder{b: payload, encoding: e} }

// maxRecordWords bounds a record: what is captured of a call comes in marks of a few hundred.
const maxRecordWords = 1 << 16

// Next reads the next record; false at the end. Its words are good until the next call.
func (d *Decoder) Next(r *Record) (bool, error) {
	if d.encoding == Streams {
		return d.nextOfStreams(r)
	}
	if len(d.b) == 0 {
		return false, nil
	}
	var v [5]uint64
	for i := range v {
		x, n := binary.Uvarint(d.b)
		if n <= 0 {
			return false, fmt.Errorf("record: %w", ErrCorrupt)
		}
		v[i], d.b = x, d.b[n:]
	}
	if v[0]>>36 != 0 || v[4] > maxRecordWords {
		return false, fmt.Errorf("record of %d words: %w", v[4], ErrCorrupt)
	}
	*r = Record{Exit: v[0]&1 != 0, More: v[0]&2 != 0, Cut: v[0]&4 != 0, Altered: v[0]&headAltered != 0, Func: uint32(v[0] >> 3)}
	h := d.s.of(r.Func, r.Exit)
	d.s.tsc += unzigzag(v[1])
	d.s.sp += unzigzag(v[2])
	h.ret += unzigzag(v[3])
	r.TSC, r.SP, r.Ret = d.s.tsc, d.s.sp, h.ret
	take := d.differences
	if d.encoding == Bitmaps {
		take = d.bitmaps
	}
	if err := take(int(v[4]), h); err != nil {
		return false, err
	}
	r.Words = d.words
	h.keep(d.words)
	return true, nil
}

// differences reads a record's words.
func (d *Decoder) differences(n int, h *history) error {
	d.words = d.words[:0]
	for i := 0; i < n; i += 2 {
		if len(d.b) == 0 {
			return fmt.Errorf("words: %w", ErrCorrupt)
		}
		sizes := d.b[0]
		d.b = d.b[1:]
		for j := 0; j < 2 && i+j < n; j++ {
			size := int(sizes & 15)
			sizes >>= 4
			if size > mostDifference && size != wholeWord || size > len(d.b) {
				return fmt.Errorf("words: %w", ErrCorrupt)
			}
			var b [8]byte
			copy(b[:], d.b[:size])
			d.b = d.b[size:]
			w := binary.LittleEndian.Uint64(b[:])
			if size != wholeWord {
				if w = unzigzag(w); i+j < len(h.words) {
					w += h.words[i+j]
				}
			}
			d.words = append(d.words, w)
		}
	}
	return nil
}

// bitmaps reads a record's words as they were before 1.11.
func (d *Decoder) bitmaps(n int, h *history) error {
	d.words = d.words[:0]
	for i := 0; i < n; i += 8 {
		if len(d.b) == 0 {
			return fmt.Errorf("words: %w", ErrCorrupt)
		}
		mask := d.b[0]
		d.b = d.b[1:]
		for j := 0; j < 8 && i+j < n; j++ {
			switch {
			case mask>>j&1 == 0 && len(d.b) >= 8:
				d.words = append(d.words, binary.LittleEndian.Uint64(d.b))
				d.b = d.b[8:]
			case mask>>j&1 == 1 && i+j < len(h.words):
				d.words = append(d.words, h.words[i+j])
			default:
				return fmt.Errorf("words: %w", ErrCorrupt)
			}
		}
	}
	return nil
}
