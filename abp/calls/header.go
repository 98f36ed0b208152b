package calls

import (
	"fmt"

	"alleria/abp/internal/wire"
)

// HeaderSize is the size of a Block's header, before the records of an INTERCEPTORS section.
const HeaderSize = 64

// Block describes the records of one thread that an INTERCEPTORS section holds. The thread's records are those
// of its blocks in the order of their places.
type Block struct {
	Thread, OSID uint32
	Chunk, Word  uint64 // place in the thread's ring where the first was
	First, Last  uint64 // TSC
	Records      uint32
	Zstd         bool // the records are one zstd frame
	Encoding     Encoding
	Raw          uint32 // bytes that they take without
}

// Append appends the block's header; the records follow.
func (b *Block) Append(dst []byte) []byte {
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
	e.U8(uint8(b.Encoding))
	e.U16(0)
	e.U32(b.Raw)
	return append(e.B, make([]byte, HeaderSize-(len(e.B)-start))...)
}

// maxBlock bounds a block's records.
const maxBlock = 64 << 20

// Decode reads a block's header.
func (b *Block) Decode(raw []byte) error {
	if len(raw) < HeaderSize {
		return fmt.Errorf("block of calls: %w", ErrCorrupt)
	}
	d := wire.Decoder{B: raw[:HeaderSize]}
	b.Thread, b.OSID = d.U32(), d.U32()
	b.Chunk, b.Word, b.First, b.Last = d.U64(), d.U64(), d.U64(), d.U64()
	b.Records, b.Zstd = d.U32(), d.Bool()
	b.Encoding = Encoding(d.U8())
	d.U16()
	b.Raw = d.U32()
	if b.Encoding > Streams {
		return fmt.Errorf("block of calls in encoding %d: %w", b.Encoding, ErrCorrupt)
	}
	if b.Raw > maxBlock {
		return fmt.Errorf("block of calls of %d bytes: %w", b.Raw, ErrCorrupt)
	}
	return nil
}
