package calls

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// differences packs records as versions 1.11 and 1.12 did: what reads them is tested with it.
type differences struct {
	b []byte
	s state
}

func (e *differences) add(r *Record) {
	head := headOf(markOf(r)[0])
	h := e.s.of(r.Func, r.Exit)
	b := binary.AppendUvarint(e.b, head)
	b = binary.AppendUvarint(b, zigzag(r.TSC-e.s.tsc))
	b = binary.AppendUvarint(b, zigzag(r.SP-e.s.sp))
	b = binary.AppendUvarint(b, zigzag(r.Ret-h.ret))
	b = binary.AppendUvarint(b, uint64(len(r.Words)))
	e.s.tsc, e.s.sp, h.ret = r.TSC, r.SP, r.Ret
	e.b = appendWords(b, r.Words, h.words)
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
