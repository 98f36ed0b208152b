package records

import (
	"encoding/binary"
	"runtime"
)

// Sum is what one execution of a block counts for by itself, and how many words it has.
type Sum struct {
	Words                         int
	Instructions, MemInstructions uint64
	Loads, Stores                 uint64
	BytesRead, BytesWritten       uint64
	Dynamic                       bool // some accesses depend on the words, and are not among these
}

// Sum is what an execution of a block counts for, without its facts: that is all that who only counts wants of most
// blocks, and in a program's start each block is met for the first time. False if there is none of that id.
func (t *Blocks) Sum(id uint32) (s Sum, ok bool) {
	r := t.row(id)
	if r == nil {
		return s, false
	}
	if r.flags&rowWide == 0 {
		return r.sum(), true
	}
	if !t.good(id) {
		return s, false
	}
	packed, most, words := t.factsAt(r), -1, 0
	if r.isPart() {
		of, part := unpackPart(packed)
		if packed = t.packed(of); packed == nil {
			return s, false
		}
		most, words = part.Ins, part.Words
	}
	s.add(packed, most)
	if most >= 0 {
		s.Words = words
	}
	runtime.KeepAlive(t) // and what packed is in
	return s, true
}

// add adds the first instructions of a block up, all if most is negative.
func (s *Sum) add(packed []byte, most int) {
	u := &unpacker{packed[8:]} // behind the address
	s.Words = int(u.number())
	u.skip(4) // image, the words of time and branch, the branch's kind
	ins := int(u.number())
	u.skip(1) // accesses
	code := int(u.number())
	u.skip(1) // target
	u.b = u.b[code:]
	u.skip(3 * int(u.number())) // registers
	if most >= 0 {
		ins = min(ins, most)
	}
	var flags InsFlags
	for range ins {
		flags = s.instruction(u, flags)
	}
}

// instruction adds an instruction behind one with the flags before, and returns its flags.
func (s *Sum) instruction(u *unpacker, flags InsFlags) InsFlags {
	first := u.byte()
	if first&insFlags != 0 {
		flags = InsFlags(u.number())
	}
	if first&insFunc != 0 {
		u.skip(1)
	}
	if first&insElsewhere != 0 {
		u.skip(2)
	}
	if flags&(InsRecorded|InsPart) == InsRecorded {
		s.Instructions++
		if flags&InsMemory != 0 {
			s.MemInstructions++
		}
	}
	if first&insAccesses == 0 {
		return flags
	}
	counted := flags&(InsRecorded|InsAddrs) == InsRecorded|InsAddrs
	for range u.number() {
		kind, store, size := u.access()
		switch {
		case !counted:
		case kind != AccessPlain && kind != AccessBits:
			s.Dynamic = true
		case store:
			s.Stores++
			s.BytesWritten += uint64(size)
		default:
			s.Loads++
			s.BytesRead += uint64(size)
		}
	}
	return flags
}

// access passes over an access, and returns what counts of it.
func (u *unpacker) access() (kind AccessKind, store bool, size uint32) {
	first := u.byte()
	store = first&accStore != 0
	if first&accKind == accShort {
		u.skip(1)
		return AccessPlain, store, 1 << (first >> accSizeShift)
	}
	size = uint32(u.number())
	u.skip(3) // its words and the offset
	if first&accLanes != 0 {
		u.b = u.b[3:]
		u.skip(2)
	}
	return AccessKind(first & accKind), store, size
}

// skip passes over n numbers.
func (u *unpacker) skip(n int) {
	i := 0
	for ; n > 0; i++ {
		if u.b[i] < 0x80 {
			n--
		}
	}
	u.b = u.b[i:]
}

// number reads a number, most of which are a byte: those are read where it is called.
func (u *unpacker) number() uint64 {
	if v := u.b[0]; v < 0x80 {
		u.b = u.b[1:]
		return uint64(v)
	}
	return u.long()
}

// long is number of more bytes.
func (u *unpacker) long() uint64 {
	v, n := binary.Uvarint(u.b)
	u.b = u.b[n:]
	return v
}
