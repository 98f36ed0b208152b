package abp

import (
	"fmt"

	"alleria/abp/internal/wire"
)

// rowPacked is the kind of the rows of BLOCKS that have many blocks, packed, since 1.18.
//
// They have the same facts as plain rows in a fifth of the bytes: numbers are LEB128, indices of words one more than they are, and a field
// that is nearly always the same takes no more than a bit. docs/format.md has the rules. A recording whose code was translated in an earlier run has
// the facts in this form already, so that a process that is recorded for some milliseconds need not make 60,000 rows anew.
const rowPacked = 2

// AppendPackedRow appends a row with blocks, as AppendPackedBlock and AppendPackedPart have collected them, to a BLOCKS section's payload.
func AppendPackedRow(dst, blocks []byte) []byte {
	return appendRow(dst, rowPacked, func(e *wire.Encoder) { e.B = append(e.B, blocks...) })
}

// AppendPackedBlock appends a block to those of a packed row: its number, and its facts.
func AppendPackedBlock(blocks []byte, number uint32, facts []byte) []byte {
	e := wire.Encoder{B: blocks}
	e.Uvarint(uint64(number) << 1)
	return append(e.B, facts...)
}

// AppendPackedPart appends a part of a block that is in front of it, in this row or another: executions that left the block by a branch in its
// middle. part is the block's number, how many of its instructions the part has, how many words, and where the branch leads from the block's address.
func AppendPackedPart(blocks []byte, number uint32, part []byte) []byte {
	e := wire.Encoder{B: blocks}
	e.Uvarint(uint64(number)<<1 | 1)
	return append(e.B, part...)
}

// Bits of an instruction's first byte, beside its length.
const (
	packedLen       = 0x0f
	packedFlags     = 0x10 // its flags follow; else they are those of the one before
	packedFunc      = 0x20 // its function follows; else it is that of the one before
	packedElsewhere = 0x40 // its offset and Far follow; else it lies behind the one before
	packedAccesses  = 0x80 // operands follow
)

// Bits of an operand's first byte, beside its kind.
const (
	packedKind  = 0x07
	packedStore = 0x08
	packedSeg   = 0x30
	packed32    = 0x40 // AddrBits is 32
	packedLanes = 0x80 // what only vectors and strings have follows

	packedSegShift = 4
	// packedNear, instead of a segment: there is none, and the block's address is added to the offset.
	packedNear = 3 << packedSegShift
	// packedTarget, below the kind of a branch: its target is known.
	packedTarget = 1
)

// An operand like nine of ten: of an address without a segment, one lane of up to 16 bytes whose value is not recorded, and whose word is that of
// the operand before, or the next.
const (
	packedShort = 0x07 // instead of a kind
	packedNext  = 0x10 // its word is the next one

	packedSizeShift = 5 // the binary logarithm of its size
)

// addPacked reads a packed row.
func (p *Process) addPacked(d *wire.Decoder) error {
	for len(d.B) > 0 {
		v := d.Uvarint()
		if d.Err != nil {
			return d.Err
		}
		if v>>1 == 0 || v>>1 >= maxBlockID {
			return fmt.Errorf("block %d: %w", v>>1, ErrCorrupt)
		}
		b := &Block{ID: uint32(v >> 1)}
		if v&1 == 0 {
			if err := b.decodePacked(d); err != nil {
				return err
			}
		} else if found, err := b.decodePart(d, p.blocks); err != nil || !found {
			if err != nil {
				return err
			}
			continue
		}
		if err := b.Prepare(); err != nil {
			return fmt.Errorf("%w: %w", err, ErrCorrupt)
		}
		p.setBlock(b)
	}
	return nil
}

// decodePacked reads a block's packed facts. What it has of anything is bounded by the bytes before memory is asked for.
func (b *Block) decodePacked(d *wire.Decoder) error {
	b.Addr = d.U64()
	b.Words, b.Image = int(d.Uvarint()), uint32(d.Uvarint())
	b.TimeWord, b.BranchWord = packedWord(d), packedWord(d)
	branch := d.Uvarint()
	b.Branch = BranchKind(min(branch>>1, uint64(branchKinds)))
	instructions, accesses, code := d.Uvarint(), d.Uvarint(), d.Uvarint()
	if target := d.Varint(); branch&packedTarget != 0 {
		b.Target = b.Addr + uint64(target)
	}
	if left := uint64(len(d.B)); code > left || instructions > min(left-code, 1<<16) || accesses > min((left-code)/2, 1<<16-1) {
		return fmt.Errorf("block %d: %d bytes, %d instructions with %d operands: %w", b.ID, code, instructions, accesses, ErrCorrupt)
	}
	b.Code = append([]byte(nil), d.B[:code]...)
	d.B = d.B[code:]
	if err := b.unpackRegisters(d); err != nil {
		return err
	}
	b.Ins, b.Accesses = make([]Ins, instructions), make([]Access, 0, accesses)
	b.unpackInstructions(d)
	if d.Err != nil {
		return d.Err
	}
	if uint64(len(b.Accesses)) != accesses {
		return fmt.Errorf("block %d: operands of instructions do not add up: %w", b.ID, ErrCorrupt)
	}
	return nil
}

// packedWord reads the index of a word, or none.
func packedWord(d *wire.Decoder) int16 { return int16(d.Uvarint()) - 1 }

// unpackRegisters reads which registers the words have.
func (b *Block) unpackRegisters(d *wire.Decoder) error {
	n := d.Uvarint()
	if n > uint64(len(d.B)/3) {
		return fmt.Errorf("block %d: %d registers: %w", b.ID, n, ErrCorrupt)
	}
	for range n {
		b.Registers = append(b.Registers, RegisterWord{Ins: uint16(d.Uvarint()), Reg: Register(d.Uvarint()), Word: packedWord(d)})
	}
	return nil
}

// unpackInstructions reads the instructions with their operands; of these no more than there is room for.
func (b *Block) unpackInstructions(d *wire.Decoder) {
	var last Ins
	word := int16(NoWord)
	for i := range b.Ins {
		first := d.U8()
		in := Ins{Off: last.Off + uint16(last.Len), Far: last.Far, Len: first & packedLen, Flags: last.Flags, Func: last.Func}
		if first&packedFlags != 0 {
			in.Flags = InsFlags(d.Uvarint())
		}
		if first&packedFunc != 0 {
			in.Func = uint32(d.Uvarint())
		}
		if first&packedElsewhere != 0 {
			in.Off, in.Far = uint16(d.Uvarint()), int32(d.Varint())
		}
		in.AccFrom = uint16(len(b.Accesses))
		if first&packedAccesses != 0 {
			n := d.Uvarint()
			if n > uint64(cap(b.Accesses)-len(b.Accesses)) {
				d.Err, d.B = wire.ErrShort, nil
				return
			}
			for range n {
				a := unpackAccess(d, b.Addr, word)
				b.Accesses, word = append(b.Accesses, a), a.Word
			}
		}
		in.AccTo = uint16(len(b.Accesses))
		b.Ins[i], last = in, in
	}
}

// unpackAccess reads an operand of a block at addr; word is the one that the operand before has.
func unpackAccess(d *wire.Decoder, addr uint64, word int16) Access {
	first := d.U8()
	if first&packedKind == packedShort {
		a := Access{Store: first&packedStore != 0, Size: 1 << (first >> packedSizeShift), Word: word, Value: NoWord, AddrBits: 64,
			AuxWord: NoWord, IndexWord: NoWord, Offset: d.Varint()}
		if first&packedNext != 0 {
			a.Word++
		}
		return a
	}
	a := Access{Kind: AccessKind(first & packedKind), Store: first&packedStore != 0, Seg: first & packedSeg >> packedSegShift, AddrBits: 64,
		AuxWord: NoWord, IndexWord: NoWord}
	if first&packed32 != 0 {
		a.AddrBits = 32
	}
	a.Size, a.Word, a.Value = uint32(d.Uvarint()), packedWord(d), packedWord(d)
	if a.Offset = d.Varint(); first&packedSeg == packedNear {
		a.Seg, a.Offset = SegNone, a.Offset+int64(addr)
	}
	if first&packedLanes != 0 {
		a.Lanes, a.Scale, a.IndexSize = d.U8(), d.U8(), d.U8()
		a.AuxWord, a.IndexWord = packedWord(d), packedWord(d)
	}
	return a
}

// decodePart reads a part of one of the blocks that are known, whose arrays are its too; false if that block was lost.
func (b *Block) decodePart(d *wire.Decoder, blocks []*Block) (found bool, err error) {
	of, ins, words, target := d.Uvarint(), d.Uvarint(), d.Uvarint(), d.Varint()
	if d.Err != nil {
		return false, d.Err
	}
	if of >= uint64(len(blocks)) || blocks[of] == nil {
		return false, nil
	}
	whole := blocks[of]
	if ins < 1 || ins > uint64(len(whole.Ins)) || words > MaxBlockWords {
		return false, fmt.Errorf("block %d: %d of %d instructions of block %d, with %d words: %w", b.ID, ins, len(whole.Ins), of, words, ErrCorrupt)
	}
	id, last := b.ID, &whole.Ins[ins-1]
	*b = *whole
	b.ID, b.Words, b.Target, b.Branch, b.BranchWord = id, int(words), b.Addr+uint64(target), BranchCond, NoWord
	end := int(last.Off) + int(last.Len) // within, as Prepare has seen
	b.Ins, b.Accesses, b.Code = whole.Ins[:ins:ins], whole.Accesses[:last.AccTo:last.AccTo], whole.Code[:end:end]
	b.Sample = b.Sample[:min(len(b.Sample), int(ins))]
	for i := range b.Registers {
		if uint64(b.Registers[i].Ins) >= ins {
			b.Registers = b.Registers[:i:i]
			break
		}
	}
	return true, nil
}
