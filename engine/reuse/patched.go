package reuse

import (
	"slices"

	"alleria/engine/codecache"
	"alleria/internal/sys"
)

// A program that can write some pages of a file's code has there what no other process has. Where these are few, as the one of .NET's library in which it puts
// a collector's bounds, the image stays known, and what lies in those pages counts as code that the program has made from then on, whatever rights they
// have (Patched): it is in no template, and what leads there asks (codecache.Cache.Shut). What was translated of them before is dead by then. The next process begins
// with the rest, when the image is mapped with all pages the file's; what it writes there itself is forgotten as ever.
//
// Refused: to compare such pages with the file, of which one that can be written may be another at any time.

// mostPatched bounds how many pages of files' code can be written in a process of which these files are kept. Where all of a file is written once, as by
// relocations in code, its blocks would be entered by gates, for nothing.
const mostPatched = 64

// patch notes that pages of an image can be written; false where the image is to be forgotten.
func (w *Written) patch(im *Image, start, end uint64) bool {
	if w.Whole || w.native {
		return false
	}
	start, end = max(start, im.Start)&^(pageSize-1), (min(end, im.End)+pageSize-1)&^(pageSize-1)
	n := (end - start) / pageSize
	for _, s := range w.patched {
		n += (s.end - s.start) / pageSize
	}
	for at := start; at < end && n > mostPatched; at += pageSize { // some are noted already
		if w.Patched(at) {
			n--
		}
	}
	if n > mostPatched {
		return false
	}
	for at := start; at < end; at += pageSize {
		if !w.Patched(at) {
			w.patched = append(w.patched, stretch{at, at + pageSize})
		}
	}
	return true
}

// Patched tells whether an address lies in a page of a file that is kept and whose page could be written.
func (w *Written) Patched(addr uint64) bool {
	return slices.ContainsFunc(w.patched, func(s stretch) bool { return s.start <= addr && addr < s.end })
}

// isPartOf tells whether a mapping is what has become of a part of an image by calls that changed the rights to some of its pages.
func (w *Written) isPartOf(im *Image, m *sys.Mapping) bool {
	if len(w.patched) == 0 || m.Start < im.Start || m.End > im.End || m.Inode != im.id.inode || m.Offset-im.offset != m.Start-im.Start || m.Shared() {
		return false
	}
	if !m.Writable() {
		return true
	}
	for at := m.Start; at < m.End; at += pageSize {
		if !w.Patched(at) {
			return false
		}
	}
	return true
}

// inPatched tells whether some of a block lies in such a page.
func (w *Written) inPatched(cache *codecache.Cache, b *codecache.Block) bool {
	return slices.ContainsFunc(w.patched, func(s stretch) bool { return cache.Covers(b, s.start, s.end) })
}

// forgetChanged has images be unknown of which some code has changed while the process ran, or may have: their blocks compare themselves, or were
// overwritten. Where that is for pages that could be written, which are known, the image stays; reaching is where instructions begin that reach into such pages.
func (t *Template) forgetChanged(cache *codecache.Cache, w *Written, left numbers) (reaching map[uint64]bool) {
	for n := range t.Blocks.N {
		b := t.Blocks.At(n)
		im := t.imageAt(b.App)
		switch {
		case im == nil, left.has(n), b.Is(codecache.Past), !b.Is(codecache.Dead) && !b.OfMadeCode():
		case !w.inPatched(cache, b):
			im.forget()
		default:
			b.NoteIf(codecache.Past, b.Is(codecache.Dead))
			if b.OfMadeCode() && !w.Patched(b.App) {
				if reaching == nil {
					reaching = make(map[uint64]bool)
				}
				reaching[b.App] = true
			}
		}
	}
	return reaching
}

// withoutMade leaves out of what is known by address what leads to code that the process has made: of pages that could be written, and of instructions that reach into such
// pages, which begin at one of the addresses.
func (t *Template) withoutMade(cache *codecache.Cache, w *Written, reaching map[uint64]bool) {
	if len(w.patched) == 0 {
		return
	}
	made := func(app uint64) bool { return reaching[app] || w.Patched(app) }
	for i := range t.images {
		im := &t.images[i]
		im.index = slices.DeleteFunc(im.index, func(e codecache.IndexEntry) bool { return made(e.App) && t.Has(e.Ref) && t.BlockOf(e.Ref).OfMadeCode() })
		im.checks = slices.DeleteFunc(im.checks, func(h codecache.CheckAt) bool { return made(h.App) })
		im.bare = slices.DeleteFunc(im.bare, func(k codecache.CheckKey) bool { return made(k.App) })
	}
}

// withoutGone leaves out what would be corrected where code was overwritten meanwhile.
func (t *Template) withoutGone(gone codecache.Gone) {
	if gone == nil {
		return
	}
	for i := range t.images {
		im := &t.images[i]
		im.relocs = slices.DeleteFunc(im.relocs, func(r codecache.Reloc) bool {
			size := 8
			if r.Kind == codecache.RelocDisp {
				size = 4
			}
			return gone.Has(r.Region, r.At, size)
		})
	}
}
