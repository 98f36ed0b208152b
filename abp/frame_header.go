package abp

import (
	"fmt"

	"alleria/abp/frame"
	"alleria/abp/internal/wire"
)

// FrameHeaderSize is the size of what precedes a frame's body in the payload of
// a PROFILE section.
// A later minor version may make it larger: the header begins with its own size.
const FrameHeaderSize = 168

// FrameHeader is what is known of a frame without decoding it.
//
// It has what a reader needs to skip a frame (time, ordinals, thread) and what it needs
// to begin in the middle of a thread (windows, segment bases).
type FrameHeader struct {
	Thread  uint32 // number in the process
	OSID    uint32 // the kernel's thread id
	Seq     uint64 // the frame's number within the thread, from 0
	Ordinal uint64 // of its first recorded instruction within the thread, from 0
	Chunk   uint64 // number of its first chunk within the thread, from 0
	Chunks  uint32 // of the ring that it covers
	// MaxBlock is the highest block number that it refers to.
	MaxBlock uint32
	FirstTSC uint64 // when its first chunk was opened
	LastTSC  uint64 // when its last chunk was completed
	// The thread's state at its start.
	Windows uint64
	FSBase  uint64
	GSBase  uint64
	Counts  Counts
	Execs   uint64 // executions of blocks, cut and emulated ones included
	Words   uint64 // that the body decodes to
	// Encoding is the version of the body's encoding, as package frame counts; 0, in one
	// that is to be written, stands for the first.
	Encoding uint16
}

// Append appends the header to a PROFILE section's payload.
// Its end is filled with zeroes, for fields to come.
func (h *FrameHeader) Append(dst []byte) []byte {
	start := len(dst)
	e := wire.Encoder{B: dst}
	e.U16(FrameHeaderSize)
	e.U16(max(h.Encoding, frame.Version1))
	e.U32(0) // flags of later versions
	e.U32(h.Thread)
	e.U32(h.OSID)
	e.U64(h.Seq)
	e.U64(h.Ordinal)
	e.U64(h.Chunk)
	e.U32(h.Chunks)
	e.U32(h.MaxBlock)
	for _, v := range [...]uint64{h.FirstTSC, h.LastTSC, h.Windows, h.FSBase, h.GSBase} {
		e.U64(v)
	}
	encodeCounts(&e, h.Counts)
	e.U64(h.Execs)
	e.U64(h.Words)
	return append(e.B, make([]byte, FrameHeaderSize-(len(e.B)-start))...)
}

// decode reads the header and returns the place of the body behind it.
func (h *FrameHeader) decode(b []byte) (body int, err error) {
	d := wire.Decoder{B: b}
	size, codec := int(d.U16()), d.U16()
	if d.Err != nil || size < FrameHeaderSize || size > len(b) {
		return 0, fmt.Errorf("frame header: %w", ErrCorrupt)
	}
	// A frame in an encoding that is not known is not skipped but refused, since counts
	// would silently lack it.
	if codec < frame.Version1 || codec > frame.Version4 {
		return 0, fmt.Errorf("frame encoding %d: %w", codec, ErrVersion)
	}
	h.Encoding = codec
	d.U32()
	h.Thread, h.OSID = d.U32(), d.U32()
	h.Seq, h.Ordinal, h.Chunk = d.U64(), d.U64(), d.U64()
	h.Chunks, h.MaxBlock = d.U32(), d.U32()
	for _, p := range [...]*uint64{&h.FirstTSC, &h.LastTSC, &h.Windows, &h.FSBase, &h.GSBase} {
		*p = d.U64()
	}
	decodeCounts(&d, &h.Counts)
	h.Execs, h.Words = d.U64(), d.U64()
	return size, d.Err
}
