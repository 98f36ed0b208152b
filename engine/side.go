package engine

import (
	"encoding/binary"

	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// sideExit is the way out of a superblock by a branch in its middle: code that completes the
// record there, gives the registers back and goes on at the branch's target.
type sideExit struct {
	site   asm.Site // of the branch's displacement
	rec    *codecache.Recording
	id     uint32 // of the facts of what was executed
	words  int    // of the record up to there
	target uint64
	how    codecache.Entry // at the target
}

// side writes a conditional branch whose other way leaves the superblock and completes the record.
func (r *recorder) side(i int, in *x86.Insn) {
	u, cc, other := r.u, asm.CondOf(in.Opcode), in.Target()
	if onward(in) != in.Next() {
		cc, other = cc.Not(), in.Next()
	}
	if !u.p.noLate && !u.p.cache.Watched[other] {
		u.asm.AlignRel32(2)
		r.lateExit(u.asm.JccLater(cc), i, in, other)
		return
	}
	site := u.asm.JccLater(cc)
	id := r.rec.ID + uint32(len(r.sides)) + 1
	u.sides = append(u.sides, sideExit{site: site, rec: r.rec, id: id, words: r.words, target: other, how: u.p.arrivalFrom(in.Addr, other)})
	r.sides = append(r.sides, records.Part{Ins: i + 1, Words: r.words, Target: in.Target()})
}

// lateExit notes the displacement of a branch that leaves a superblock, and its request.
// Nobody links it when its target is translated: it has to be taken first.
func (r *recorder) lateExit(site asm.Site, i int, in *x86.Insn, target uint64) {
	u := r.u
	s, n := u.p.cache.SideExits.Add()
	*s = codecache.LazySideExit{Target: target, Site: uint32(u.asm.AddrOf(site) - u.ar.Base), Block: r.b.Num, Words: uint16(r.words), Ins: uint8(i + 1)}
	if target != in.Target() {
		s.Ins |= codecache.LazyBack
	}
	u.asks = append(u.asks, askStub{site, layout.ReqLate | uint32(n)})
}

// writeSide writes the code of a way out.
func (u *unit) writeSide(s *sideExit) {
	a, ra := &u.asm, s.rec.RA
	a.PutImm(ra, 0, u.p.numbered(s.id, s.words))
	a.LeaDisp(ra, ra, int64(8*(s.words+1)))
	a.StoreWord(layout.Buf, ra)
	a.LoadWord(ra, spillA)
	if s.rec.HasB {
		a.LoadWord(s.rec.RB, spillB)
	}
	u.jumpTo(s.target, s.how)
}

// takeSide answers a thread that takes a way out which has no code yet, or had none when the
// thread read its branch. Only the engine's part in the way out happens here: whatever
// is to happen where it leads happens there, when the record is complete.
func (tr *Tracer) takeSide(t *Thread, s *codecache.LazySideExit) error {
	p := t.p
	b := p.cache.BlockPool.At(int(s.Block))
	if s.Ins&codecache.LazyWritten == 0 {
		if !p.cache.Watched[s.Target] && p.cache.BlockOf(s.Target, b.Variant) == nil {
			p.translate(s.Target, b.Variant)
		}
		if !p.writeLate(s, b) {
			return tr.leaveSide(t, s)
		}
	}
	ar := p.cache.RegionAt(b.Code)
	tr.reply(t, ar.Base+uint64(s.Site+4+binary.LittleEndian.Uint32(ar.Mem[s.Site:])))
	return nil
}

// writeLate writes a way out of b and makes its branch lead there.
func (p *Process) writeLate(s *codecache.LazySideExit, b *codecache.Block) bool {
	ar := p.cache.Room(p.cache.RegionAt(b.Code))
	if ar == nil || p.cache.NumberSideExit(s, b) == 0 {
		return false
	}
	var code uint32
	p.unit(ar, b.Variant, func(u *unit) *codecache.Block {
		code = uint32(u.asm.Pos())
		u.writeSide(&sideExit{rec: &b.Rec, id: s.ID, words: int(s.Words), target: s.Target, how: p.arrivalBy(s)})
		return nil
	})
	codecache.Patch32(ar.Mem[s.Site:], code-s.Site-4)
	s.Ins |= codecache.LazyWritten
	return true
}

// arrivalBy is what of an arrival by a way out counts.
func (p *Process) arrivalBy(s *codecache.LazySideExit) codecache.Entry {
	return p.arrivalFrom(p.cache.InsAddr(p.cache.BlockPool.At(int(s.Block)), int(s.Ins&codecache.LazyIns)-1), s.Target)
}

// wantedSide is the way out that a thread which waits in the request routine takes, nil if it
// asks for something else.
func (t *Thread) wantedSide() *codecache.LazySideExit {
	return t.p.cache.SideExitOf(t.slot.u32(layout.Req).Load())
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
	buf := sl.get(layout.Buf)
	sl.set(int(buf-sl.base), uint64(t.p.cache.NumberSideExit(s, b)))
	sl.set(layout.Buf, buf+8*(1+uint64(s.Words)))
	*regOf(regs, b.Rec.RA) = sl.get(spillA)
	if b.Rec.HasB {
		*regOf(regs, b.Rec.RB) = sl.get(spillB)
	}
}
