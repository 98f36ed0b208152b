package engine

import (
	"encoding/binary"
	"maps"
	"os"
	"slices"

	"alleria/engine/codecache"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// A process that executes a program which ran before in the tree begins with the translations that the last one had in the end
// (template.go): it takes a copy of the code and of the tables, and corrects what refers to the application. An image's
// translations become known when it is found mapped, as the same version of the same file, and are never known otherwise.
//
// That is once for each process what is done for each dispatch otherwise, and a compiler makes thousands: correcting takes a
// fiftieth of translating.
//
// Refused: to keep single translations, and write them where they are asked for: what a dispatch costs is not only
// translating; to map the code of the process before, which must be patched for this one; and to share code between processes
// that run at the same time, whose images lie elsewhere, whose patching would have to wait for each other, and whose
// counters are in different words.

// takenFrom is what a process has taken over.
type takenFrom struct {
	*template
	done    []bool // by image: it is known here
	refused bool   // something was asked of the process that translations of others do not do
}

// complete tells whether all of the template's translations are known here, but for those of images that never are.
func (f *takenFrom) complete() bool {
	for i := range f.images {
		if !f.done[i] && f.images[i].id.known() && len(f.images[i].blocks) > 0 {
			return false
		}
	}
	return true
}

// takeOver gives a process that has translated nothing yet what its program's last process had, if it runs in a variant that that
// one had. Its first thread is about to enter the cache, and its table of the variant is filled.
func (p *Process) takeOver(v codecache.Variant) {
	if p.tookOver {
		return
	}
	p.tookOver = true
	if v >= codecache.KeptVariants || p.cache.BlockPool.N > 0 || !p.plainly() {
		return
	}
	t := p.tr.templates.find(p)
	if t == nil || len(t.areas) != len(p.cache.Regions) {
		return
	}
	if !p.code.valid {
		p.readMaps()
	}
	p.copyTables(t)
	// As large as the template's at once: its entries come in the order of their hashes, and in a smaller table they would lie in one row.
	for v := range codecache.KeptVariants {
		if t.bits[v] > 0 {
			p.cache.Index[v].Resize(t.bits[v])
		}
	}
	for i, a := range p.cache.Regions {
		a.CopyFrom(t.areas[i], !p.translator.NoHuge)
	}
	p.moveLiterals(t)
	p.from = &takenFrom{template: t, done: make([]bool, len(t.images))}
	p.takeImages()
}

// lookAround makes translations known of what has been mapped since. It comes before a look whether an address has been translated,
// while no unit is being written.
func (p *Process) lookAround() {
	if p.from != nil && !p.code.valid {
		p.readMaps()
	}
}

// plainly tells whether nothing is asked of the process that changes what its translations do.
func (p *Process) plainly() bool {
	return !p.translator.Awaits && p.toggle == nil && !p.translator.Budgeted && !p.translator.CountsAccesses && !p.translator.KeepFlags && p.points.Unasked() && len(p.cache.Watched) == 0 && p.translator.Entries.Function == nil
}

// copyTables copies the tables, whose addresses of the application are still the template's. Those of the cache are this
// process's.
func (p *Process) copyTables(t *template) {
	p.cache.BlockPool = t.blocks.Clone()
	p.cache.Exits = t.exits.Clone()
	shift := make([]uint64, len(p.cache.Regions))
	for i := range p.cache.Regions {
		shift[i] = p.cache.Regions[i].Base - t.areas[i].Base
	}
	for n := range p.cache.BlockPool.N {
		b := p.cache.BlockPool.At(n)
		for i, a := range t.areas {
			if a.Contains(b.Code) {
				b.Code += shift[i]
				break
			}
		}
	}
	p.cache.RareExits = append([]codecache.RareExit(nil), t.rare...)
	for i := range p.cache.RareExits {
		if b := p.cache.RareExits[i].Trap; b != nil {
			p.cache.RareExits[i].Trap = p.cache.BlockPool.At(int(b.Num))
		}
	}
	p.cache.Counters = append([]uint32(nil), t.counters...)
	p.cache.PosPieces, p.cache.PosPool = append([][]byte(nil), t.pieces...), nil
	p.written.Literals = append([]codecache.LiteralAt(nil), t.literals...)
}

// moveLiterals corrects the addresses of areas in the code.
func (p *Process) moveLiterals(t *template) {
	for _, l := range t.literals {
		word := p.cache.Regions[l.Area].Mem[l.At:]
		to := binary.LittleEndian.Uint64(word)
		for i, a := range t.areas {
			if a.Contains(to) {
				binary.LittleEndian.PutUint64(word, to-a.Base+p.cache.Regions[i].Base)
				break
			}
		}
	}
}

// takeImages makes translations known whose images have been mapped.
func (p *Process) takeImages() {
	f := p.from
	if f == nil || f.refused {
		return
	}
	if !p.plainly() {
		f.refused = true
		return
	}
	for i := range f.images {
		im := &f.images[i]
		if f.done[i] || !im.id.known() {
			continue
		}
		for k := range p.written.images {
			if here := &p.written.images[k]; here.offset == im.offset && here.end-here.start == im.end-im.start && here.id == im.id && p.code.holds(here) {
				f.done[i] = p.takeImage(im, here.start-im.start)
				break
			}
		}
	}
}

// holds tells whether an image is mapped now.
func (c *codePages) holds(im *codeImage) bool {
	m := c.mapping(im.start)
	return m != nil && m.Start == im.start && m.End == im.end
}

// takeImage makes the translations of an image known that lies shift bytes further on here; false where its code would not
// reach it.
func (p *Process) takeImage(im *imageCode, shift uint64) bool {
	if shift != 0 && im.start < 1<<32 || !p.reachable(im, shift) {
		return false
	}
	for _, n := range im.blocks {
		p.cache.BlockPool.At(int(n)).App += shift
	}
	for _, n := range im.exits {
		p.cache.Exits.At(int(n)).Target += shift
	}
	for _, r := range im.relocs {
		p.relocate(r, shift)
	}
	for _, k := range im.index {
		if s := p.cache.MakeSlot(k.app+shift, k.v); s.Ref == 0 {
			s.Ref = k.ref
		}
	}
	for _, k := range im.bare {
		p.cache.BareHeads[codecache.HeadKey{Variant: k.Variant, App: k.App + shift}] = true
	}
	for _, h := range im.heads {
		h.App += shift
		p.chainHead(h)
	}
	if p.code.pages == nil {
		p.code.pages = make(map[uint64]*[pageSize]byte)
	}
	for _, page := range im.pages {
		if _, ok := p.code.pages[page+shift]; !ok {
			p.code.pages[page+shift] = nil
		}
	}
	p.stats.Reused += len(im.blocks)
	return true
}

// reachable tells whether an image's code lies where displacements of the areas that it was translated into reach it.
func (p *Process) reachable(im *imageCode, shift uint64) bool {
	var in [4]bool
	for _, r := range im.relocs {
		if r.Kind == codecache.RelocDisp {
			in[r.Area] = true
		}
	}
	for i, a := range p.cache.Regions {
		if in[i] && (!a.Near(im.start+shift) || !a.Near(im.end+shift)) {
			return false
		}
	}
	return true
}

// relocate corrects a reference to an image, which lies shift bytes further on than in the template.
func (p *Process) relocate(r codecache.Reloc, shift uint64) {
	at := p.cache.Regions[r.Area].Mem[r.At:]
	switch r.Kind {
	case codecache.RelocDisp:
		moved := uint32(p.cache.Regions[r.Area].Base - p.from.areas[r.Area].Base)
		binary.LittleEndian.PutUint32(at, binary.LittleEndian.Uint32(at)+uint32(shift)-moved)
	case codecache.RelocAbs:
		binary.LittleEndian.PutUint64(at, binary.LittleEndian.Uint64(at)+shift)
	case codecache.RelocNeg:
		binary.LittleEndian.PutUint64(at, binary.LittleEndian.Uint64(at)-shift)
	}
	r.App += shift
	p.written.Relocs = append(p.written.Relocs, r)
}

// chainHead puts a head in front of those of its entry of the look-up tables.
func (p *Process) chainHead(h codecache.HeadAt) {
	if p.cache.SlotHeads[h.Variant] == nil {
		p.cache.SlotHeads[h.Variant] = make([]uint64, layout.TableEntries)
	}
	ar, s := p.cache.Regions[h.Area], codecache.SlotOf(h.App)
	next := p.cache.SlotHeads[h.Variant][s]
	if next == 0 {
		next = p.cache.TableMiss()
	}
	if !ar.Contains(next) {
		next = p.cache.Veneer(ar, next)
	}
	codecache.Patch32(ar.Mem[h.Miss:], uint32(int64(next)-int64(ar.Base+uint64(h.Miss)+4)))
	p.cache.SlotHeads[h.Variant][s] = ar.Base + uint64(h.Code)
	p.publishHeads([]uint64{h.App}, h.Variant)
	p.written.Heads = append(p.written.Heads, h)
}

// A forked child's memory is its creator's, and so are its translations: it begins with a copy of them as they are at that time, in
// memory at the same addresses (--engine no-inherit). What the creator has changed since the fork is compared as after a stretch of native code:
// mappings with those that translations were made from, and code that lies in no file with itself.
//
// What a child does its creator mostly never did, but the next child will: a shell's children get rid of what they need not, and execute or exit. So
// what a child had in the end, in which its creator's is contained, is kept with the creator for the next one (heir): memory and tables as they are,
// without a copy. They say what holds for the creator as long as the child has changed none of its code.
//
// Refused: to look at the bytes of files as well, which fork has copied with their pages; to wait until the child has asked some
// times, since nearly all do.

// heir is what a forked child that is gone has left to the next one of its creator: the file of its memory, whose regions are unmapped,
// and the tables.
type heir struct {
	file  *os.File
	cache *codecache.Cache
	code  inheritedCode
}

// inheritedCode is what translations were made from.
type inheritedCode struct {
	maps  []sys.Mapping
	pages map[uint64]*[pageSize]byte
	soft  map[uint64]struct{}
}

// inherited is what a child gets of what is known of its creator's code. The contents of pages stay the creator's, but of those that are compared.
func (c *codePages) inherited() inheritedCode {
	h := inheritedCode{slices.Clone(c.maps), make(map[uint64]*[pageSize]byte, len(c.pages)), maps.Clone(c.soft)}
	for addr := range c.pages {
		h.pages[addr] = nil
	}
	for addr := range c.soft {
		if page := c.pages[addr]; page != nil {
			h.pages[addr] = page
		}
	}
	return h
}

// takeHeir is what the last child has left, for another that is about to be set up; nil if there is nothing, or less than
// the process has itself.
func (p *Process) takeHeir() *heir {
	if p == nil || p.heir == nil {
		return nil
	}
	h := p.heir
	p.heir = nil
	if h.cache.BlockPool.N < p.cache.BlockPool.N {
		h.close()
		return nil
	}
	return h
}

// close gives an heir's memory back.
func (h *heir) close() {
	if h != nil {
		h.file.Close()
	}
}

// runsNatively notes that what the process does to its memory is not seen.
func (p *Process) runsNatively() {
	p.code.ran, p.written.Mixed = ranAll, true
	p.changedCode()
}

// changedCode notes that the process can execute something else than before, or may: what its children had does not hold any more.
func (p *Process) changedCode() {
	p.changed++
	p.heir.close()
	p.heir = nil
}

// leave keeps what a forked child that is gone has translated for the next child of its creator.
func (p *Process) leave() {
	c := p.creator.Value()
	if c == nil || c.dropped || c.closed || p.changed > 0 || p.asOf != c.changed || p.written.Mixed || !p.code.valid || len(p.threads) > 0 || !p.points.Untouched() ||
		!p.heritable(codecache.Plain) && !p.heritable(codecache.Count) {
		return
	}
	if old := c.heir; old != nil {
		if old.cache.BlockPool.N >= p.cache.BlockPool.N {
			return
		}
		old.close()
	}
	if file := p.shm.Leave(); file != nil {
		c.heir = &heir{file, p.cache.Leave(), p.code.inherited()}
	}
}

// inherit gives a forked child, which has translated nothing yet and is about to run in variant v, what the child before it
// has left, whose memory it has, or its creator's translations.
func (p *Process) inherit(from *Process, h *heir, v codecache.Variant) {
	if p.tr.opts.NoInherit || p.asOf != from.changed || v >= codecache.KeptVariants || !p.plainly() {
		return
	}
	code := &p.code
	switch {
	case h != nil && p.cache.SamePlaces(h.cache) && h.cache.SlotHeads[v] != nil:
		p.cache.Adopt(h.cache)
		code.maps, code.pages, code.soft = h.code.maps, h.code.pages, h.code.soft
	case p.cache.SamePlaces(&from.cache) && from.heritable(v):
		p.cache.Inherit(&from.cache)
		c := from.code.inherited()
		code.maps, code.pages, code.soft = c.maps, c.pages, c.soft
	default:
		return
	}
	p.tookOver = true
	p.stats.Reused += p.cache.BlockPool.N
	p.compareCode()
}

// heritable tells whether the process's translations of a variant are such as a child of its would make, and worth a copy. Those of programs that make
// code are not: pages that are set aside, and gates, are the process's.
func (p *Process) heritable(v codecache.Variant) bool {
	if p.closed || p.released || p.code.ran != ranNot || !p.plainly() || !p.points.Untouched() {
		return false
	}
	return p.cache.SlotHeads[v] != nil && p.cache.BlockPool.N >= worthKeeping && p.cache.Facts.Last() == 0 && p.cache.SideExits.N == 0 && !p.cache.HasGates()
}
