package abp

import (
	"fmt"

	"alleria/abp/frame"
)

// InsSums are the counts of a frame by instruction, in two parts that add up: complete
// executions by block, whose Static counts are to be multiplied, and what comes on top of
// them by instruction. They are overwritten by the next call of Reader.FrameSums.
type InsSums struct {
	Windows uint64       // that were open, all the time
	Blocks  []BlockCount // complete executions; a block may have none
	Parts   []InsSum     // an instruction may be there several times

	listed FrameSums
}

// InsSum is a part of what an instruction counts for.
type InsSum struct {
	Block  *Block
	Ins    int
	Counts Counts
}

// FrameSums returns the counts of a frame of p without decoding it, if they follow from
// its list of blocks, its marks and its FRAME_SUMS section: if the set of open windows
// did not change in it, and all of these together give exactly what the frame's header
// counts. Otherwise it returns nil, and Frame is to be asked. The reader is one of
// FrameReader's, and its filters are not asked.
func (r *Reader) FrameSums(p *Process, ref *FrameRef) (*InsSums, error) {
	c := r.cursors[0]
	c.reset(p, ref)
	h, err := c.read(p, ref)
	if err != nil {
		return nil, c.inFrame(ref, err)
	}
	s := &r.sums
	s.Windows, s.Parts = h.Windows, s.Parts[:0]
	if s.Blocks, err = c.touched(s.Blocks[:0]); err != nil {
		return nil, c.inFrame(ref, corrupt(err))
	}
	listed, err := ref.readSums(&s.listed)
	if err != nil {
		return nil, c.inFrame(ref, err)
	}
	cut, ok, err := s.marks(p, c)
	if err != nil {
		return nil, c.inFrame(ref, corrupt(err))
	}
	if listed {
		ok = ok && s.add(p)
	}
	if !ok {
		return nil, nil
	}
	sum, dynamic, known := s.total(p)
	// Without the section cuts (which take away) and dynamic accesses (which add) could
	// cancel one another out in the total.
	if !known || sum != h.Counts || !listed && cut && dynamic {
		return nil, nil
	}
	return s, nil
}

// marks goes through the frame's marks. ok: the windows stay the same. cut: there are cut
// executions. Emulated executions are added.
func (s *InsSums) marks(p *Process, c *cursor) (cut, ok bool, err error) {
	ok = true
	err = c.dec.EachMark(c.payload[c.body:], func(words []uint64) {
		switch kind, payload := SplitMark(words[0]); kind {
		case MarkWindows:
			ok = ok && payload == s.Windows
		case MarkCut:
			cut = true
		case MarkEmulated:
			if b := p.Block(uint32(payload)); b == nil {
				ok = false
			} else if len(b.Ins) > 0 {
				s.Parts = append(s.Parts, InsSum{b, 0, b.EmulatedCounts(words[2:])})
			}
		}
	})
	return cut, ok, err
}

// add adds what the section lists. It returns false if that does not fit the blocks.
func (s *InsSums) add(p *Process) bool {
	for _, d := range s.listed.Dynamic {
		b := p.Block(d.Block)
		if b == nil || int(d.Ins) >= len(b.Ins) {
			return false
		}
		s.Parts = append(s.Parts, InsSum{b, int(d.Ins), d.Counts})
	}
	if len(s.listed.Cuts) == 0 {
		return true
	}
	at := make(map[uint32]int, len(s.Blocks))
	for i := range s.Blocks {
		at[s.Blocks[i].ID] = i
	}
	for _, cut := range s.listed.Cuts {
		i, ok := at[cut.Block]
		b := p.Block(cut.Block)
		if !ok || b == nil || int(cut.Completed) > len(b.Ins) || s.Blocks[i].Execs < cut.Execs {
			return false
		}
		s.Blocks[i].Execs -= cut.Execs
		before := Counts{}
		for k := range int(cut.Completed) {
			all, _ := b.StaticCounts(k + 1)
			one, part := all, Counts{}
			one.Sub(before)
			part.Add(one, cut.Execs)
			before = all
			s.Parts = append(s.Parts, InsSum{b, k, part})
		}
	}
	return true
}

// total adds everything up. dynamic: some block has accesses that its words tell of.
// known: all blocks exist.
func (s *InsSums) total(p *Process) (sum Counts, dynamic, known bool) {
	for _, t := range s.Blocks {
		b := p.Block(t.ID)
		if b == nil {
			return sum, dynamic, false
		}
		dynamic = dynamic || b.Dynamic
		sum.Add(b.Static, t.Execs)
	}
	for i := range s.Parts {
		sum.Add(s.Parts[i].Counts, 1)
	}
	return sum, dynamic, true
}

// read reads a frame's bytes, and makes a decoder for its process.
func (c *cursor) read(p *Process, ref *FrameRef) (h FrameHeader, err error) {
	// Into the same memory again: the batch that was yielded last points into the
	// decoder, not here, but for streams stored raw, which are behind us too.
	payload, err := ref.File.readPayload(&ref.File.sections[ref.Section], c.payload)
	if err != nil {
		return h, err
	}
	c.payload = payload
	if c.body, err = h.decode(payload); err != nil {
		return h, err
	}
	// A decoder keeps what it has learnt about blocks from frame to frame; that of
	// another process has other blocks under the same numbers.
	if c.shapes != p {
		c.dec = frame.NewDecoder(p.shape)
		c.shapes = p
	}
	return h, nil
}

// errUndefined: a frame refers to a block that the main file does not define.
var errUndefined = fmt.Errorf("a block is not defined: %w", ErrCorrupt)

// BlockCount says how often a frame executes a block.
type BlockCount = frame.Touched

// FrameBlocks appends to dst which blocks a frame executes how often, which
// costs a fraction of decoding it. exact reports whether the frame's counts
// follow from that: no execution was cut or emulated, and none has accesses
// whose number or size depends on the words. Then sums over functions need no
// decoding at all.
//
// dst is appended to and returned also with an error. A frame without executions is
// exact. The list costs little beside the frame: that is why a frame has it.
func (p *Process) FrameBlocks(ref *FrameRef, dst []BlockCount) (blocks []BlockCount, exact bool, err error) {
	payload, err := ref.File.readPayload(&ref.File.sections[ref.Section], nil)
	if err != nil {
		return dst, false, err
	}
	var h FrameHeader
	body, err := h.decode(payload)
	if err != nil {
		return dst, false, err
	}
	n := len(dst)
	if dst, err = frame.NewDecoder(p.shape).Blocks(payload[body:], dst); err != nil {
		return dst, false, corrupt(err)
	}
	var sum Counts
	exact = !hasEmulated(&h, dst[n:])
	for _, t := range dst[n:] {
		b := p.Block(t.ID)
		if b == nil {
			return dst, false, errUndefined
		}
		exact = exact && !b.Dynamic
		sum.Add(b.Static, t.Execs)
	}
	return dst, exact && sum == h.Counts, nil
}
