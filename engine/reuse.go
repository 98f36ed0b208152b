package engine

import (
	"encoding/binary"

	"alleria/internal/layout"
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
func (p *Process) takeOver(v Variant) {
	if p.tookOver {
		return
	}
	p.tookOver = true
	if v >= keptVariants || p.blockPool.n > 0 || !p.plainly() {
		return
	}
	t := p.tr.templates.find(p)
	if t == nil || len(t.areas) != len(p.areas) {
		return
	}
	if !p.code.valid {
		p.readMaps()
	}
	p.copyTables(t)
	// As large as the template's at once: its entries come in the order of their hashes, and in a smaller table they would lie in one row.
	for v := range keptVariants {
		if t.bits[v] > 0 {
			p.index[v].resize(t.bits[v])
		}
	}
	for i, a := range p.areas {
		a.copyFrom(t.areas[i], !p.noHuge)
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
	return !p.awaits && p.toggle == nil && !p.budgeted && !p.countsAccesses && !p.keepFlags && len(p.placeAt) == 0 && len(p.captures.points) == 0 && len(p.notify) == 0 && p.entries.function == nil
}

// copyTables copies the tables, whose addresses of the application are still the template's. Those of the cache are this
// process's.
func (p *Process) copyTables(t *template) {
	p.blockPool = t.blocks.clone()
	p.exits = t.exits.clone()
	shift := make([]uint64, len(p.areas))
	for i := range p.areas {
		shift[i] = p.areas[i].base - t.areas[i].base
	}
	for n := range p.blockPool.n {
		b := p.blockPool.at(n)
		for i, a := range t.areas {
			if a.contains(b.code) {
				b.code += shift[i]
				break
			}
		}
	}
	p.rareExits = append([]rareExit(nil), t.rare...)
	for i := range p.rareExits {
		if b := p.rareExits[i].trap; b != nil {
			p.rareExits[i].trap = p.blockPool.at(int(b.num))
		}
	}
	p.counters = append([]uint32(nil), t.counters...)
	p.posPieces, p.posPool = append([][]byte(nil), t.pieces...), nil
	p.written.literals = append([]literalAt(nil), t.literals...)
}

// clone copies a pool.
func (l *pool[T]) clone() pool[T] {
	c := pool[T]{n: l.n, pieces: make([]*[poolPiece]T, len(l.pieces))}
	for i, piece := range l.pieces {
		c.pieces[i] = new([poolPiece]T)
		*c.pieces[i] = *piece
	}
	return c
}

// copyFrom copies an area's code. The routines at its start are the same in all.
func (a *area) copyFrom(from *area, huge bool) {
	a.next, a.cold = from.next, from.cold
	if huge {
		for before := -1; before != a.hugeNext+a.hugeCold; {
			before = a.hugeNext + a.hugeCold
			a.enlarge()
		}
	}
	cold := a.size / 4 * 3
	copy(a.mem[a.rt.size:a.next], from.mem[a.rt.size:from.next])
	copy(a.mem[cold:a.cold], from.mem[cold:from.cold])
	a.blocks = append([]uint32(nil), from.blocks...)
	a.veneers = nil
}

// moveLiterals corrects the addresses of areas in the code.
func (p *Process) moveLiterals(t *template) {
	for _, l := range t.literals {
		word := p.areas[l.area].mem[l.at:]
		to := binary.LittleEndian.Uint64(word)
		for i, a := range t.areas {
			if a.contains(to) {
				binary.LittleEndian.PutUint64(word, to-a.base+p.areas[i].base)
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
		p.blockPool.at(int(n)).app += shift
	}
	for _, n := range im.exits {
		p.exits.at(int(n)).target += shift
	}
	for _, r := range im.relocs {
		p.relocate(r, shift)
	}
	for _, k := range im.index {
		if s := p.makeSlot(k.app+shift, k.v); s.ref == 0 {
			s.ref = k.ref
		}
	}
	for _, k := range im.bare {
		p.bareHeads[headKey{k.v, k.app + shift}] = true
	}
	for _, h := range im.heads {
		h.app += shift
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
		if r.kind == relocDisp {
			in[r.area] = true
		}
	}
	for i, a := range p.areas {
		if in[i] && (!a.near(im.start+shift) || !a.near(im.end+shift)) {
			return false
		}
	}
	return true
}

// relocate corrects a reference to an image, which lies shift bytes further on than in the template.
func (p *Process) relocate(r reloc, shift uint64) {
	at := p.areas[r.area].mem[r.at:]
	switch r.kind {
	case relocDisp:
		moved := uint32(p.areas[r.area].base - p.from.areas[r.area].base)
		binary.LittleEndian.PutUint32(at, binary.LittleEndian.Uint32(at)+uint32(shift)-moved)
	case relocAbs:
		binary.LittleEndian.PutUint64(at, binary.LittleEndian.Uint64(at)+shift)
	case relocNeg:
		binary.LittleEndian.PutUint64(at, binary.LittleEndian.Uint64(at)-shift)
	}
	r.app += shift
	p.written.relocs = append(p.written.relocs, r)
}

// chainHead puts a head in front of those of its entry of the look-up tables.
func (p *Process) chainHead(h headAt) {
	if p.slotHeads[h.v] == nil {
		p.slotHeads[h.v] = make([]uint64, layout.TableEntries)
	}
	ar, s := p.areas[h.area], slotOf(h.app)
	next := p.slotHeads[h.v][s]
	if next == 0 {
		next = p.tableMiss()
	}
	if !ar.contains(next) {
		next = p.veneer(ar, next)
	}
	patch32(ar.mem[h.miss:], uint32(int64(next)-int64(ar.base+uint64(h.miss)+4)))
	p.slotHeads[h.v][s] = ar.base + uint64(h.code)
	p.publishHeads([]uint64{h.app}, h.v)
	p.written.heads = append(p.written.heads, h)
}
