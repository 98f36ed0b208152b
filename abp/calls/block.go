package calls

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// A Block's payload is records one after the other, each:
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
// Integers that count, sizes and addresses near each other take a byte or two so: zstd, which comes behind, has less to look at. Characters, which it packs
// better as they are, are mostly words of their own.
//
// Numbers that follow from what came before begin at zero in each block, so that a block can be read alone.

// Encoding is how a block's records are packed.
type Encoding uint8

// The encodings.
const (
	Bitmaps     Encoding = iota // since 1.9
	Differences                 // since 1.11; what Encoder writes
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

func (s *state) reset() {
	s.tsc, s.sp = 0, 0
	clear(s.few[:])
	clear(s.funcs)
}

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

// Encoder packs the records of one thread into a block's payload.
type Encoder struct {
	B           []byte // what there is so far
	Count       uint32 // records
	First, Last uint64 // TSC
	s           state
}

// Reset begins a block.
func (e *Encoder) Reset() {
	e.B, e.Count, e.First, e.Last = e.B[:0], 0, 0, 0
	e.s.reset()
}

// Add appends a record.
func (e *Encoder) Add(r *Record) {
	if e.Count == 0 {
		e.First, e.Last = r.TSC, r.TSC
	}
	e.First, e.Last = min(e.First, r.TSC), max(e.Last, r.TSC)
	e.Count++
	head := uint64(r.Func) << 3
	if r.Exit {
		head |= 1
	}
	if r.More {
		head |= 2
	}
	if r.Cut {
		head |= 4
	}
	if r.Altered {
		head |= headAltered
	}
	h := e.s.of(r.Func, r.Exit)
	b := binary.AppendUvarint(e.B, head)
	b = binary.AppendUvarint(b, zigzag(r.TSC-e.s.tsc))
	b = binary.AppendUvarint(b, zigzag(r.SP-e.s.sp))
	b = binary.AppendUvarint(b, zigzag(r.Ret-h.ret))
	b = binary.AppendUvarint(b, uint64(len(r.Words)))
	e.s.tsc, e.s.sp, h.ret = r.TSC, r.SP, r.Ret
	e.B = appendWords(b, r.Words, h.words)
	h.keep(r.Words)
}

// appendWords packs words behind those of the record before.
func appendWords(b []byte, words, before []uint64) []byte {
	b = slices.Grow(b, 8*len(words)+len(words)/2+9)
	for i := 0; i < len(words); i += 2 {
		at := len(b)
		b = append(b, 0)
		for j, w := range words[i:min(i+2, len(words))] {
			z := w
			if i+j < len(before) {
				z -= before[i+j]
			}
			if z == 0 {
				continue
			}
			n := (bits.Len64(zigzag(z)) + 7) / 8
			if n <= mostDifference {
				w = zigzag(z)
			} else {
				n = wholeWord
			}
			b[at] |= byte(n) << (4 * j)
			end := len(b)
			binary.LittleEndian.PutUint64(b[end:end+8], w) // there is room
			b = b[:end+n]
		}
	}
	return b
}

// headAltered is Altered in a record's head.
const headAltered = 1 << 35

// Decoder takes a block's payload apart.
type Decoder struct {
	b        []byte
	s        state
	words    []uint64
	encoding Encoding
}

// NewDecoder makes one for a payload.
func NewDecoder(payload []byte, e Encoding) *Decoder { return &Decoder{b: payload, encoding: e} }

// maxRecordWords bounds a record: what is captured of a call comes in marks of a few hundred.
const maxRecordWords = 1 << 16

// Next reads the next record; false at the end. Its words are good until the next call.
func (d *Decoder) Next(r *Record) (bool, error) {
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
