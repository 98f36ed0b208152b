package codecache

import (
	"alleria/internal/layout"
	"alleria/internal/records"
)

// LazySideExit is a side exit that has not been taken when the superblock is written. Most never
// are: in a compiler three of four. Until one is, it is a branch to a dispatch; then it gets its
// code, and its facts their number. A number takes some eighty bytes in all tables that go by
// numbers, the code forty: together a tenth of what recording a compiler took. A side exit that leads to what has
// been translated costs a dispatch more than if it was written at once.
//
// There are twice as many as blocks: what can be had from the block is not kept.
type LazySideExit struct {
	Target uint64
	Site   uint32 // offset of the branch's displacement in the region
	Block  uint32 // the superblock, by number
	ID     uint32 // of the facts, 0 as long as there are none
	Words  uint16 // of the record up to there
	Ins    uint8  // instructions up to there, and flags
}

// Bits of LazySideExit.ins.
const (
	LazyBack    = 0x80 // the superblock goes on where the branch leads, and is left where it is not taken
	LazyWritten = 0x40 // it has its code, to which the branch leads
	LazyIns     = 0x3f
)

// SideExitOf is the side exit that a dispatch names, if it is one.
func (c *Cache) SideExitOf(req uint32) *LazySideExit {
	if req&layout.ReqSideExit == 0 || req >= layout.ReqIndirect {
		return nil
	}
	return c.SideExits.At(int(req &^ layout.ReqSideExit))
}

// NumberSideExit gives the facts of a side exit of b their number, if they have none, and returns it.
func (c *Cache) NumberSideExit(s *LazySideExit, b *Block) uint32 {
	if s.ID == 0 {
		part := records.Part{Ins: int(s.Ins & LazyIns), Words: int(s.Words), Target: s.Target}
		if s.Ins&LazyBack != 0 {
			part.Target = c.InsAddr(b, part.Ins)
		}
		s.ID = c.Facts.AddPart(b.Rec.ID, part)
		if rates := c.Facts.SampleRates(b.Rec.ID); rates != nil {
			c.Facts.SetSampleRates(s.ID, rates[:part.Ins])
		}
	}
	return s.ID
}
