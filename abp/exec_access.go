package abp

import (
	"encoding/binary"
	"math/bits"
)

// ForEachAccess calls f for every counted access of the execution, in the order
// in which they executed. m is reused: f copies what it keeps. A call back was
// chosen over a slice because a string instruction may have millions.
//
// Only completed instructions are expanded, and of them those whose addresses are
// recorded: the accesses that it yields are those that Counts counts.
func (x *Exec) ForEachAccess(f func(m *Mem)) {
	for i := 0; i < x.Completed; i++ {
		x.InsAccesses(i, f)
	}
}

// InsAccesses calls f for every counted access of the execution's instruction i.
// i must be less than Completed.
func (x *Exec) InsAccesses(i int, f func(m *Mem)) {
	b := x.Block
	if !b.Counted(i) {
		return
	}
	m := &x.mem // one of its own would be allocated for each instruction, since f keeps it for all that is known
	if x.IsEmulated {
		if i == 0 { // the block has one instruction
			*m = Mem{}
			x.emulatedAccesses(m, f)
		}
		return
	}
	in := &b.Ins[i]
	if in.AccFrom == in.AccTo {
		return
	}
	*m = Mem{Ins: uint16(i)}
	// movs and cmps: the only instructions with two strings.
	if in.AccTo-in.AccFrom == 2 && x.stringPair(in, m, f) {
		return
	}
	for k := in.AccFrom; k < in.AccTo; k++ {
		x.expand(&b.Accesses[k], m, f)
	}
}

// emulatedAccesses calls f for what the tracer noted of an instruction that it
// executed itself.
func (x *Exec) emulatedAccesses(m *Mem, f func(m *Mem)) {
	var values []uint64 // of the accesses that are left
	if len(x.Beside) > x.Block.Words {
		values = x.Beside[x.Block.Words:]
	}
	for i := 0; i+1 < len(x.Emulated); i += 2 {
		m.Addr = x.Emulated[i]
		m.Store = x.Emulated[i+1]&EmulatedStore != 0
		m.Size = uint32(x.Emulated[i+1] &^ EmulatedStore)
		m.Value = nil
		if n := wordsFor(uint64(m.Size)); n <= len(values) {
			buf := x.scratch[:0]
			for _, w := range values[:n] {
				buf = binary.LittleEndian.AppendUint64(buf, w)
			}
			x.scratch, values = buf, values[n:]
			m.Value = buf[:m.Size]
		}
		f(m)
	}
}

// PlainAddr returns the address of an operand of the kind AccessPlain.
func (x *Exec) PlainAddr(a *Access) uint64 { return x.linear(a, x.base(a)) }

// base returns the address that the words and the offset alone give.
// Offset already holds what earlier instructions of the block added to the
// register.
func (x *Exec) base(a *Access) uint64 {
	addr := uint64(a.Offset)
	if a.Word >= 0 {
		addr += x.Words[a.Word]
	}
	return addr
}

// linear cuts the address to the operand's address size and adds the segment's
// base.
//
// In this order: an address-size prefix cuts the effective address, the segment's base
// is added with 64 bits (Intel SDM volume 1, section 3.7).
func (x *Exec) linear(a *Access, addr uint64) uint64 {
	if a.AddrBits == 32 {
		addr = uint64(uint32(addr))
	}
	switch a.Seg {
	case SegFS:
		addr += x.FSBase
	case SegGS:
		addr += x.GSBase
	}
	return addr
}

// expand calls f for the accesses that one operand made.
func (x *Exec) expand(a *Access, m *Mem, f func(m *Mem)) {
	m.Store, m.Size, m.Lane, m.Mask, m.Value = a.Store, a.Size, 0, 0, nil
	addr := x.base(a)
	switch a.Kind {
	case AccessPlain:
		m.Addr = x.linear(a, addr)
		m.Value = x.value(a, 0, uint64(a.Size))
		f(m)
	case AccessString:
		x.expandString(a, m, f)
	case AccessMasked, AccessGather:
		x.expandLanes(a, addr, m, f)
	case AccessPacked:
		// Expansions read and compressions write one stretch, as long as lanes are
		// active; which ones is in the mask.
		m.Mask = x.Words[a.AuxWord] & LaneMask(a.Lanes)
		m.Size = a.Size * uint32(bits.OnesCount64(m.Mask))
		if m.Size != 0 {
			m.Addr = x.linear(a, addr)
			m.Value = x.value(a, 0, uint64(m.Size))
			f(m)
		}
	case AccessSized:
		if size := x.Words[a.AuxWord]; size != 0 {
			m.Size = uint32(size)
			m.Addr = x.linear(a, addr)
			m.Value = x.value(a, 0, size)
			f(m)
		}
	case AccessBits:
		// The offset is signed and counts bits from the operand's address on.
		shift := bits.TrailingZeros32(a.Size) + 3
		addr += uint64(int64(x.Words[a.AuxWord])>>shift) * uint64(a.Size)
		m.Addr = x.linear(a, addr)
		m.Value = x.value(a, 0, uint64(a.Size))
		f(m)
	}
}

// stringRange returns the first address (before the segment's base is added),
// the step and the number of a string operand's accesses.
// Word holds the pointer before the instruction, AuxWord the one after it.
func (x *Exec) stringRange(a *Access) (addr, step, n uint64) {
	step = uint64(a.Size)
	// The direction flag is not recorded: which way the pointer went tells it.
	d := x.Words[a.AuxWord] - x.Words[a.Word]
	if int64(d) < 0 {
		d, step = -d, -step
	}
	return x.base(a), step, d / uint64(a.Size)
}

// expandString calls f for each iteration's access. The segment's base is added
// to each address after it was cut to its size, as the processor does.
// Values of a string that ran downwards are packed from its lowest address too:
// that is what copying memory out gives.
func (x *Exec) expandString(a *Access, m *Mem, f func(m *Mem)) {
	addr, step, n := x.stringRange(a)
	for i := range n {
		m.Addr = x.linear(a, addr+i*step)
		m.Value = x.element(a, i)
		f(m)
	}
}

// element returns the value of a string operand's iteration.
func (x *Exec) element(a *Access, i uint64) []byte {
	if a.Value < 0 || a.Lanes == 0 {
		return nil
	}
	return x.value(a, i%uint64(a.Lanes)*uint64(a.Size), uint64(a.Size))
}

// stringPair expands an instruction with two string operands, whose accesses
// alternate. It returns false if the instruction is not one.
func (x *Exec) stringPair(in *Ins, m *Mem, f func(m *Mem)) bool {
	a, b := &x.Block.Accesses[in.AccFrom], &x.Block.Accesses[in.AccFrom+1]
	if a.Kind != AccessString || b.Kind != AccessString {
		return false
	}
	m.Lane, m.Mask, m.Value = 0, 0, nil
	addrA, stepA, nA := x.stringRange(a)
	addrB, stepB, nB := x.stringRange(b)
	// A comparison that faults in its second operand has done one access more
	// with the first, so that the numbers may differ.
	for i := range max(nA, nB) {
		if i < nA {
			m.Addr, m.Size, m.Store = x.linear(a, addrA+i*stepA), a.Size, a.Store
			m.Value = x.element(a, i)
			f(m)
		}
		if i < nB {
			m.Addr, m.Size, m.Store = x.linear(b, addrB+i*stepB), b.Size, b.Store
			m.Value = x.element(b, i)
			f(m)
		}
	}
	return true
}

// expandLanes calls f for each active lane, from the lowest on. The order in which
// a gather's lanes are read is not architectural.
// Inactive lanes access nothing, also where their addresses would be bad: that is
// what the instructions promise (Intel SDM volume 2, VMASKMOV, VPGATHER).
func (x *Exec) expandLanes(a *Access, addr uint64, m *Mem, f func(m *Mem)) {
	mask := x.Words[a.AuxWord] & LaneMask(a.Lanes)
	m.Mask = mask
	for rest := mask; rest != 0; rest &= rest - 1 {
		lane := bits.TrailingZeros64(rest)
		at := addr + uint64(lane)*uint64(a.Size)
		if a.Kind == AccessGather {
			at = addr + uint64(x.index(a, lane))*uint64(a.Scale)
		}
		m.Addr = x.linear(a, at)
		m.Lane = uint8(lane)
		m.Value = x.value(a, uint64(lane)*uint64(a.Size), uint64(a.Size))
		f(m)
	}
}

// index returns a gather's signed index of that lane.
// Packed indices never straddle two words, as their sizes are powers of two.
func (x *Exec) index(a *Access, lane int) int64 {
	bit := uint(lane) * uint(a.IndexSize) * 8
	w := x.Words[int(a.IndexWord)+int(bit/64)] >> (bit % 64)
	switch a.IndexSize {
	case 1:
		return int64(int8(w))
	case 2:
		return int64(int16(w))
	case 4:
		return int64(int32(w))
	}
	return int64(w)
}

// value returns size recorded bytes of the operand from byte off on, nil where
// they are not there. Words are numbers in memory; the bytes are laid out anew
// rather than reinterpreted, so that readers need no unsafe code.
//
// The result is overwritten by the next call: entries copy it, callers of ForEachAccess
// look at it at once. A length that the words cannot hold gives no value and no error:
// it is that of an operand whose bytes were too many to be recorded.
func (x *Exec) value(a *Access, off, size uint64) []byte {
	if a.Value < 0 {
		return nil
	}
	avail := uint64(len(x.Words)-int(a.Value)) * 8
	if off > avail || size > avail-off {
		return nil
	}
	first := int(a.Value) + int(off/8)
	last := int(a.Value) + wordsFor(off+size)
	buf := x.scratch[:0]
	for _, w := range x.Words[first:last] {
		buf = binary.LittleEndian.AppendUint64(buf, w)
	}
	x.scratch = buf
	return buf[off%8 : off%8+size]
}
