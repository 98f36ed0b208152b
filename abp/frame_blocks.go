package abp

import "alleria/abp/frame"

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
			return dst, false, ErrCorrupt
		}
		exact = exact && !b.Dynamic
		sum.Add(b.Static, t.Execs)
	}
	return dst, exact && sum == h.Counts, nil
}
