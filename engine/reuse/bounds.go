package reuse

import (
	"slices"

	"alleria/internal/sys"
)

// A dynamic linker maps a library as a whole with the rights of its first segment, which may be code, and then the other segments over the end. Where the mappings are read
// in between, as another thread may ask for, the image is as long as the whole library. So an image is cut where the mapping that begins as it does turns out to be shorter and no
// code lies behind it: its code up to there is the file's, as before, and what lay behind is an image that is not known; what was translated there is dead. Processes that have read
// the mappings when all was in place have the same image then.
//
// An image that is cut is taken over later than it was noted, so that some of its pages may have been written meanwhile: then it is not (isPatched).
//
// Refused: to leave bounds out of the comparison of images, since blocks at the end may go on behind what another process has; to look at the file's segments, which other loaders
// need not map as they are.

// Replace notes that a file which can be written was mapped over whatever lay there. An image of which the end was replaced is cut when the mappings are read, since what
// else lies there is not known yet; another one is not known any more.
func (w *Written) Replace(start, end uint64) {
	if w.Off || w.Mixed {
		return
	}
	if w.Whole {
		w.Touch(start, end)
		return
	}
	for i := range w.images {
		im := &w.images[i]
		switch {
		case start >= im.End || im.Start >= end || !im.id.known():
		case len(w.replaced) == mostTouched:
			im.forget()
		default:
			w.replaced = append(w.replaced, stretch{start, end})
		}
	}
	w.remember(start, end)
}

// settle has images be unknown of which a part that was replaced has not been cut off.
func (w *Written) settle() {
	for _, s := range w.replaced {
		for i := range w.images {
			if im := &w.images[i]; s.start < im.End && im.Start < s.end {
				im.forget()
			}
		}
	}
	w.replaced = nil
}

// rebound cuts the image that begins as mapping i does, and is longer than that and those of its parts that follow, if it is to be cut.
func (w *Written) rebound(pid int, maps []sys.Mapping, i int) {
	if w.Whole {
		return
	}
	m := maps[i]
	k := slices.IndexFunc(w.images, func(im Image) bool {
		return im.Start == m.Start && m.End < im.End && im.offset == m.Offset && im.id.inode == m.Inode && im.id.known()
	})
	if k < 0 {
		return
	}
	im := &w.images[k]
	for i++; i < len(maps) && maps[i].Start == m.End && w.isPartOf(im, &maps[i]); i++ {
		m.End = maps[i].End
	}
	if m.End == im.End || i < len(maps) && maps[i].Start < im.End || w.allPatched(m.End, im.End) {
		return // rights that were changed, which isPartOf knows
	}
	now := w.disk.imageOf(pid, &m)
	if now.id != im.id { // nor is it known what one is that can be written, or is shared
		im.forget()
		return
	}
	rest := Image{Start: m.End, End: im.End, offset: im.offset + m.End - im.Start, id: FileVersion{inode: m.Inode}}
	im.End, im.content = m.End, now.content
	w.images = append(w.images, rest)
}

// allPatched tells whether all pages could be written while they were the image's.
func (w *Written) allPatched(start, end uint64) bool {
	for at := start; at < end; at += pageSize {
		if !w.Patched(at) {
			return false
		}
	}
	return true
}

// isPatched tells whether a page of an image could be written since it was noted.
func (w *Written) isPatched(im *Image) bool {
	return slices.ContainsFunc(w.patched, func(s stretch) bool { return s.start < im.End && im.Start < s.end })
}
