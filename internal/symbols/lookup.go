package symbols

import "sort"

// maxNested bounds how far a Lookup goes back from the nearest start for a
// function that encloses an address. Real code nests once (an assembler
// function with a second entry point).
const maxNested = 64

// Lookup finds the function whose code covers an address, the innermost of
// several, or nil.
func (im *Image) Lookup(vaddr uint64) *Function {
	fns := im.Functions()
	i := sort.Search(len(fns), func(i int) bool { return fns[i].Addr > vaddr }) - 1
	for tries := 0; i >= 0 && tries < maxNested; i, tries = i-1, tries+1 {
		if fns[i].Contains(vaddr) {
			return &fns[i]
		}
		if im.maxEnd[i] <= vaddr {
			return nil // nothing before reaches this far
		}
	}
	return nil
}

// index is the place of a function in the table of its image.
func (im *Image) index(f *Function) int {
	return sort.Search(len(im.fns), func(i int) bool { return im.fns[i].Addr >= f.Addr })
}
