package probe

import (
	"encoding/binary"

	"alleria/engine/codecache"
	"alleria/engine/translate"
	"alleria/engine/x86"
)

// A branch into the bytes that a jump replaces would go astray. Compilers make such
// branches where a loop begins with the function, and people where several functions
// share a body (mempcpy enters memmove behind its first instruction). They are looked
// for in all of the image: long ones by their displacements at every byte, which finds
// more than there are, short ones by decoding the neighbourhood. What a jump table
// leads to is not known: a function with one gets a jump only if its displaced
// instructions move the stack pointer last, to which no loop goes back.

// branchedInto tells whether any branch of the image may lead to a byte behind the
// first that j displaces.
func (p *Points) branchedInto(j *Jump) bool {
	m := p.code.Mapping(j.Entry)
	if m == nil {
		return true
	}
	into := func(target uint64) bool { return target > j.Entry && target < j.end }
	for _, o := range p.jumps.all {
		if into(o.leadsTo) || j.leadsTo > o.Entry && j.leadsTo < o.end {
			return true
		}
	}
	return into(j.leadsTo) || p.nearBranch(m.Start, m.End, j, into) || p.farBranch(m.Start, m.End, into) || !j.pushes && p.tabled(j)
}

// farBranch looks for branches with displacements of 32 bits in [start, end).
func (p *Points) farBranch(start, end uint64, into func(uint64) bool) bool {
	const piece, overlap = 1 << 20, 8
	buf := make([]byte, piece+overlap)
	for at := start; at < end; at += piece {
		n := int(min(end-at, piece+overlap))
		if _, err := p.mem.ReadAt(buf[:n], int64(at)); err != nil {
			return true // it cannot be known
		}
		b := buf[:n]
		p.originals(b, at)
		for i := 2; i+4 <= n; i++ {
			if b[i-1]&0xfe != 0xe8 && b[i-1]&0xf0 != 0x80 && b[i-1] != 0xf8 {
				continue
			}
			target := at + uint64(i) + 4 + uint64(int64(int32(binary.LittleEndian.Uint32(b[i:]))))
			if !into(target) {
				continue
			}
			switch {
			case b[i-1]&0xfe == 0xe8, b[i-1] == 0xf8 && b[i-2] == 0xc7, b[i-1]&0xf0 == 0x80 && b[i-2] == 0x0f:
				return true // call, jmp; xbegin; jcc
			}
		}
	}
	return false
}

// nearBranch looks for branches with displacements of 8 bits. Where instructions
// begin in front of the function is not known: of sixteen addresses in a row one is
// the first byte of an instruction, and the decoder finds its way from there.
func (p *Points) nearBranch(start, end uint64, j *Jump, into func(uint64) bool) bool {
	const reach = 128 + 2
	from := max(start, j.Entry-min(j.Entry, reach+32))
	to := min(end, j.end+reach)
	var seen [2*(reach+32) + mostDisplaced]bool // instructions, by where they begin
	for s := from; s < from+16 && s < j.Entry; s++ {
		if p.anyBranch(s, from, to, seen[:], into) {
			return true
		}
	}
	return p.anyBranch(j.Entry, from, to, seen[:], into)
}

// anyBranch decodes [at, to) and looks where direct branches lead, up to an instruction that was seen: what follows it was, too. seen begins at from.
func (p *Points) anyBranch(at, from, to uint64, seen []bool, into func(uint64) bool) (found bool) {
	p.eachInsn(at, to, func(in *x86.Insn) bool {
		if i := in.Addr - from; i < uint64(len(seen)) {
			if seen[i] {
				return true
			}
			seen[i] = true
		}
		switch in.Cat {
		case x86.CatCONDBR, x86.CatUNCONDBR, x86.CatCALL:
			found = in.Attr&x86.AttrRel != 0 && into(in.Target())
		}
		return found
	})
	return found
}

// decoded is room for the instructions of a block.
func (p *Points) decoded() []x86.Insn {
	if p.room == nil {
		p.room = make([]x86.Insn, codecache.MaxBlockInsns)
	}
	return p.room
}

// tabled tells whether the function may jump by a table.
func (p *Points) tabled(j *Jump) bool {
	return p.eachInsn(j.Entry, j.Entry+j.size, func(in *x86.Insn) bool {
		return in.Cat == x86.CatUNCONDBR && in.Attr&x86.AttrRel == 0 && !in.RIPRelative()
	})
}

// eachInsn decodes [from, to) linearly until f says that it has seen enough, and
// tells whether it did. Bytes that are no instruction are skipped one by one. f may not call it.
func (p *Points) eachInsn(from, to uint64, f func(*x86.Insn) bool) bool {
	ins := p.decoded() // made once: a function's look takes twenty
	for at := from; at < to; {
		code := p.code.Fetch(at, translate.FetchBytes)
		if len(code) == 0 {
			return false
		}
		n, _ := x86.Decode(code, at, ins)
		if n == 0 {
			at++
		}
		for i := range ins[:n] {
			if f(&ins[i]) {
				return true
			}
			at = ins[i].Next()
			if at >= to {
				break
			}
		}
	}
	return false
}
