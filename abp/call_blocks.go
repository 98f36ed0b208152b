package abp

import (
	"fmt"

	"alleria/abp/calls"
	"alleria/abp/internal/wire"
)

// InterceptorsFile is the name of the file with a process's captured calls, beside its main profile.
const InterceptorsFile = "interceptors.abp"

// Rows of TYPES.
const (
	rowType      = 1
	rowSignature = 2
)

// AppendType appends a type's row to a TYPES section's payload.
func AppendType(dst []byte, id calls.TypeID, t *calls.Type) []byte {
	return appendRow(dst, rowType, func(e *wire.Encoder) { t.Encode(e, id) })
}

// AppendSignature appends the row of an intercepted function.
func AppendSignature(dst []byte, s *calls.Signature) []byte {
	return appendRow(dst, rowSignature, s.Encode)
}

// CallBlockSize is the size of a CallBlock before the records of an INTERCEPTORS section.
const CallBlockSize = 64

// CallBlock describes the records of one thread that an INTERCEPTORS section holds. The thread's records are those
// of its blocks in the order of their places.
type CallBlock struct {
	Thread, OSID uint32
	Chunk, Word  uint64 // place in the thread's ring where the first was
	First, Last  uint64 // TSC
	Records      uint32
	Zstd         bool   // the records are one zstd frame
	Raw          uint32 // bytes that they take without
}

// Append appends the block's header; the records follow.
func (b *CallBlock) Append(dst []byte) []byte {
	e := wire.Encoder{B: dst}
	start := len(dst)
	e.U32(b.Thread)
	e.U32(b.OSID)
	e.U64(b.Chunk)
	e.U64(b.Word)
	e.U64(b.First)
	e.U64(b.Last)
	e.U32(b.Records)
	e.Bool(b.Zstd)
	e.U8(0)
	e.U16(0)
	e.U32(b.Raw)
	return append(e.B, make([]byte, CallBlockSize-(len(e.B)-start))...)
}

// maxCallBlock bounds a block's records.
const maxCallBlock = 64 << 20

// decode reads a block's header.
func (b *CallBlock) decode(raw []byte) error {
	if len(raw) < CallBlockSize {
		return fmt.Errorf("block of calls: %w", ErrCorrupt)
	}
	d := wire.Decoder{B: raw[:CallBlockSize]}
	b.Thread, b.OSID = d.U32(), d.U32()
	b.Chunk, b.Word, b.First, b.Last = d.U64(), d.U64(), d.U64(), d.U64()
	b.Records, b.Zstd = d.U32(), d.Bool()
	d.U8()
	d.U16()
	b.Raw = d.U32()
	if b.Raw > maxCallBlock {
		return fmt.Errorf("block of calls of %d bytes: %w", b.Raw, ErrCorrupt)
	}
	return nil
}

// body returns the records' bytes behind a block's header.
func (b *CallBlock) body(raw []byte) ([]byte, error) {
	raw = raw[CallBlockSize:]
	if !b.Zstd {
		return raw, nil
	}
	out, err := decompress(raw)
	if err != nil {
		return nil, fmt.Errorf("block of calls: %w: %w", ErrCorrupt, err)
	}
	if len(out) != int(b.Raw) {
		return nil, fmt.Errorf("block of calls has %d bytes, not %d: %w", len(out), b.Raw, ErrCorrupt)
	}
	return out, nil
}
