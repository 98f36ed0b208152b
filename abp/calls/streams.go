package calls

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// A Block's payload in Streams:
//
//	uvarint  bytes of the kinds
//	uvarint  bytes of the sizes
//	         kinds, sizes, and the words, in all that is left
//
// A record is of a kind: its head (as in the other encodings) and its number of words. Kinds are numbered as they come up. Which comes next is
// predicted: the one that came behind the record's kind the last time. Of the kinds there is, by turns, the number of one that was not predicted, as a
// uvarint, and how many records behind it were; the first record's is not. Behind a number that no kind has yet stand the head and the number of words, as uvarints.
//
// A record's words are its TSC, SP and Ret and then its own. For each group of sixteen the sizes have half a byte for each, the first one's below: 0, the
// word is the one before it; 1 to 4, so many bytes of the difference to that, zigzag, follow among the words; 8, the word itself follows. The word before is of the record
// before (TSC), or else of the last record of the same function, entry or return, that had a word at that place (the first maxPlaces of them; 0 where none had).
//
// Integers that count, sizes and addresses near each other take a byte or two so: zstd, which comes behind, has less to look at, and sees like beside like. Characters, which it
// packs better as they are, are mostly words of their own. All of a program's calls of one function take a few branches that the processor predicts.

// maxPlaces is how many words of a record those of the next are compared with, and fixedWords how many of them each record has.
const (
	fixedWords = 3
	maxPlaces  = fixedWords + keepWords
	groupWords = 16
)

// recordKind is a kind of record.
type recordKind struct {
	head   uint64
	first  uint64 // of its marks; the encoder's
	words  int    // its own
	number int
	past   *past
	next   *recordKind // the kind that came behind it the last time; nil: none yet
}

// past is what the words of a function's entries, or returns, were the last time, by place.
type past struct{ words []uint64 }

// kindKey names one.
type kindKey struct {
	head  uint64
	words int
}

// kinds are those of a block, with what their records' words are compared with.
type kinds struct {
	list []*recordKind
	past map[uint64]*past // by function and moment
	now  *recordKind      // of the record before; at first one that no record has
	tsc  uint64
}

func newKinds() kinds { return kinds{past: make(map[uint64]*past), now: &recordKind{}} }

// add adds a kind.
func (k *kinds) add(key kindKey, first uint64) *recordKind {
	const flags = headMore | headCut | headAltered
	of := key.head &^ flags
	p := k.past[of]
	if p == nil {
		p = &past{}
		k.past[of] = p
	}
	if n := min(fixedWords+key.words, maxPlaces); n > len(p.words) {
		p.words = append(p.words, make([]uint64, n-len(p.words))...)
	}
	kind := &recordKind{head: key.head, first: first, words: key.words, number: len(k.list), past: p}
	k.list = append(k.list, kind)
	return kind
}

// follow notes the kind of the record that comes next.
func (k *kinds) follow(kind *recordKind) { k.now.next, k.now = kind, kind }

// A record's head besides the function, which begins at bit 3.
const (
	headExit    = 1 << 0
	headMore    = 1 << 1
	headCut     = 1 << 2
	headAltered = 1 << 35
)

// headOf makes a record's head of the first word of a mark.
func headOf(w uint64) uint64 {
	head := w>>markFunc<<3 | w&1 | w&(markMore|markCut)>>7
	if w&markAlter != 0 {
		head |= headAltered
	}
	return head
}

// Encoder packs the records of one thread into a block's payload.
type Encoder struct {
	Count       uint32 // records
	First, Last uint64 // TSC

	k       kinds
	byKey   map[kindKey]*recordKind
	tokens  []byte // the kinds' stream
	run     uint64 // predicted since
	sizes   []byte // with room behind
	words   []byte
	nSizes  int
	nWords  int
	payload []byte
}

// Reset begins a block.
func (e *Encoder) Reset() {
	e.Count, e.First, e.Last = 0, 0, 0
	e.k, e.byKey = newKinds(), make(map[kindKey]*recordKind)
	e.tokens, e.run, e.nSizes, e.nWords = e.tokens[:0], 0, 0, 0
}

// Size is about how long the payload is.
func (e *Encoder) Size() int { return len(e.tokens) + e.nSizes + e.nWords }

// Add appends the record of a mark, of which it takes the words behind the mark itself; false: they are none.
func (e *Encoder) Add(w []uint64) bool {
	if len(w) < markWords || w[0]&0xff > 1 {
		return false
	}
	if e.Count == 0 {
		if e.byKey == nil {
			e.Reset()
		}
		e.First, e.Last = w[1], w[1]
	}
	if w[1] >= e.Last { // mostly
		e.Last = w[1]
	}
	e.First = min(e.First, w[1])
	e.Count++
	kind := e.k.now.next
	if kind != nil && kind.first == w[0] && kind.words == len(w)-markWords {
		e.run++
		e.k.now = kind
	} else {
		kind = e.kind(w)
	}
	last := kind.past.words
	last[0], e.k.tsc = e.k.tsc, w[1]
	w = w[1:]
	if e.nSizes+len(w)/2+16 > len(e.sizes) || e.nWords+8*len(w)+8 > len(e.words) {
		e.room(len(w))
	}
	if len(w) <= groupWords && len(w) <= len(last) {
		e.group(w, last)
	} else {
		e.groups(w, last)
	}
	return true
}

// groups writes the words of a long record.
func (e *Encoder) groups(w, last []uint64) {
	for len(w) > 0 {
		n := min(len(w), groupWords)
		if len(last) >= n {
			e.group(w[:n], last)
			w, last = w[n:], last[n:]
			continue
		}
		var before [groupWords]uint64 // of what lies behind the places nothing is remembered
		copy(before[:], last)
		copy(last, w)
		e.group(w[:n], before[:])
		w, last = w[n:], nil
	}
}

// kind writes the kind of a mark's record, which was not predicted.
func (e *Encoder) kind(w []uint64) *recordKind {
	key := kindKey{headOf(w[0]), len(w) - markWords}
	if e.Count > 1 {
		e.tokens = binary.AppendUvarint(e.tokens, e.run)
	}
	e.run = 0
	kind, known := e.byKey[key]
	if !known {
		kind = e.k.add(key, w[0])
		e.byKey[key] = kind
	}
	e.tokens = binary.AppendUvarint(e.tokens, uint64(kind.number))
	if !known {
		e.tokens = binary.AppendUvarint(binary.AppendUvarint(e.tokens, key.head), uint64(key.words))
	}
	e.k.follow(kind)
	return kind
}

// room makes room for a record of so many words: each is written with all of its bytes, and overwritten from where it ends.
func (e *Encoder) room(words int) {
	if need := e.nSizes + words/2 + 16; need > len(e.sizes) {
		e.sizes = grown(e.sizes, e.nSizes, need)
	}
	if need := e.nWords + 8*words + 8; need > len(e.words) {
		e.words = grown(e.words, e.nWords, need)
	}
}

// grown is a slice with more room, all of it in its length.
func grown(b []byte, used, need int) []byte {
	b = slices.Grow(b[:used], max(need-used, 64<<10))
	return b[:cap(b)]
}

// group writes up to sixteen words. Which words of a function's calls stay as they were is mostly the same in each, so that the processor predicts it.
func (e *Encoder) group(w, last []uint64) {
	sizes, out, at := uint64(0), e.words, uint(e.nWords)
	last = last[:len(w)]
	for i, v := range w {
		sizes >>= 4
		d := v - last[i]
		if d == 0 {
			continue
		}
		last[i] = v
		z := zigzag(d)
		n := uint(wholeWord)
		if z>>(8*mostDifference) == 0 {
			n = uint(bits.Len32(uint32(z))+7) >> 3
		} else {
			z = v
		}
		binary.LittleEndian.PutUint64(out[at:at+8], z)
		at += n
		sizes |= uint64(n) << 60
	}
	e.nWords = int(at)
	binary.LittleEndian.PutUint64(e.sizes[e.nSizes:e.nSizes+8], sizes>>((64-4*uint(len(w)))&63))
	e.nSizes += (len(w) + 1) / 2
}

// Payload is the block's payload, good until the next one is asked for.
func (e *Encoder) Payload() []byte {
	p := e.payload[:0]
	tokens := e.tokens
	if e.Count > 0 {
		tokens = binary.AppendUvarint(tokens, e.run)
	}
	p = binary.AppendUvarint(p, uint64(len(tokens)))
	p = binary.AppendUvarint(p, uint64(e.nSizes))
	p = append(append(append(p, tokens...), e.sizes[:e.nSizes]...), e.words[:e.nWords]...)
	e.payload = p
	return p
}

// streams is the state of a Decoder of Streams.
type streams struct {
	k      kinds
	tokens []byte
	sizes  []byte
	words  []byte
	run    uint64
}

// openStreams takes a payload apart.
func openStreams(b []byte) (*streams, error) {
	var n [2]uint64
	for i := range n {
		x, read := binary.Uvarint(b)
		if read <= 0 || x > maxBlock {
			return nil, fmt.Errorf("streams: %w", ErrCorrupt)
		}
		n[i], b = x, b[read:]
	}
	if n[0]+n[1] > uint64(len(b)) {
		return nil, fmt.Errorf("streams: %w", ErrCorrupt)
	}
	sizes := b[n[0]:]
	return &streams{k: newKinds(), tokens: b[:n[0]], sizes: sizes[:n[1]], words: sizes[n[1]:]}, nil
}

// nextOfStreams is Next.
func (d *Decoder) nextOfStreams(r *Record) (bool, error) {
	if d.streams == nil {
		s, err := openStreams(d.b)
		if err != nil {
			return false, err
		}
		d.streams = s
	}
	s := d.streams
	k, ok, err := s.kind()
	if !ok || err != nil {
		return false, err
	}
	total := fixedWords + k.words
	if cap(d.words) < total {
		d.words = make([]uint64, max(total, 64))
	}
	d.words = d.words[:total]
	last := k.past.words
	last[0] = s.k.tsc
	for w := d.words; len(w) > 0; {
		n := min(len(w), groupWords)
		if err := s.group(w[:n], last); err != nil {
			return false, err
		}
		w, last = w[n:], last[min(n, len(last)):]
	}
	s.k.tsc = d.words[0]
	*r = Record{Exit: k.head&headExit != 0, More: k.head&headMore != 0, Cut: k.head&headCut != 0, Altered: k.head&headAltered != 0, Func: uint32(k.head >> 3),
		TSC: d.words[0], SP: d.words[1], Ret: d.words[2], Words: d.words[fixedWords:]}
	return true, nil
}

// kind is that of the next record; false: there is none.
func (s *streams) kind() (*recordKind, bool, error) {
	if s.run > 0 {
		s.run--
		kind := s.k.now.next
		if kind == nil {
			return nil, false, fmt.Errorf("kind: %w", ErrCorrupt)
		}
		s.k.now = kind
		return kind, true, nil
	}
	if len(s.tokens) == 0 {
		return nil, false, nil
	}
	n, err := s.token(uint64(len(s.k.list)))
	if err != nil {
		return nil, false, err
	}
	if n == uint64(len(s.k.list)) {
		head, err1 := s.token(1<<36 - 1)
		words, err2 := s.token(maxRecordWords)
		if err1 != nil || err2 != nil {
			return nil, false, fmt.Errorf("kind: %w", ErrCorrupt)
		}
		s.k.add(kindKey{head, int(words)}, 0)
	}
	if s.run, err = s.token(1 << 32); err != nil {
		return nil, false, err
	}
	s.k.follow(s.k.list[n])
	return s.k.now, true, nil
}

// token reads a number of the kinds' stream.
func (s *streams) token(most uint64) (uint64, error) {
	x, read := binary.Uvarint(s.tokens)
	if read <= 0 || x > most {
		return 0, fmt.Errorf("kind: %w", ErrCorrupt)
	}
	s.tokens = s.tokens[read:]
	return x, nil
}

// group reads up to sixteen words.
func (s *streams) group(w, last []uint64) error {
	bytes := (len(w) + 1) / 2
	if len(s.sizes) < bytes {
		return fmt.Errorf("sizes: %w", ErrCorrupt)
	}
	sizes := load(s.sizes, bytes)
	s.sizes = s.sizes[bytes:]
	in := s.words
	for i := range w {
		n := int(sizes & 15)
		sizes >>= 4
		if n > mostDifference && n != wholeWord || n > len(in) {
			return fmt.Errorf("words: %w", ErrCorrupt)
		}
		v := load(in, n)
		in = in[n:]
		if n != wholeWord {
			v = unzigzag(v)
			if i < len(last) {
				v += last[i]
			}
		}
		w[i] = v
	}
	s.words = in
	copy(last, w)
	return nil
}

// load reads a number of up to eight bytes. There are so many.
func load(b []byte, n int) uint64 {
	if len(b) >= 8 {
		v := binary.LittleEndian.Uint64(b)
		return v & (1<<(8*n&63) - 1 | -uint64(n>>3))
	}
	var all [8]byte
	copy(all[:], b[:n])
	return binary.LittleEndian.Uint64(all[:])
}
