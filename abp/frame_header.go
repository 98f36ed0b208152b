package abp

import (
	"fmt"

	"alleria/abp/frame"
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
	e := wireEnc{dst}
	e.u16(FrameHeaderSize)
	e.u16(max(h.Encoding, frame.Version1))
	e.u32(0) // flags of later versions
	e.u32(h.Thread)
	e.u32(h.OSID)
	e.u64(h.Seq)
	e.u64(h.Ordinal)
	e.u64(h.Chunk)
	e.u32(h.Chunks)
	e.u32(h.MaxBlock)
	for _, v := range [...]uint64{h.FirstTSC, h.LastTSC, h.Windows, h.FSBase, h.GSBase} {
		e.u64(v)
	}
	e.counts(h.Counts)
	e.u64(h.Execs)
	e.u64(h.Words)
	return append(e.b, make([]byte, FrameHeaderSize-(len(e.b)-start))...)
}

// decode reads the header and returns the place of the body behind it.
func (h *FrameHeader) decode(b []byte) (body int, err error) {
	d := wireDec{b: b}
	size, codec := int(d.u16()), d.u16()
	if d.err != nil || size < FrameHeaderSize || size > len(b) {
		return 0, fmt.Errorf("frame header: %w", ErrCorrupt)
	}
	// A frame in an encoding that is not known is not skipped but refused, since counts
	// would silently lack it.
	if codec < frame.Version1 || codec > frame.Version4 {
		return 0, fmt.Errorf("frame encoding %d: %w", codec, ErrVersion)
	}
	h.Encoding = codec
	d.u32()
	h.Thread, h.OSID = d.u32(), d.u32()
	h.Seq, h.Ordinal, h.Chunk = d.u64(), d.u64(), d.u64()
	h.Chunks, h.MaxBlock = d.u32(), d.u32()
	for _, p := range [...]*uint64{&h.FirstTSC, &h.LastTSC, &h.Windows, &h.FSBase, &h.GSBase} {
		*p = d.u64()
	}
	d.counts(&h.Counts)
	h.Execs, h.Words = d.u64(), d.u64()
	return size, d.err
}
