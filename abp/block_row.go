package abp

import (
	"fmt"

	"alleria/abp/internal/wire"
)

// Append appends a block's row to a BLOCKS section's payload.
//
// The row has fixed-size parts only, code excepted, and is not compressed by itself:
// BLOCKS sections are, and similar rows one after the other compress well.
func (b *Block) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wire.Encoder) {
		e.U32(b.ID)
		e.U32(b.Image)
		e.U64(b.Addr)
		e.U64(b.Target)
		e.U16(uint16(b.Words))
		e.U16(uint16(b.TimeWord))
		e.U16(uint16(b.BranchWord))
		e.U8(uint8(b.Branch))
		// Reserved: it brings the fields behind it to an even place, and is ignored
		// by readers.
		e.U8(0)
		e.Bytes(b.Code)
		e.U32(uint32(len(b.Ins)))
		e.U32(uint32(len(b.Accesses)))
		for i := range b.Ins {
			in := &b.Ins[i]
			e.U16(in.Off)
			e.U8(in.Len)
			// How many, and not from where: operands lie in the order of their
			// instructions.
			e.U8(uint8(in.AccTo - in.AccFrom))
			e.U16(uint16(in.Flags))
			e.U32(in.Func)
		}
		for i := range b.Accesses {
			b.Accesses[i].append(e)
		}
		far := b.pieces()
		if b.Sample != nil || len(b.Registers) > 0 || far > 0 {
			for i := range b.Ins {
				e.U32(b.sampleRate(i))
			}
		}
		if len(b.Registers) > 0 || far > 0 { // since 1.3
			e.U32(uint32(len(b.Registers)))
			for _, w := range b.Registers {
				e.U16(w.Ins)
				e.U16(uint16(w.Reg))
				e.U16(uint16(w.Word))
			}
		}
		if far > 0 { // since 1.5
			e.U32(uint32(far))
			last := int32(0)
			for i := range b.Ins {
				if f := b.Ins[i].Far; f != last {
					e.U16(uint16(i))
					e.U32(uint32(f))
					last = f
				}
			}
		}
	})
}

// pieces is how many of the block's instructions do not lie behind the one before.
func (b *Block) pieces() (n int) {
	last := int32(0)
	for i := range b.Ins {
		if f := b.Ins[i].Far; f != last {
			n++
			last = f
		}
	}
	return n
}

// decodePieces reads where a block's code goes on elsewhere.
func (b *Block) decodePieces(d *wire.Decoder) error {
	n := int(d.U32())
	if n*pieceBytes > len(d.B) {
		return fmt.Errorf("block %d: %d pieces: %w", b.ID, n, ErrCorrupt)
	}
	at, far := 0, int32(0)
	for range n {
		next := int(d.U16())
		if next < at || next >= len(b.Ins) {
			return fmt.Errorf("block %d: a piece at instruction %d of %d: %w", b.ID, next, len(b.Ins), ErrCorrupt)
		}
		for ; at < next; at++ {
			b.Ins[at].Far = far
		}
		far = int32(d.U32())
	}
	for ; at < len(b.Ins); at++ {
		b.Ins[at].Far = far
	}
	return nil
}

// sampleRate is the rate that instruction i's executions were kept at, 0 for all.
func (b *Block) sampleRate(i int) uint32 {
	if b.Sample == nil {
		return 0
	}
	return b.Sample[i]
}

// Sizes of the parts of a block's row, for bounds.
// They are the widths that Append writes; decode refuses a row that claims more parts
// than it has bytes for.
const (
	insBytes      = 10
	accessBytes   = 28
	registerBytes = 6
	pieceBytes    = 6
)

// append writes one operand. Store and segment share a byte, because no operand
// needs more and blocks have many.
// The two bytes behind the small fields are reserved, and zero.
func (a *Access) append(e *wire.Encoder) {
	flags := a.Seg << 1
	if a.Store {
		flags |= 1
	}
	for _, v := range [...]uint8{uint8(a.Kind), flags, a.Lanes, a.Scale, a.IndexSize, a.AddrBits} {
		e.U8(v)
	}
	e.U16(0)
	e.U32(a.Size)
	for _, v := range [...]int16{a.Word, a.AuxWord, a.IndexWord, a.Value} {
		e.U16(uint16(v))
	}
	e.U64(uint64(a.Offset))
}

// decode reads what append wrote. Values that make no sense are Prepare's to find.
func (a *Access) decode(d *wire.Decoder) {
	a.Kind = AccessKind(d.U8())
	flags := d.U8()
	// Unknown segments are kept as they are: Prepare refuses them.
	a.Store, a.Seg = flags&1 != 0, flags>>1
	a.Lanes, a.Scale, a.IndexSize, a.AddrBits = d.U8(), d.U8(), d.U8(), d.U8()
	d.U16()
	a.Size = d.U32()
	for _, p := range [...]*int16{&a.Word, &a.AuxWord, &a.IndexWord, &a.Value} {
		*p = int16(d.U16())
	}
	a.Offset = int64(d.U64())
}

// decodeSample reads the rates that instructions' executions were kept at: since 1.2, where something was sampled or registers follow.
func (b *Block) decodeSample(d *wire.Decoder) {
	n := len(b.Ins)
	if len(d.B) < 4*n || n == 0 {
		return
	}
	b.Sample = make([]uint32, n)
	sampled := false
	for i := range b.Sample {
		b.Sample[i] = d.U32()
		sampled = sampled || b.Sample[i] != 0
	}
	if !sampled { // they are there for what follows
		b.Sample = nil
	}
}

// decodeRegisters reads which words are registers: since 1.3.
func (b *Block) decodeRegisters(d *wire.Decoder) error {
	n := int(d.U32())
	if n*registerBytes > len(d.B) {
		return fmt.Errorf("block %d: %d registers: %w", b.ID, n, ErrCorrupt)
	}
	b.Registers = make([]RegisterWord, n)
	for i := range b.Registers {
		b.Registers[i] = RegisterWord{d.U16(), Register(d.U16()), int16(d.U16())}
	}
	return nil
}

// decode reads a block's row and prepares the block. Fields behind the known
// ones are those of a later version, and ignored.
func (b *Block) decode(d *wire.Decoder) error {
	b.ID = d.U32()
	b.Image = d.U32()
	b.Addr = d.U64()
	b.Target = d.U64()
	b.Words = int(d.U16())
	b.TimeWord = int16(d.U16())
	b.BranchWord = int16(d.U16())
	b.Branch = BranchKind(d.U8())
	d.U8()
	b.Code = d.Bytes()
	// Bounds before anything is allocated: a row must not ask for more memory
	// than it has bytes.
	nIns, nAcc := int(d.U32()), int(d.U32())
	if nIns > 1<<16 || nAcc > 1<<16 || nIns*insBytes+nAcc*accessBytes > len(d.B) {
		return fmt.Errorf("block %d: %d instructions with %d operands: %w", b.ID, nIns, nAcc, ErrCorrupt)
	}
	b.Ins = make([]Ins, nIns)
	b.Accesses = make([]Access, nAcc)
	// The file has the number of operands of each instruction, memory where they
	// lie, which is what readers ask for.
	at := 0
	for i := range b.Ins {
		in := &b.Ins[i]
		in.Off, in.Len = d.U16(), d.U8()
		n := int(d.U8())
		in.Flags, in.Func = InsFlags(d.U16()), d.U32()
		in.AccFrom, in.AccTo = uint16(at), uint16(at+n)
		at += n
	}
	for i := range b.Accesses {
		b.Accesses[i].decode(d)
	}
	b.decodeSample(d)
	if len(d.B) >= 4 {
		if err := b.decodeRegisters(d); err != nil {
			return err
		}
	}
	if len(d.B) >= 4 {
		if err := b.decodePieces(d); err != nil {
			return err
		}
	}
	if d.Err != nil {
		return d.Err
	}
	if at != nAcc {
		return fmt.Errorf("block %d: operands of instructions do not add up: %w", b.ID, ErrCorrupt)
	}
	if err := b.Prepare(); err != nil {
		return fmt.Errorf("%w: %w", err, ErrCorrupt)
	}
	return nil
}
