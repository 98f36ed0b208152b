package translate

import (
	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
)

// sideExit is the side exit of a superblock by a branch in its middle: code that completes the
// record there, gives the registers back and goes on at the branch's target.
type sideExit struct {
	site   asm.Site // of the branch's displacement
	rec    *codecache.Recording
	id     uint32 // of the facts of what was executed
	words  int    // of the record up to there
	ins    int    // instructions up to there
	target uint64
	how    codecache.Entry // at the target
}

// side writes a conditional branch whose other way leaves the superblock and completes the record.
func (r *recorder) side(i int, in *x86.Insn) {
	u, cc, other := r.u, asm.CondOf(in.Opcode), in.Target()
	if onward(in) != in.Next() {
		cc, other = cc.Not(), in.Next()
	}
	if !u.NoLazy && !u.cache.Watched[other] {
		u.asm.AlignRel32(2)
		r.lateExit(u.asm.JccLater(cc), i, in, other)
		return
	}
	site := u.asm.JccLater(cc)
	id := r.rec.ID + uint32(len(r.sides)) + 1
	u.sides = append(u.sides, sideExit{site: site, rec: r.rec, id: id, words: r.words, ins: i + 1, target: other, how: u.target.EntryFrom(in.Addr, other)})
	r.sides = append(r.sides, records.Part{Ins: i + 1, Words: r.words, Target: in.Target()})
}

// lateExit notes the displacement of a branch that leaves a superblock, and its dispatch.
// Nobody links it when its target is translated: it has to be taken first.
func (r *recorder) lateExit(site asm.Site, i int, in *x86.Insn, target uint64) {
	u := r.u
	s, n := u.cache.SideExits.Add()
	*s = codecache.LazySideExit{Target: target, Site: uint32(u.asm.AddrOf(site) - u.ar.Base), Block: r.b.Num, Words: uint16(r.words), Ins: uint8(i + 1)}
	if target != in.Target() {
		s.Ins |= codecache.LazyBack
	}
	u.dispatches = append(u.dispatches, dispatchStub{site, layout.ReqSideExit | uint32(n)})
}

// writeSide writes the code of a side exit.
func (u *Translator) writeSide(s *sideExit) {
	a, ra := &u.asm, s.rec.RA
	a.PutImm(ra, 0, u.numbered(s.id, s.words))
	if odd := u.cache.OddOf(s.rec); odd != nil && odd.Counts {
		u.commitCounted(s.rec, lineGroups(odd.Tests, s.ins), s.words, s.id)
	} else if odd != nil && odd.Conditional {
		u.commitIf(s.rec, merged(odd.Tests, s.ins), s.words)
	} else {
		a.LeaDisp(ra, ra, int64(8*(s.words+1)))
		a.StoreWord(layout.Buf, ra)
	}
	a.LoadWord(ra, SpillA)
	if s.rec.HasB {
		a.LoadWord(s.rec.RB, SpillB)
	}
	u.jumpTo(s.target, s.how)
}

// WriteLazySideExit writes a side exit of b and makes its branch lead there. It is false if there is no room.
func (u *Translator) WriteLazySideExit(s *codecache.LazySideExit, b *codecache.Block, how codecache.Entry) bool {
	ar := u.cache.Room(u.cache.RegionAt(b.Code))
	if ar == nil || u.cache.NumberSideExit(s, b) == 0 {
		return false
	}
	u.cache.InMade = b.OfMadeCode()
	var code uint32
	u.write(ar, b.Variant, func(u *Translator) *codecache.Block {
		code = uint32(u.asm.Pos())
		u.writeSide(&sideExit{rec: &b.Rec, id: s.ID, words: int(s.Words), ins: int(s.Ins & codecache.LazyIns), target: s.Target, how: how})
		return nil
	})
	codecache.Patch32(ar.Mem[s.Site:], code-s.Site-4)
	s.Ins |= codecache.LazyWritten
	return true
}
