package emit

import (
	"fmt"

	"alleria/abp"
	"alleria/internal/layout"
)

// ConvertBlock makes the file's form of a block that the engine recorded. The
// numbers of both are the same today; they are converted all the same, because
// the file's must stay when the engine's change.
//
// It shares the block's code with the engine, which never changes it, and copies
// everything else.
func ConvertBlock(b *layout.Block) (*abp.Block, error) {
	out := &abp.Block{
		ID: b.ID, Image: b.Image, Addr: b.Addr, Target: b.Target, Words: b.Words,
		TimeWord: b.TimeWord, BranchWord: b.BranchWord, Branch: abp.BranchKind(b.Branch),
		Code: b.Code, Ins: make([]abp.Ins, len(b.Ins)),
	}
	// One array for all operands, as abp.Block wants it.
	n := 0
	for i := range b.Ins {
		n += len(b.Ins[i].Accesses)
	}
	out.Accesses = make([]abp.Access, 0, n)
	for i := range b.Ins {
		in := &b.Ins[i]
		from := len(out.Accesses)
		for k := range in.Accesses {
			out.Accesses = append(out.Accesses, convertAccess(&in.Accesses[k]))
		}
		out.Ins[i] = abp.Ins{
			Off: in.Off, Len: in.Len, Flags: abp.InsFlags(in.Flags), Func: in.Func,
			AccFrom: uint16(from), AccTo: uint16(len(out.Accesses)),
		}
	}
	// What the engine made wrong shall fail here and not in a reader.
	if err := out.Prepare(); err != nil {
		return nil, fmt.Errorf("convert block at %#x: %w", b.Addr, err)
	}
	return out, nil
}

// convertAccess converts one operand. Every field is named: a field that the
// engine adds must be thought about here, not slip through.
func convertAccess(a *layout.Access) abp.Access {
	return abp.Access{
		Kind: abp.AccessKind(a.Kind), Store: a.Store, Seg: a.Seg, Lanes: a.Lanes, Scale: a.Scale,
		IndexSize: a.IndexSize, AddrBits: a.AddrBits, Size: a.Size,
		Word: a.Word, AuxWord: a.AuxWord, IndexWord: a.IndexWord, Value: a.Value, Offset: a.Offset,
	}
}
