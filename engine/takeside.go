package engine

import (
	"encoding/binary"

	"alleria/engine/codecache"
	"alleria/engine/translate"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// takeSide answers a thread that takes a way out which has no code yet, or had none when the
// thread read its branch. Only the engine's part in the way out happens here: whatever
// is to happen where it leads happens there, when the record is complete.
func (tr *Tracer) takeSide(t *Thread, s *codecache.LazySideExit) error {
	p := t.p
	b := p.cache.BlockPool.At(int(s.Block))
	if s.Ins&codecache.LazyWritten == 0 {
		if !p.cache.Watched[s.Target] && p.cache.BlockOf(s.Target, b.Variant) == nil {
			p.translator.Translate(s.Target, b.Variant)
		}
		if !p.translator.WriteLazySideExit(s, b, p.arrivalBy(s)) {
			return tr.leaveSide(t, s)
		}
	}
	ar := p.cache.RegionAt(b.Code)
	tr.reply(t, ar.Base+uint64(s.Site+4+binary.LittleEndian.Uint32(ar.Mem[s.Site:])))
	return nil
}

// arrivalBy is what of an arrival by a way out counts.
func (p *Process) arrivalBy(s *codecache.LazySideExit) codecache.Entry {
	return p.points.EntryFrom(p.cache.InsAddr(p.cache.BlockPool.At(int(s.Block)), int(s.Ins&codecache.LazyIns)-1), s.Target)
}

// wantedSide is the way out that a thread which waits in the request routine takes, nil if it
// asks for something else.
func (t *Thread) wantedSide() *codecache.LazySideExit {
	return t.p.cache.SideExitOf(t.slot.U32(layout.Req).Load())
}

// leaveSide lets a thread that takes a way out go on natively: the cache is full.
func (tr *Tracer) leaveSide(t *Thread, s *codecache.LazySideExit) error {
	regs, err := tr.fetchWaiting(t, s.Target)
	if err != nil {
		return err
	}
	t.completeSide(s, regs)
	return tr.native(t, regs, 0)
}

// completeSide does for a stopped thread what the code of a way out would: its record is
// completed, and regs, but for rip, are the application's.
func (t *Thread) completeSide(s *codecache.LazySideExit, regs *sys.Regs) {
	sl, b := t.slot, t.p.cache.BlockPool.At(int(s.Block))
	buf := sl.Get(layout.Buf)
	sl.Set(int(buf-sl.Base), uint64(t.p.cache.NumberSideExit(s, b)))
	sl.Set(layout.Buf, buf+8*(1+uint64(s.Words)))
	*regOf(regs, b.Rec.RA) = sl.Get(translate.SpillA)
	if b.Rec.HasB {
		*regOf(regs, b.Rec.RB) = sl.Get(translate.SpillB)
	}
}
