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

// FrameSums are what of a frame's counts does not follow from how often it executes each
// block. With them, counts by instruction need no decoding: see Reader.FrameSums. They are
// a section of their own directly behind the frame's, since 1.6; a frame that has nothing to
// say there has none, and one that would have very much neither.
type FrameSums struct {
	Thread uint32
	Seq    uint64 // of the frame
	// Dynamic is what accesses count for whose number or size the words tell, also those
	// of cut executions.
	Dynamic []DynamicSum
	// Cuts are executions of which only the first instructions completed.
	Cuts []CutSum
}

// DynamicSum is what an instruction's dynamic accesses of a frame count for together.
type DynamicSum struct {
	Block  uint32
	Ins    uint16 // of the block
	Counts Counts // of accesses only
}

// CutSum says how many executions of a block were cut behind so many instructions.
type CutSum struct {
	Block     uint32
	Completed uint16
	Execs     uint64
}

// maxFrameSums bounds the rows of a frame. What has more is decoded as fast as it is added
// up from them.
const maxFrameSums = 1 << 14

// Rows of FRAME_SUMS. A reader that meets another kind decodes the frame.
const (
	rowSumsFrame = 1
	rowSumsIns   = 2
	rowSumsCut   = 3
)

// Append appends a FRAME_SUMS section's payload, nothing if there is nothing to say or
// too much.
func (s *FrameSums) Append(dst []byte) []byte {
	if n := len(s.Dynamic) + len(s.Cuts); n == 0 || n > maxFrameSums {
		return dst
	}
	e := wire.Encoder{B: dst}
	encodeRow(&e, rowSumsFrame, func(e *wire.Encoder) {
		e.U32(s.Thread)
		e.U64(s.Seq)
	})
	for i := range s.Dynamic {
		r := &s.Dynamic[i]
		encodeRow(&e, rowSumsIns, func(e *wire.Encoder) {
			e.U32(r.Block)
			e.U16(r.Ins)
			for _, v := range [...]uint64{r.Counts.Loads, r.Counts.Stores, r.Counts.BytesRead, r.Counts.BytesWritten} {
				e.U64(v)
			}
		})
	}
	for i := range s.Cuts {
		r := &s.Cuts[i]
		encodeRow(&e, rowSumsCut, func(e *wire.Encoder) {
			e.U32(r.Block)
			e.U16(r.Completed)
			e.U64(r.Execs)
		})
	}
	return e.B
}

// decode reads what Append wrote. It returns false if there are rows that it does not know.
func (s *FrameSums) decode(payload []byte) (known bool, err error) {
	*s = FrameSums{Dynamic: s.Dynamic[:0], Cuts: s.Cuts[:0]}
	known = true
	err = eachRow(payload, func(kind uint16, d *wire.Decoder) {
		switch kind {
		case rowSumsFrame:
			s.Thread, s.Seq = d.U32(), d.U64()
		case rowSumsIns:
			r := DynamicSum{Block: d.U32(), Ins: d.U16()}
			for _, p := range [...]*uint64{&r.Counts.Loads, &r.Counts.Stores, &r.Counts.BytesRead, &r.Counts.BytesWritten} {
				*p = d.U64()
			}
			s.Dynamic = append(s.Dynamic, r)
		case rowSumsCut:
			s.Cuts = append(s.Cuts, CutSum{d.U32(), d.U16(), d.U64()})
		default:
			known = false
		}
	})
	return known, err
}

// readSums reads the sums of a frame. It returns false if there are none.
func (ref *FrameRef) readSums(s *FrameSums) (ok bool, err error) {
	i := ref.Section + 1
	if i >= len(ref.File.sections) || ref.File.sections[i].Type != SectionFrameSums {
		return false, nil
	}
	payload, err := ref.File.ReadSection(i, nil)
	if err != nil {
		return false, err
	}
	known, err := s.decode(payload)
	if err != nil {
		return false, corrupt(err)
	}
	// Another frame's is none: files that others have put together may lack a frame.
	return known && s.Thread == ref.Thread && s.Seq == ref.Seq, nil
}
