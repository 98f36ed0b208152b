package difftest

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"alleria/internal/records"
)

// access is one access of an entry; value is nil where it is not known.
type access struct {
	addr  uint64
	size  uint32
	store bool
	value []byte
}

// entry is one instruction as either side tells it.
type entry struct {
	addr   uint64
	code   []byte
	acc    []access
	taken  int8 // -1: not told
	target uint64
	flags  records.InsFlags
	// emulated: the tracer executed it, and its mark has no place for a branch's target.
	emulated bool
	// part: a repeated string instruction that was interrupted; its iterations
	// before that.
	part bool
	regs map[records.Reg][]byte
}

// expander turns raw words into entries, as internal/layout describes them.
type expander struct {
	blocks *records.Blocks
	fs, gs uint64
	out    []entry
	beside []uint64 // of the instruction that the tracer executed next
}

// expand is the one entry point: all words of one thread.
func expand(words []uint64, blocks *records.Blocks) ([]entry, error) {
	x := &expander{blocks: blocks}
	cut := -1
	for i := 0; i < len(words); {
		w := words[i]
		if w>>32 == 0 {
			id, size := records.SplitNumber(w)
			n, err := x.block(id, words[i+1:], cut)
			if err == nil && size != 0 && size != 1+n {
				err = fmt.Errorf("record of block %d says that it has %d words, not %d", id, size, 1+n)
			}
			if err != nil {
				return x.out, fmt.Errorf("word %d of %d: %w", i, len(words), err)
			}
			i += 1 + n
			cut = -1
			continue
		}
		n, err := x.mark(w, words[i+1:], &cut)
		if err != nil {
			return x.out, fmt.Errorf("word %d of %d: %w", i, len(words), err)
		}
		i += 1 + n
	}
	return x.out, nil
}

// mark takes a mark and returns how many words follow it.
func (x *expander) mark(w uint64, rest []uint64, cut *int) (int, error) {
	if *cut >= 0 {
		return 0, fmt.Errorf("mark %#x between a cut and its record", w)
	}
	payload := w & records.MarkPayload
	switch w >> records.MarkShift {
	case records.MarkCut:
		*cut = int(payload)
		return 0, nil
	case records.MarkFS:
		x.fs = rest[0]
		return 1, nil
	case records.MarkGS:
		x.gs = rest[0]
		return 1, nil
	case records.MarkWindows:
		return 1, nil
	case records.MarkThread:
		return 3, nil
	case records.MarkSkip:
		return int(payload), nil
	case records.MarkBeside:
		n := int(payload >> 48)
		if int(uint16(payload)) != len(x.beside) {
			return 0, fmt.Errorf("mark %#x behind %d words", w, len(x.beside))
		}
		x.beside = append(x.beside, rest[:n]...)
		return n, nil
	case records.MarkEmulated:
		return x.emulated(uint32(payload), rest)
	}
	return 0, fmt.Errorf("unknown mark %#x", w)
}

// emulated takes an instruction that the tracer executed.
func (x *expander) emulated(id uint32, rest []uint64) (int, error) {
	b := x.blocks.Get(id)
	if b == nil || len(b.Ins) != 1 {
		return 0, fmt.Errorf("emulated block %d", id)
	}
	e := entry{addr: b.Addr, code: b.Code, taken: -1, flags: b.Ins[0].Flags &^ records.InsRegs, emulated: true}
	if len(x.beside) >= b.Words {
		x.registers(&e, 0, b, x.beside[:b.Words])
		x.beside = x.beside[b.Words:]
	}
	n := int(rest[0])
	for k := range n {
		s := rest[2+2*k]
		a := access{addr: rest[1+2*k], size: uint32(s), store: s>>63 != 0}
		if words := int(a.size+7) / 8; words <= len(x.beside) {
			a.value, x.beside = packed(x.beside, 0, int(a.size)), x.beside[words:]
		}
		e.acc = append(e.acc, a)
	}
	x.beside = nil
	x.out = append(x.out, e)
	return 1 + 2*n, nil
}

// block takes a block's record of which only the first cut instructions count;
// all if it is negative.
func (x *expander) block(id uint32, w []uint64, cut int) (int, error) {
	b := x.blocks.Get(id)
	if b == nil {
		return 0, fmt.Errorf("no block %d", id)
	}
	if len(w) < b.Words {
		return 0, fmt.Errorf("block %d: %d words of %d", id, len(w), b.Words)
	}
	w = w[:b.Words]
	for i := range b.Ins {
		if cut >= 0 && i >= cut {
			break
		}
		in := &b.Ins[i]
		e := entry{addr: b.InsAddr(i), code: b.Code[in.Off:][:in.Len], taken: -1, flags: in.Flags}
		x.accesses(&e, in.Accesses, w)
		e.part, e.flags = in.Flags&records.InsPart != 0, e.flags&^(records.InsPart|records.InsRegs)
		x.registers(&e, i, b, w)
		if n := len(x.out) - 1; n >= 0 && x.out[n].part && x.out[n].addr == e.addr { // it goes on
			x.out[n].acc = append(x.out[n].acc, e.acc...)
			x.out[n].part, x.out[n].flags = e.part, e.flags
			continue
		}
		if i == len(b.Ins)-1 {
			x.branch(&e, b, w)
		}
		x.out = append(x.out, e)
	}
	return b.Words, nil
}

// registers takes what is recorded of the registers before instruction i.
func (x *expander) registers(e *entry, i int, b *records.Block, w []uint64) {
	for _, r := range b.Regs {
		if int(r.Ins) != i {
			continue
		}
		words := w
		if e.regs == nil {
			e.regs = make(map[records.Reg][]byte)
		}
		size, from := map[records.Reg]int{records.RegGPR64: 8, records.RegGPR32: 4, records.RegGPR16: 2, records.RegGPR8: 1, records.RegHigh: 1,
			records.RegXMM: 16, records.RegYMM: 32, records.RegZMM: 64, records.RegMask: 8, records.RegMMX: 8, records.RegX87: 10,
			records.RegSpecial: 8}[r.Reg&^0xff], 0
		switch {
		case r.Reg == records.RegRIP:
			words, r.Word = []uint64{e.addr}, 0
		case r.Reg == records.RegFSBase:
			words, r.Word = []uint64{x.fs}, 0
		case r.Reg == records.RegGSBase:
			words, r.Word = []uint64{x.gs}, 0
		case r.Reg == records.RegMXCSR:
			size = 4
		case r.Reg&^0xff == records.RegHigh:
			from = 1
		}
		e.regs[r.Reg] = packed(words[r.Word:], from, size)
	}
}

func (x *expander) branch(e *entry, b *records.Block, w []uint64) {
	if b.BranchWord == records.NoWord {
		if b.Branch == records.BranchJump || b.Branch == records.BranchCall {
			e.taken, e.target = 1, b.Target
		}
		return
	}
	v := w[b.BranchWord]
	switch b.Branch {
	case records.BranchCond:
		e.taken = int8(v)
		e.target = e.addr + uint64(len(e.code))
		if v == 1 {
			e.target = b.Target
		}
	default:
		e.taken, e.target = 1, v
	}
}

// accesses expands an instruction's accesses. Those of string instructions
// alternate, iteration by iteration.
func (x *expander) accesses(e *entry, list []records.Access, w []uint64) {
	var iterations uint64
	for i := range list {
		a := &list[i]
		if a.Kind != records.AccessString {
			x.one(e, a, w)
			continue
		}
		from, to := w[a.Word], w[a.AuxWord]
		d := int64(to - from)
		if a.AddrBits == 32 {
			d = int64(int32(d))
		}
		iterations = uint64(max(d, -d)) / uint64(a.Size)
	}
	for n := range iterations {
		for i := range list {
			a := &list[i]
			step := uint64(a.Size)
			if d := w[a.AuxWord] - w[a.Word]; int64(d) < 0 {
				step = -step
			}
			acc := access{addr: x.cut(a, w[a.Word]+uint64(a.Offset)+n*step), size: a.Size, store: a.Store}
			if a.Value != records.NoWord {
				acc.value = packed(w[a.Value:], int(n%uint64(a.Lanes))*int(a.Size), int(a.Size))
			}
			e.acc = append(e.acc, acc)
		}
	}
}

// cut applies the address size and the segment.
func (x *expander) cut(a *records.Access, addr uint64) uint64 {
	if a.AddrBits == 32 {
		addr = uint64(uint32(addr))
	}
	switch a.Seg {
	case records.SegFS:
		addr += x.fs
	case records.SegGS:
		addr += x.gs
	}
	return addr
}

// one expands an access that is none of a repeated string instruction.
func (x *expander) one(e *entry, a *records.Access, w []uint64) {
	base := uint64(a.Offset)
	if a.Word != records.NoWord {
		base += w[a.Word]
	}
	add := func(addr uint64, size uint32, lane int) {
		acc := access{addr: addr, size: size, store: a.Store}
		if a.Value != records.NoWord {
			acc.value = packed(w[a.Value:], lane*int(a.Size), int(size))
		}
		e.acc = append(e.acc, acc)
	}
	switch a.Kind {
	case records.AccessMasked:
		for lane := range uint64(a.Lanes) {
			if w[a.AuxWord]>>lane&1 != 0 {
				add(x.cut(a, base+lane*uint64(a.Size)), a.Size, int(lane))
			}
		}
	case records.AccessPacked:
		mask := w[a.AuxWord]
		if a.Lanes < 64 {
			mask &= 1<<a.Lanes - 1
		}
		if n := bits.OnesCount64(mask); n > 0 {
			add(x.cut(a, base), uint32(n)*a.Size, 0)
		}
	case records.AccessGather:
		for lane := range int(a.Lanes) {
			if w[a.AuxWord]>>lane&1 == 0 {
				continue
			}
			b := packed(w[a.IndexWord:], lane*int(a.IndexSize), int(a.IndexSize))
			var index int64
			if a.IndexSize == 4 {
				index = int64(int32(binary.LittleEndian.Uint32(b)))
			} else {
				index = int64(binary.LittleEndian.Uint64(b))
			}
			add(x.cut(a, base+uint64(index*int64(a.Scale))), a.Size, lane)
		}
	case records.AccessSized:
		if n := w[a.AuxWord]; n != 0 {
			add(x.cut(a, base), uint32(n), 0)
		}
	case records.AccessBits:
		shift := bits.TrailingZeros32(8 * a.Size)
		add(x.cut(a, base+uint64(int64(w[a.AuxWord])>>shift*int64(a.Size))), a.Size, 0)
	default:
		add(x.cut(a, base), a.Size, 0)
	}
}

// packed is n bytes at off of words that hold bytes.
func packed(w []uint64, off, n int) []byte {
	b := make([]byte, 0, n)
	for i := off; i < off+n; i++ {
		b = append(b, byte(w[i/8]>>(i%8*8)))
	}
	return b
}
