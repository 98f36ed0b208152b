package emit

import (
	"fmt"

	"alleria/abp"
	"alleria/abp/frame"
	"alleria/internal/records"
)

// converter makes the file's form of blocks that the engine recorded, in memory
// of its own that it uses again. It belongs to one goroutine.
type converter struct {
	raw   records.Block
	out   abp.Block
	shape frame.Shape
}

// convert returns the block of that number, valid until the next call; nil if
// there is none, or if it makes no sense.
func (c *converter) convert(blocks *blockTable, id uint32) *abp.Block {
	if !blocks.read(id, &c.raw) || convertBlock(&c.out, &c.raw) != nil {
		return nil
	}
	blocks.addRates(&c.out)
	return &c.out
}

// read reads the engine's facts of a block by its number in the profile.
func (t *blockTable) read(id uint32, b *records.Block) bool {
	if t.sampling != nil {
		return t.sampling.read(t.raw, id, b)
	}
	return t.raw.Read(id, b)
}

// convertBlock makes the file's form of a block. The numbers of both are the same
// today; they are converted all the same, because the file's must stay when the
// engine's change.
func convertBlock(out *abp.Block, b *records.Block) error {
	*out = abp.Block{
		ID: b.ID, Image: b.Image, Addr: b.Addr, Target: b.Target, Words: b.Words,
		TimeWord: b.TimeWord, BranchWord: b.BranchWord, Branch: abp.BranchKind(b.Branch),
		Code: b.Code, Ins: out.Ins[:0], Accesses: out.Accesses[:0],
		Registers: out.Registers[:0],
	}
	for _, w := range b.Regs {
		out.Registers = append(out.Registers, abp.RegisterWord{Ins: w.Ins, Reg: abp.Register(w.Reg), Word: w.Word})
	}
	for i := range b.Ins {
		in := &b.Ins[i]
		// One array for all operands: readers slice it by instruction.
		from := len(out.Accesses)
		for k := range in.Accesses {
			out.Accesses = append(out.Accesses, convertAccess(&in.Accesses[k]))
		}
		out.Ins = append(out.Ins, abp.Ins{
			Off: in.Off, Far: in.Far, Len: in.Len, Flags: abp.InsFlags(in.Flags), Func: in.Func,
			AccFrom: uint16(from), AccTo: uint16(len(out.Accesses)),
		})
	}
	// What the engine made wrong shall fail here and not in a reader.
	if err := out.Prepare(); err != nil {
		return fmt.Errorf("convert block at %#x: %w", b.Addr, err)
	}
	return nil
}

// convertAccess converts one operand. Every field is named: a field that the
// engine adds must be thought about here, not slip through.
func convertAccess(a *records.Access) abp.Access {
	return abp.Access{
		Kind: abp.AccessKind(a.Kind), Store: a.Store, Seg: a.Seg, Lanes: a.Lanes, Scale: a.Scale,
		IndexSize: a.IndexSize, AddrBits: a.AddrBits, Size: a.Size,
		Word: a.Word, AuxWord: a.AuxWord, IndexWord: a.IndexWord, Value: a.Value, Offset: a.Offset,
	}
}
