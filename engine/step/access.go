package step

import (
	"encoding/binary"
	"math/bits"

	"alleria/engine/x86"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// repeats tells a string instruction with a repeat prefix.
func (t *tracee) repeats() bool {
	for i := range t.ops {
		if t.ops[i].Kind == records.AccessString {
			return true
		}
	}
	return false
}

// before adds the accesses that the next step will make to cur, with the values
// of its loads.
//
// Vector registers cost a system call of their own, and are only read for instructions that
// address or mask with them.
func (t *tracee) before(regs *sys.Regs) error {
	for i := range t.ops {
		if o := &t.ops[i]; o.Mask != x86.MaskNone || o.Kind == records.AccessGather {
			if err := t.loadState(); err != nil {
				return err
			}
			break
		}
	}
	first := !t.repeats() || len(t.cur.Accesses) == 0
	g := generals(regs)
	for i := range t.ops {
		t.operand(&t.ops[i], &g, regs)
	}
	if first && t.opts.Before != nil {
		return t.opts.Before(&t.cur)
	}
	return nil
}

// operand adds the accesses of one operand.
// A repeated string instruction is one iteration here: the kernel reports each.
func (t *tracee) operand(o *x86.Operand, g *[x86.NumRegs]uint64, regs *sys.Regs) {
	if t.cur.Complex() {
		t.complexAccess(o, o.Address(g, regs.Fs_base, regs.Gs_base))
		return
	}
	addr := o.Address(g, regs.Fs_base, regs.Gs_base)
	switch o.Kind {
	case records.AccessString:
		count := g[x86.RCX]
		if t.cur.AddrBits == 32 {
			count = uint64(uint32(count))
		}
		if count != 0 {
			t.add(addr, o.Size, o.Store)
		}
	case records.AccessMasked:
		mask := t.mask(o)
		for lane := range uint64(o.Lanes) {
			if mask>>lane&1 != 0 {
				t.add(addr+lane*uint64(o.Size), o.Size, o.Store)
			}
		}
	case records.AccessPacked:
		mask := t.mask(o)
		if o.Lanes < 64 {
			mask &= 1<<o.Lanes - 1
		}
		if n := bits.OnesCount64(mask); n > 0 {
			t.add(addr, uint32(n)*o.Size, o.Store)
		}
	case records.AccessGather:
		t.gather(o, g, regs)
	case records.AccessBits:
		t.add(bitString(o, addr, g[o.BitReg]), o.Size, o.Store)
	default:
		if o.Size != 0 {
			t.add(addr, o.Size, o.Store)
		}
	}
}

// bitString is where a bit-string instruction accesses memory: the register
// holds a signed bit offset of the operand's width.
// Division rounds towards zero in Go and towards minus infinity in the processor.
func bitString(o *x86.Operand, base, offset uint64) uint64 {
	var bit int64
	switch o.Size {
	case 2:
		bit = int64(int16(offset))
	case 4:
		bit = int64(int32(offset))
	default:
		bit = int64(offset)
	}
	unit := int64(8 * o.Size)
	q := bit / unit
	if bit%unit < 0 {
		q-- // towards minus infinity
	}
	a := base + uint64(q*int64(o.Size))
	if o.AddrBits == 32 {
		a = uint64(uint32(a))
	}
	return a
}

// mask is a bit for each lane that an access touches.
// Bits beyond the lanes may be set; callers only look at the lanes.
func (t *tracee) mask(o *x86.Operand) (m uint64) {
	var reg []byte
	size := int(o.Size)
	switch o.Mask {
	case x86.MaskK:
		m := t.opmask(o.MaskReg)
		if o.AnyOf != 0 && m<<(64-o.AnyOf) != 0 {
			return 1
		} else if o.AnyOf != 0 {
			return 0
		}
		return m
	case x86.MaskNone:
		return ^uint64(0)
	case x86.MaskBytesM:
		reg = t.mmx(o.MaskReg)
	default:
		reg = t.vector(o.MaskReg)
	}
	for lane := 0; lane < int(o.Lanes); lane++ {
		m |= uint64(reg[(lane+1)*size-1]>>7) << lane
	}
	return m
}

// gather adds the accesses of a gather or scatter, lane by lane.
//
// Lanes go from the lowest up; a gather that faults half-way has its mask cleared for what
// is done, and is stepped again after the handler.
func (t *tracee) gather(o *x86.Operand, g *[x86.NumRegs]uint64, regs *sys.Regs) {
	mask, index := t.mask(o), t.vector(o.VIndex)
	for lane := range int(o.Lanes) {
		if mask>>lane&1 == 0 {
			continue
		}
		var i int64
		if o.IndexSize == 4 {
			i = int64(int32(binary.LittleEndian.Uint32(index[4*lane:])))
		} else {
			i = int64(binary.LittleEndian.Uint64(index[8*lane:]))
		}
		one := *o
		one.Disp += i * int64(o.Scale)
		t.add(one.Address(g, regs.Fs_base, regs.Gs_base), o.Size, o.Store)
	}
}

// complexAccess adds the access of an instruction of the XSAVE family. What a
// save touches is known afterwards; the size here is the header's.
func (t *tracee) complexAccess(o *x86.Operand, addr uint64) {
	if o.Store {
		t.add(addr, x86.StateLegacy+x86.StateHeader, true)
		return
	}
	switch t.cur.Mnem {
	case x86.MXRSTOR, x86.MXRSTOR64:
		t.add(addr, t.savedSize(addr), false)
	}
	// A save reads the header, but that is part of what it writes.
}

// savedSize is how many bytes of the XSAVE area at addr its header says are
// there.
// For an area that cannot be read it is the least that there must be.
func (t *tracee) savedSize(addr uint64) uint32 {
	var h [16]byte
	if _, err := t.mem.ReadAt(h[:], int64(addr+x86.StateLegacy)); err != nil {
		return x86.StateLegacy + x86.StateHeader
	}
	return uint32(x86.XSaveSize(binary.LittleEndian.Uint64(h[:]), t.cur.Layout(binary.LittleEndian.Uint64(h[8:]))))
}

// add adds an access, with its value if it is a load.
func (t *tracee) add(addr uint64, size uint32, store bool) {
	a := Access{Addr: addr, Size: size, Store: store}
	if !store {
		a.Value = t.read(addr, size)
	}
	t.cur.Accesses = append(t.cur.Accesses, a)
}

// read copies memory of the target; nil if it cannot be read.
//
// Values lie in one array that is used again for each instruction: that is why a visitor
// must copy what it keeps.
func (t *tracee) read(addr uint64, size uint32) []byte {
	k := len(t.arena)
	if cap(t.arena)-k < int(size) {
		t.arena, k = make([]byte, 0, max(1<<16, int(size))), 0
	}
	t.arena = t.arena[:k+int(size)]
	b := t.arena[k:]
	if _, err := t.mem.ReadAt(b, int64(addr)); err != nil {
		return nil
	}
	return b[:size:size]
}

// after completes the accesses from mark on with what is known once they have
// been made.
func (t *tracee) after(_ *sys.Regs, mark int) error {
	for i := mark; i < len(t.cur.Accesses); i++ {
		a := &t.cur.Accesses[i]
		if !a.Store {
			continue
		}
		if t.cur.Complex() {
			a.Size = t.savedSize(a.Addr)
		}
		a.Value = t.read(a.Addr, a.Size)
	}
	return nil
}

// generals puts the general registers in the order of their numbers.
func generals(r *sys.Regs) [x86.NumRegs]uint64 {
	return [...]uint64{r.Rax, r.Rcx, r.Rdx, r.Rbx, r.Rsp, r.Rbp, r.Rsi, r.Rdi,
		r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15}
}
