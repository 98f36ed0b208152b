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
	if i := im.lookup(fns, vaddr); i >= 0 {
		return &fns[i]
	}
	return nil
}

// lookup is Lookup by the function's place, -1 for none.
func (im *Image) lookup(fns []Function, vaddr uint64) int {
	i := sort.Search(len(fns), func(i int) bool { return fns[i].Addr > vaddr }) - 1
	for tries := 0; i >= 0 && tries < maxNested; i, tries = i-1, tries+1 {
		if fns[i].Contains(vaddr) {
			return i
		}
		if im.maxEnd[i] <= vaddr {
			return -1 // nothing before reaches this far
		}
	}
	return -1
}

// index is the place of a function in the table of its image.
func (im *Image) index(f *Function) int {
	return sort.Search(len(im.fns), func(i int) bool { return im.fns[i].Addr >= f.Addr })
}

// Near finds functions like Map.Function, for addresses of which each is mostly near the one before: it looks there first. It is for one goroutine, and for as
// long as the map is not updated.
type Near struct {
	m          *Map
	in         *Loaded
	start, end uint64 // of the mapping that in was found in
	at         int    // the function that was found last
}

// Near begins anywhere.
func (m *Map) Near() *Near { return &Near{m: m} }

// nearby is how many functions are passed by before all are searched, which takes some fifteen steps of which most are far apart.
const nearby = 6

// Function finds the image and the function at an address.
func (n *Near) Function(addr uint64) (*Loaded, *Function) {
	if addr-n.start >= n.end-n.start {
		*n = Near{m: n.m}
		r := n.m.state.Load().ranges
		i := sort.Search(len(r), func(i int) bool { return r[i].start > addr }) - 1
		if i < 0 || addr >= r[i].end {
			return nil, nil
		}
		n.in, n.start, n.end = r[i].in, r[i].start, r[i].end
	}
	im, vaddr := n.in.Image, n.in.Address(addr)
	fns := im.Functions()
	if i := n.at; i < len(fns) && fns[i].Addr <= vaddr {
		last := min(i+nearby, len(fns)-1)
		for i < last && fns[i+1].Addr <= vaddr {
			i++
		}
		if (i+1 == len(fns) || vaddr < fns[i+1].Addr) && fns[i].Contains(vaddr) {
			n.at = i
			return n.in, &fns[i]
		}
	}
	i := im.lookup(fns, vaddr)
	if i < 0 {
		return n.in, nil
	}
	n.at = i
	return n.in, &fns[i]
}
