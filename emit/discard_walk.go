package emit

import (
	"fmt"

	"alleria/internal/records"
)

// records walks executions until a mark or the end. Where the next record begins a record's first word says, if it may (Run.Sizes):
// then nothing has to be looked up to know that, and no loop's end be predicted. All words are read behind that, one behind the other.
func (w *Dropper) records(words []uint64, at int) (int, error) {
	from := at
	for at < len(words) {
		if w.sized {
			if at = w.passOver(words, at); at == len(words) {
				break
			}
		}
		if records.IsMark(words[at]) {
			break
		}
		n, err := w.record(words[at:])
		if err != nil {
			return at, err
		}
		at += n
	}
	w.read(words[from:at])
	return at, nil
}

// aheadWords is how far in front of the walk a word is read at each record. The walk waits for each record's first word, whose line comes from the producer's processor;
// what is read in front of it nobody waits for, so that several lines are on their way at a time. Refused: a pass over all words in front of the walk, which took as long as the walk had.
const aheadWords = 128

// passOver counts executions as far as nothing has to be looked up: of blocks that are known, whose records say how long they are. It returns where something
// else begins. A mark's first word says a length that no chunk has.
//
// A count is four bytes by itself, as what is waited for is memory: a compiler executes more blocks than a second-level cache holds counts of with what is known of them beside.
func (w *Dropper) passOver(words []uint64, at int) int {
	quick, odd, from, sum := w.quick, uint64(0), at, w.sum
	for at < len(words) {
		id, n := records.SplitNumber(words[at])
		if int(id) >= len(quick) || uint(n-1) >= uint(len(words)-at) {
			break
		}
		if next := at + aheadWords; next < len(words) {
			sum += words[next]
		}
		c := quick[id]
		if c >= unmet {
			if c == unmet || !w.odd[c-unmet-1].count(words[at+1:at+n]) {
				break
			}
			odd += uint64(n)
		} else {
			quick[id] = c + 1
		}
		at += n
	}
	w.passed += uint64(at-from) - odd
	w.sum = sum
	return at
}

// count counts an execution; false where it is not one of the block's.
func (b *oddBlock) count(words []uint64) bool {
	if len(words) != int(b.words) {
		return false
	}
	b.execs++
	for i := range b.accesses {
		b.accesses[i].Count(words, &b.counts)
	}
	return true
}

// read reads words, with nothing that waits for anything. Refused: to read them before they are walked, to have the lines come from the producer's processor: both passes took as
// long as the walk alone.
func (w *Dropper) read(words []uint64) {
	var a, b, c, d uint64
	at := 0
	for ; at <= len(words)-8; at += 8 {
		v := (*[8]uint64)(words[at:])
		a, b, c, d = a+v[0]+v[4], b+v[1]+v[5], c+v[2]+v[6], d+v[3]+v[7]
	}
	for _, v := range words[at:] {
		a += v
	}
	w.sum += a + b + c + d
}

// record counts an execution that is not passed over, and returns how many words it takes: none if it can be passed over now.
func (w *Dropper) record(words []uint64) (int, error) {
	id, n := uint32(words[0]), 0
	if w.sized {
		id, n = records.SplitNumber(words[0])
	}
	if n > len(words) {
		return 0, fmt.Errorf("block %d is cut short: %w", id, records.ErrMalformed)
	}
	if n > 0 && (int(id) >= len(w.quick) || w.quick[id] == unmet) {
		if !w.meetQuick(id, n) {
			return 0, fmt.Errorf("block %d: %w", id, records.ErrMalformed)
		}
		return 0, nil
	}
	// A record that does not say how long it is, or one of another length than the block's.
	if n > 0 || (int(id) >= len(w.met) || w.met[id].execs == 0) && !w.meet(id) {
		return 0, fmt.Errorf("block %d: %w", id, records.ErrMalformed)
	}
	b := &w.met[id]
	if n = 1 + int(b.words); n > len(words) {
		return 0, fmt.Errorf("block %d is cut short: %w", id, records.ErrMalformed)
	}
	if b.execs++; b.odd > 0 {
		w.odd[b.odd-1].count(words[1:n])
	}
	return n, nil
}
