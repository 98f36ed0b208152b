package engine

import (
	"encoding/binary"

	"alleria/engine/asm"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// sideExit is the way out of a superblock by a branch in its middle: code that completes the
// record there, gives the registers back and goes on at the branch's target.
type sideExit struct {
	site   asm.Site // of the branch's displacement
	rec    *recording
	id     uint32 // of the facts of what was executed
	words  int    // of the record up to there
	target uint64
	how    arrival // at the target
}

// lateSide is a way out that has not been taken when the superblock is written. Most never
// are: in a compiler three of four. Until one is, it is a branch to a request; then it gets its
// code, and its facts their number. A number takes some eighty bytes in all tables that go by
// numbers, the code forty: together a tenth of what recording a compiler took. A way out that leads to what has
// been translated costs a request more than if it was written at once.
//
// There are twice as many as blocks: what can be had from the block is not kept.
type lateSide struct {
	target uint64
	site   uint32 // offset of the branch's displacement in the area
	block  uint32 // the superblock, by number
	id     uint32 // of the facts, 0 as long as there are none
	words  uint16 // of the record up to there
	ins    uint8  // instructions up to there, and flags
}

// Bits of lateSide.ins.
const (
	lateBack    = 0x80 // the superblock goes on where the branch leads, and is left where it is not taken
	lateWritten = 0x40 // it has its code, to which the branch leads
	lateIns     = 0x3f
)

// side writes a conditional branch whose other way leaves the superblock and completes the record.
func (r *recorder) side(i int, in *x86.Insn) {
	u, cc, other := r.u, asm.CondOf(in.Opcode), in.Target()
	if onward(in) != in.Next() {
		cc, other = cc.Not(), in.Next()
	}
	if !u.p.noLate && !u.p.notify[other] {
		u.asm.AlignRel32(2)
		r.lateExit(u.asm.JccLater(cc), i, in, other)
		return
	}
	site := u.asm.JccLater(cc)
	id := r.rec.id + uint32(len(r.sides)) + 1
	u.sides = append(u.sides, sideExit{site: site, rec: r.rec, id: id, words: r.words, target: other, how: u.p.arrivalFrom(in.Addr, other)})
	r.sides = append(r.sides, records.Part{Ins: i + 1, Words: r.words, Target: in.Target()})
}

// lateExit notes the displacement of a branch that leaves a superblock, and its request.
// Nobody links it when its target is translated: it has to be taken first.
func (r *recorder) lateExit(site asm.Site, i int, in *x86.Insn, target uint64) {
	u := r.u
	s, n := u.p.sides.add()
	*s = lateSide{target: target, site: uint32(u.asm.AddrOf(site) - u.ar.base), block: r.b.num, words: uint16(r.words), ins: uint8(i + 1)}
	if target != in.Target() {
		s.ins |= lateBack
	}
	u.asks = append(u.asks, askStub{site, layout.ReqLate | uint32(n)})
}

// writeSide writes the code of a way out.
func (u *unit) writeSide(s *sideExit) {
	a, ra := &u.asm, s.rec.ra
	a.PutImm(ra, 0, u.p.numbered(s.id, s.words))
	a.LeaDisp(ra, ra, int64(8*(s.words+1)))
	a.StoreWord(layout.Buf, ra)
	a.LoadWord(ra, spillA)
	if s.rec.hasB {
		a.LoadWord(s.rec.rb, spillB)
	}
	u.jumpTo(s.target, s.how)
}

// takeSide answers a thread that takes a way out which has no code yet, or had none when the
// thread read its branch. Only the engine's part in the way out happens here: whatever
// is to happen where it leads happens there, when the record is complete.
func (tr *Tracer) takeSide(t *Thread, s *lateSide) error {
	p := t.p
	b := p.blockPool.at(int(s.block))
	if s.ins&lateWritten == 0 {
		if !p.notify[s.target] && p.blockOf(s.target, b.variant) == nil {
			p.translate(s.target, b.variant)
		}
		if !p.writeLate(s, b) {
			return tr.leaveSide(t, s)
		}
	}
	ar := p.areaAt(b.code)
	tr.reply(t, ar.base+uint64(s.site+4+binary.LittleEndian.Uint32(ar.mem[s.site:])))
	return nil
}

// writeLate writes a way out of b and makes its branch lead there.
func (p *Process) writeLate(s *lateSide, b *block) bool {
	ar := p.room(p.areaAt(b.code))
	if ar == nil || p.number(s, b) == 0 {
		return false
	}
	var code uint32
	p.unit(ar, b.variant, func(u *unit) *block {
		code = uint32(u.asm.Pos())
		u.writeSide(&sideExit{rec: &b.rec, id: s.id, words: int(s.words), target: s.target, how: p.arrivalBy(s)})
		return nil
	})
	patch32(ar.mem[s.site:], code-s.site-4)
	s.ins |= lateWritten
	return true
}

// arrivalBy is what of an arrival by a way out counts.
func (p *Process) arrivalBy(s *lateSide) arrival {
	return p.arrivalFrom(p.insAddr(p.blockPool.at(int(s.block)), int(s.ins&lateIns)-1), s.target)
}

// wantedSide is the way out that a thread which waits in the request routine takes, nil if it
// asks for something else.
func (t *Thread) wantedSide() *lateSide { return t.p.sideOf(t.slot.u32(layout.Req).Load()) }

// sideOf is the way out that a request names, if it is one.
func (p *Process) sideOf(req uint32) *lateSide {
	if req&layout.ReqLate == 0 || req >= layout.ReqIndirect {
		return nil
	}
	return p.sides.at(int(req &^ layout.ReqLate))
}

// number gives the facts of a way out of b their number, if they have none, and returns it.
func (p *Process) number(s *lateSide, b *block) uint32 {
	if s.id == 0 {
		part := records.Part{Ins: int(s.ins & lateIns), Words: int(s.words), Target: s.target}
		if s.ins&lateBack != 0 {
			part.Target = p.insAddr(b, part.Ins)
		}
		s.id = p.facts.AddPart(b.rec.id, part)
		if rates := p.facts.SampleRates(b.rec.id); rates != nil {
			p.facts.SetSampleRates(s.id, rates[:part.Ins])
		}
	}
	return s.id
}

// leaveSide lets a thread that takes a way out go on natively: the cache is full.
func (tr *Tracer) leaveSide(t *Thread, s *lateSide) error {
	regs, err := tr.fetchWaiting(t, s.target)
	if err != nil {
		return err
	}
	t.completeSide(s, regs)
	return tr.native(t, regs, 0)
}

// completeSide does for a stopped thread what the code of a way out would: its record is
// completed, and regs, but for rip, are the application's.
func (t *Thread) completeSide(s *lateSide, regs *sys.Regs) {
	sl, b := t.slot, t.p.blockPool.at(int(s.block))
	buf := sl.get(layout.Buf)
	sl.set(int(buf-sl.base), uint64(t.p.number(s, b)))
	sl.set(layout.Buf, buf+8*(1+uint64(s.words)))
	*regOf(regs, b.rec.ra) = sl.get(spillA)
	if b.rec.hasB {
		*regOf(regs, b.rec.rb) = sl.get(spillB)
	}
}
