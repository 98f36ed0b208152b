package engine

import (
	"sort"

	"alleria/engine/codecache"
)

// template is the translations of a process that is gone, for the next one that executes the same program. What belongs to one image
// is kept apart, since images lie elsewhere each time, and each on its own: translations become known as their
// image is mapped.
//
// Nothing in a template changes; processes take copies.
type template struct {
	areas    []*codecache.Region
	blocks   codecache.Pool[codecache.Block]
	exits    codecache.Pool[codecache.ExitWords]
	rare     []codecache.RareExit
	counters []uint32
	pieces   [][]byte // of positions
	literals []codecache.LiteralAt
	images   []imageCode
	bits     [codecache.KeptVariants]uint // the sizes of its index
	bytes    int
	used     int // when it was last taken over, by a count of all
}

// imageCode is what of a template belongs to one image.
type imageCode struct {
	codeImage
	blocks []uint32 // by number
	exits  []uint32 // that lead into it
	index  []kept
	heads  []codecache.HeadAt
	bare   []codecache.HeadKey // heads without a block
	relocs []codecache.Reloc
	pages  []uint64 // that blocks were translated from
}

// kept is an entry of the index.
type kept struct {
	app uint64
	ref codecache.Ref
	v   codecache.Variant
}

// worthKeeping is how many blocks a process must have for its translations to be kept: what has less is translated as fast.
const worthKeeping = 256

// template makes one of the process's translations; nil where they are not worth it, or are of no use to others: because
// something in them is about what was asked of this process, or because code was overwritten meanwhile.
// The process is gone; its areas are the template's now.
func (p *Process) template() *template {
	if p.past == nil || p.released || p.cache.BlockPool.N < worthKeeping || !p.general() {
		return nil
	}
	t := &template{blocks: p.cache.BlockPool, exits: p.cache.Exits, rare: p.cache.RareExits, counters: p.cache.Counters, pieces: p.cache.PosPieces, literals: p.written.Literals}
	for _, im := range p.written.images {
		t.images = append(t.images, imageCode{codeImage: im})
	}
	sort.Slice(t.images, func(i, j int) bool { return t.images[i].start < t.images[j].start })
	if !t.sortBlocks() || !t.sortExits() {
		return nil
	}
	t.sortCode(p)
	t.areas, p.cache.Regions = p.cache.Regions, nil
	p.shm.DropSlots() // the file lives as long as its areas are mapped
	for _, a := range t.areas {
		t.bytes += a.Used()
	}
	t.bytes += t.blocks.N*blockBytes + t.exits.N*exitBytes
	return t
}

// sortCode puts to their images what is known by address of the code, and what refers to the application in it.
func (t *template) sortCode(p *Process) {
	for v := range codecache.KeptVariants {
		t.bits[v] = p.cache.Index[v].Bits
		for _, s := range p.cache.Index[v].Slots {
			if app, ok := p.cache.AddrOf(s.Ref); ok && s.Ref != codecache.Forgotten {
				if im := t.imageAt(app); im != nil {
					im.index = append(im.index, kept{app, s.Ref, v})
				}
			}
		}
	}
	for _, h := range p.written.Heads {
		if im := t.imageAt(h.App); im != nil && h.Variant < codecache.KeptVariants {
			im.heads = append(im.heads, h)
		}
	}
	for k := range p.cache.BareHeads {
		if im := t.imageAt(k.App); im != nil && k.Variant < codecache.KeptVariants {
			im.bare = append(im.bare, k)
		}
	}
	for _, r := range p.written.Relocs {
		if im := t.imageAt(r.App); im != nil {
			im.relocs = append(im.relocs, r)
		}
	}
	for page := range p.code.pages {
		if im := t.imageAt(page); im != nil {
			im.pages = append(im.pages, page)
		}
	}
}

// About what a block and an exit take in tables, for a template's size.
const (
	blockBytes = 160
	exitBytes  = 32
)

// general tells whether the translations are such as any process with the same images would have.
func (p *Process) general() bool {
	w := &p.written
	switch {
	case w.Off, w.Mixed, len(p.cache.GoneEntries) > 0, p.translator.Awaits, p.toggle != nil, p.translator.Budgeted, p.translator.CountsAccesses, p.translator.KeepFlags, p.translator.Entries.Function != nil:
		return false
	case !p.points.Untouched(), len(p.cache.Watched) > 0, p.cache.Facts.Last() > 0, p.cache.SideExits.N > 0, len(p.cache.Stepped) > 0:
		return false
	}
	for i := range p.cache.RareExits {
		if r := &p.cache.RareExits[i]; r.Need != nil || r.Stale != nil {
			return false
		}
	}
	return p.from == nil || p.from.complete()
}

// sortBlocks puts the blocks' numbers to their images; false where one is of code that changes or lies in none.
func (t *template) sortBlocks() bool {
	for n := range t.blocks.N {
		b := t.blocks.At(n)
		im := t.imageAt(b.App)
		if im == nil || b.Compared != 0 || b.Used != 0 || b.Rec.Odd != 0 || b.Counts {
			return false
		}
		im.blocks = append(im.blocks, uint32(n))
	}
	return true
}

// sortExits puts the exits' numbers to the images that they lead to. One that leads to no image at an address that moves with none, as calls of
// absent weak functions in programs at fixed addresses, stays as it is.
func (t *template) sortExits() bool {
	for n := range t.exits.N {
		target := t.exits.At(n).Target
		im := t.imageAt(target)
		if im == nil && target < 1<<32 {
			continue
		}
		if im == nil {
			return false
		}
		im.exits = append(im.exits, uint32(n))
	}
	return true
}

// imageAt is the image that an address lies in; nil where it lies in none.
func (t *template) imageAt(addr uint64) *imageCode {
	i := sort.Search(len(t.images), func(i int) bool { return t.images[i].end > addr })
	if i == len(t.images) || t.images[i].start > addr {
		return nil
	}
	return &t.images[i]
}

// close gives a template's memory back.
func (t *template) close() {
	for _, a := range t.areas {
		a.Unmap()
	}
}

// templates are those of a tree's programs, by path.
type templates struct {
	off   bool
	of    map[string]*template
	bytes int
	taken int
}

// mostTemplates bounds the memory of all templates together.
const mostTemplates = 192 << 20

// keep makes a template of a process that is gone, in place of the one of its program where there is one of less.
func (ts *templates) keep(p *Process) {
	if ts.off || p.past == nil {
		return
	}
	path := p.past.path
	old := ts.of[path]
	if old != nil && p.cache.BlockPool.N < old.blocks.N+old.blocks.N/8 {
		return
	}
	t := p.template()
	if t == nil {
		return
	}
	if old != nil {
		ts.drop(path)
	}
	if ts.of == nil {
		ts.of = make(map[string]*template)
	}
	ts.taken++
	t.used = ts.taken
	ts.of[path] = t
	for ts.bytes += t.bytes; ts.bytes > mostTemplates; {
		ts.drop(ts.oldest())
	}
}

// find is the template of the program that a process executes; nil if there is none.
func (ts *templates) find(p *Process) *template {
	if ts.off || p.past == nil {
		return nil
	}
	t := ts.of[p.past.path]
	if t != nil {
		ts.taken++
		t.used = ts.taken
	}
	return t
}

// oldest is the program whose template was not used for longest.
func (ts *templates) oldest() string {
	var path string
	for k, t := range ts.of {
		if path == "" || t.used < ts.of[path].used {
			path = k
		}
	}
	return path
}

// drop forgets a template.
func (ts *templates) drop(path string) {
	t := ts.of[path]
	ts.bytes -= t.bytes
	delete(ts.of, path)
	t.close()
}

// close forgets all.
func (ts *templates) close() {
	for path := range ts.of {
		ts.drop(path)
	}
}
