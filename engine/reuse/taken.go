package reuse

import (
	"encoding/binary"
	"slices"

	"alleria/engine/codecache"
	"alleria/internal/sys"
)

// A process that executes a program which ran before in the tree begins with the translations that the last one had in the end
// (Template): it takes a copy of the code and of the tables, and corrects what refers to the application. An image's
// translations become known when it is found mapped, as the same version of the same file, and are never known otherwise.
//
// That is once for each process what is done for each dispatch otherwise, and a compiler makes thousands: correcting takes a
// fiftieth of translating.
//
// Refused: to keep single translations, and write them where they are asked for: what a dispatch costs is not only
// translating; to map the code of the process before, which must be patched for this one; and to share code between processes
// that run at the same time, whose images lie elsewhere, whose patching would have to wait for each other, and whose
// counters are in different words.

// Host is the process that takes translations over.
type Host interface {
	// Plainly tells whether nothing is asked of the process that changes what its translations do.
	Plainly() bool
	// Holds tells whether an image is mapped now.
	Holds(im *Image) bool
	// TakeNames has what names number in an image that lies at an address keep its numbers here; false where that is not possible, or not yet.
	TakeNames(names Names, at uint64) bool
	// MadeFrom notes that translations were made from a page.
	MadeFrom(page uint64)
	// TakeEntered has counts of entries go on with what was kept of an image, which lies shift bytes further on.
	TakeEntered(list []codecache.Entered, shift uint64)
	// Publish points threads' tables at target checks, which are of addresses shift bytes further on.
	Publish(checks []codecache.CheckAt, shift uint64)
}

// How says how translations are taken over.
type How struct {
	Huge      bool // code lies in large pages
	CopyFacts bool // facts have memory of their own, also where no other process has them
	CopyIndex bool // what is known by address gets into the cache's own tables at once, not when it is asked for
}

// TakeOver gives a cache that has no translations yet a template's. They become known with their images, see takeImages. nil: the
// cache has other regions.
func TakeOver(t *Template, cache *codecache.Cache, w *Written, h Host, how How) *Taken {
	if !sameSizes(t, cache) {
		return nil
	}
	f := &Taken{Template: t, cache: cache, written: w, host: h, done: make([]bool, len(t.images)), shift: make([]uint64, len(t.images)), settled: how.CopyIndex}
	for i, a := range cache.Regions {
		f.moved = f.moved || a.Base != t.Regions[i].Base
	}
	own := t.fresh
	cache.Take(&t.Kept, how.Huge, own)
	t.spent, t.fresh = t.spent || own, false
	cache.Loose = t.Blocks.N - t.useful
	switch {
	case t.facts == nil:
	case own && !how.CopyFacts:
		cache.Facts.Own(t.facts)
	default:
		cache.Facts.Copy(t.facts)
	}
	w.Literals = append([]codecache.LiteralAt(nil), t.Literals...)
	f.moveLiterals()
	return f
}

// sameSizes tells whether a cache has the regions that a template's code is written for.
func sameSizes(t *Template, cache *codecache.Cache) bool {
	return slices.EqualFunc(t.Regions, cache.Regions, func(a codecache.RegionCode, b *codecache.Region) bool { return a.Size == b.Size })
}

// Taken is what a process has taken over.
type Taken struct {
	*Template
	cache   *codecache.Cache
	written *Written
	host    Host
	done    []bool   // by image: it is known here
	shift   []uint64 // by image that is: how much further on it lies than in the template
	moved   bool     // a region lies elsewhere than in the template
	settled bool     // what is known by address gets into the cache's own tables at once
	Reused  int      // blocks that are known here
	refused bool     // something was asked of the process that translations of others do not do
}

// numbers are some of a table.
type numbers []bool

// has tells whether n is one of them.
func (s numbers) has(n int) bool { return n < len(s) && s[n] }

// allOf is the first n of a table.
func allOf(n int) numbers {
	s := make(numbers, n)
	for i := range s {
		s[i] = true
	}
	return s
}

// leftovers is what was taken over and nothing leads to: of images that are known in no process, as the kernel's, and of code that a process had made. Their
// addresses are still those of the process before. It stays where it is, and belongs to no image any more.
type leftovers struct{ blocks, exits, sides, facts numbers }

// left is what is left over of what was taken over; f may be nil.
func (f *Taken) left() leftovers {
	if f == nil {
		return leftovers{}
	}
	l := leftovers{blocks: allOf(f.Blocks.N), exits: allOf(f.Exits.N), sides: allOf(f.SideExits.N)}
	if f.facts != nil {
		l.facts = allOf(int(f.facts.Last()) + 1)
	}
	for i := range f.images {
		if !f.done[i] {
			continue
		}
		im := &f.images[i]
		for _, p := range []struct {
			to   numbers
			from []uint32
		}{{l.blocks, im.blocks}, {l.exits, im.exits}, {l.sides, im.sides}, {l.facts, im.facts}} {
			for _, n := range p.from {
				p.to[n] = false
			}
		}
	}
	return l
}

// moveLiterals corrects the addresses of regions in the code.
func (f *Taken) moveLiterals() {
	for _, l := range f.Literals {
		word := f.cache.Regions[l.Region].Mem[l.At:]
		to := binary.LittleEndian.Uint64(word)
		for i := range f.Regions {
			if a := &f.Regions[i]; a.Contains(to) {
				binary.LittleEndian.PutUint64(word, to-a.Base+f.cache.Regions[i].Base)
				break
			}
		}
	}
}

// TakeImages makes translations known whose images have been mapped.
func (f *Taken) TakeImages() {
	if f.refused {
		return
	}
	if !f.host.Plainly() {
		f.refused = true
		return
	}
	for i := range f.images {
		im := &f.images[i]
		if f.done[i] || !im.id.known() {
			continue
		}
		for k := range f.written.images {
			if here := &f.written.images[k]; here.same(&im.Image) && !f.written.isPatched(here) && f.host.Holds(here) {
				f.shift[i] = here.Start - im.Start
				f.done[i] = f.takeImage(im, f.shift[i])
				break
			}
		}
	}
}

// takeImage makes the translations of an image known that lies shift bytes further on here; false where its code would not
// reach it.
func (f *Taken) takeImage(im *imageCode, shift uint64) bool {
	if shift != 0 && im.Start < 1<<32 || !f.reachable(im, shift) {
		return false
	}
	if im.planned && !f.host.TakeNames(f.names, im.Start+shift) {
		return false
	}
	if shift != 0 {
		f.move(im, shift)
	}
	if shift != 0 || f.moved {
		for _, r := range im.relocs {
			f.relocate(r, shift)
		}
	}
	if im.shared == nil {
		im.shared = codecache.NewSharedIndex(im.index)
	}
	f.cache.PutBeneath(im.shared, im.Start+shift, im.End+shift, shift)
	if f.settled {
		f.cache.Settle()
	}
	for _, k := range im.bare {
		f.cache.BareChecks[codecache.CheckKey{Variant: k.Variant, App: k.App + shift}] = true
	}
	for _, h := range im.checks {
		h.App += shift
		f.chainCheck(h)
	}
	f.host.Publish(im.checks, shift)
	if len(im.entered) > 0 {
		f.host.TakeEntered(im.entered, shift)
	}
	for _, page := range im.pages {
		f.host.MadeFrom(page + shift)
	}
	f.Reused += len(im.blocks)
	return true
}

// move corrects the addresses of an image in the tables, which lies shift bytes further on.
func (f *Taken) move(im *imageCode, shift uint64) {
	for _, id := range im.facts {
		f.cache.Facts.Move(id, shift)
	}
	for _, n := range im.sides {
		f.cache.SideExits.At(int(n)).Target += shift
	}
	for _, n := range im.blocks {
		f.cache.BlockPool.At(int(n)).App += shift
	}
	for _, n := range im.exits {
		f.cache.Exits.At(int(n)).Target += shift
	}
}

// reachable tells whether an image's code lies where displacements of the regions that it was translated into reach it.
func (f *Taken) reachable(im *imageCode, shift uint64) bool {
	for i, a := range f.cache.Regions {
		if im.near[i] && (!a.Near(im.Start+shift) || !a.Near(im.End+shift)) {
			return false
		}
	}
	return true
}

// relocate corrects a reference to an image, which lies shift bytes further on than in the template.
func (f *Taken) relocate(r codecache.Reloc, shift uint64) {
	at := f.cache.Regions[r.Region].Mem[r.At:]
	switch r.Kind {
	case codecache.RelocDisp:
		moved := uint32(f.cache.Regions[r.Region].Base - f.Regions[r.Region].Base)
		binary.LittleEndian.PutUint32(at, binary.LittleEndian.Uint32(at)+uint32(shift)-moved)
	case codecache.RelocAbs:
		binary.LittleEndian.PutUint64(at, binary.LittleEndian.Uint64(at)+shift)
	case codecache.RelocNeg:
		binary.LittleEndian.PutUint64(at, binary.LittleEndian.Uint64(at)-shift)
	}
}

// chainCheck puts a target check in front of those of its entry of the look-up tables.
func (f *Taken) chainCheck(h codecache.CheckAt) {
	f.cache.MakeChecks(h.Variant, sys.Words32)
	ar, s := f.cache.Regions[h.Region], codecache.SlotOf(h.App)
	next := f.cache.SlotCheck(h.Variant, s)
	if !ar.Contains(next) {
		next = f.cache.Veneer(ar, next)
	}
	// Nothing leads to this check yet, so that it is written by a plain store: its displacement may lie in two cache lines, where a locked one stops all processors.
	binary.LittleEndian.PutUint32(ar.Mem[h.Miss:], uint32(int64(next)-int64(ar.Base+uint64(h.Miss)+4)))
	f.cache.SetSlotCheck(h.Variant, s, ar, h.Code)
}
