package plan

import (
	"cmp"
	"slices"

	"alleria/config"
	"alleria/internal/symbols"
	"alleria/internal/sys"
)

// Recording code that one process has translated is taken over by the next process of its program, and by forked children. What the facts of its blocks say of images
// and functions is numbers, which are those of the process's profile. So whoever takes the code over takes the numbers over too, and gives others to what has none.
// An image's rows, and those of its functions, are written when its code is taken over, which is before any of it can run.
//
// Refused: to number facts anew, which are packed; to write rows when something of theirs is recorded, by whichever processing thread comes first.

// Names is what a process's numbers mean. It does not change, but for what of an earlier run's is found (words.go).
type Names struct {
	images    map[*symbols.Image]uint32
	loaded    []loadedAs // the same images where they lay, the latest first; those of other processes are not among them
	funcs     map[*symbols.Image]*places
	lastImage uint32
	lastFunc  uint32
	keys      map[*symbols.Image]config.ImageKey // of images that can be told in words; nil: nothing can
	told      map[string]*toldImage              // what an earlier run has told, by path
	allTold   bool                               // nothing else is known than that
}

// loadedAs is an image where a process had it loaded, and its number.
type loadedAs struct {
	*symbols.Loaded
	number uint32
	gone   bool // it was unloaded
}

// numbered is a function that has a number, by its place in its image's table: who goes by its number alone needs no table.
type numbered struct{ at, number uint32 }

// places are the functions of an image that have numbers.
type places struct {
	list []numbered
	// by has the numbers by place, 0 for none, of as many as are in it of the list: it is made when one is looked for.
	by []uint32
	in int
}

// number is the number of the function at a place, 0 for none.
func (p *places) number(at uint32) uint32 {
	for ; p.in < len(p.list); p.in++ {
		f := p.list[p.in]
		if n := int(f.at) + 1 - len(p.by); n > 0 {
			p.by = append(p.by, make([]uint32, n)...)
		}
		p.by[f.at] = f.number
	}
	if int64(at) >= int64(len(p.by)) {
		return 0
	}
	return p.by[at]
}

// give gives the function at a place a number.
func (p *places) give(at, number uint32) { p.list = append(p.list, numbered{at, number}) }

// copied are places that go on by themselves. The list so far is both's.
func (p *places) copied() *places {
	if p == nil {
		return new(places)
	}
	return &places{list: p.list[:len(p.list):len(p.list)]}
}

// Names says what the numbers mean that have been given so far; nil where an image is loaded twice.
func (t *Tables) Names() *Names {
	n := &Names{images: make(map[*symbols.Image]uint32), funcs: make(map[*symbols.Image]*places),
		lastImage: t.lastImage, lastFunc: t.lastFunc}
	if !t.opts.ByTypes {
		n.keys = make(map[*symbols.Image]config.ImageKey)
	}
	for l, number := range t.images {
		if n.images[l.Image] != 0 {
			return nil
		}
		if n.keys != nil && tellable(l) {
			n.keys[l.Image] = t.Key(l)
		}
		n.images[l.Image] = number
		n.loaded = append(n.loaded, loadedAs{l, number, t.gone[l]})
		n.funcs[l.Image] = t.funcs[l.Image].copied()
	}
	slices.SortFunc(n.loaded, func(x, y loadedAs) int { return cmp.Compare(y.number, x.number) })
	n.carry(t.kept, t.images)
	return n
}

// carry adds what was taken over with code of images that have not been loaded here, which others may have: loaded ones are ours by now.
func (n *Names) carry(kept *Names, ours map[*symbols.Loaded]uint32) {
	if kept == nil {
		return
	}
	paths := make(map[string]bool)
	for l := range ours {
		paths[l.Path] = true
	}
	for im, number := range kept.images {
		key, tellable := kept.keys[im]
		if n.images[im] != 0 || paths[key.Path] {
			continue
		}
		n.images[im], n.funcs[im] = number, kept.funcs[im].copied()
		if n.keys != nil && tellable {
			n.keys[im] = key
		}
	}
	for path, told := range kept.told {
		if told.found != nil || paths[path] {
			continue
		}
		if n.told == nil {
			n.told = make(map[string]*toldImage)
		}
		mine := *told
		n.told[path] = &mine
	}
}

// Take has an image keep its number, and its functions theirs. It is false where numbers have been given otherwise, or the image has none.
func (t *Tables) Take(n *Names, l *symbols.Loaded) bool {
	return t.goOn(n) && n.find(l, t) && t.take(n, l)
}

// goOn has numbers go on behind those that are taken over; false where some have been given already.
func (t *Tables) goOn(n *Names) bool {
	if t.kept == n {
		return true
	}
	if t.kept != nil || t.lastImage > 0 || t.lastFunc > 0 {
		return false
	}
	t.kept, t.lastImage, t.lastFunc = n, n.lastImage, n.lastFunc
	return true
}

// take is Take of an image that has been found.
func (t *Tables) take(n *Names, l *symbols.Loaded) bool {
	if n.images[l.Image] == 0 || t.Image(l) != n.images[l.Image] {
		return false
	}
	t.takeFunctions(n.funcs[l.Image].copied(), l)
	return true
}

// TakeAll is Take of all images of a process that this one is a forked child of, or another child of that. They lie where they did, and blocks may refer to any of them, also to
// those that are read from each process's memory and so are no other's: the kernel's own, and files that are gone.
func (t *Tables) TakeAll(n *Names) bool {
	if !t.goOn(n) {
		return false
	}
	for _, l := range t.Symbols.Images() {
		if !n.find(l, t) || n.images[l.Image] != 0 && !t.take(n, l) {
			return false
		}
	}
	for i := range n.loaded {
		if old := &n.loaded[i]; !t.again(old.Loaded) {
			t.takePlace(n, old)
		}
	}
	return true
}

// takePlace has an image that others do not share keep its number: what lies at its place now, where that is the same. Where it is something else by its names, as a file that was deleted
// since and has fewer, the profile has both, as the creator's.
func (t *Tables) takePlace(n *Names, old *loadedAs) {
	l := t.inPlaceOf(old.Loaded)
	switch {
	case l == nil && old.gone: // nothing of it is executed
		return
	case l == nil || t.images[l] != 0 || l.Image.Sum() != old.Image.Sum():
		l = old.Loaded
	}
	t.enter(l, old.number)
	t.takeFunctions(n.funcs[old.Image].copied(), l)
}

// inPlaceOf is what is loaded where another process had an image of the same path; nil if nothing is.
func (t *Tables) inPlaceOf(old *symbols.Loaded) *symbols.Loaded {
	for _, l := range t.Symbols.Images() {
		if l.Start == old.Start && l.Path == old.Path {
			return l
		}
	}
	return nil
}

// takeFunctions has functions keep their numbers, and writes the rows of those that have none.
func (t *Tables) takeFunctions(from *places, l *symbols.Loaded) {
	p, rows := t.places(l.Image), t.rows()
	if len(p.list) == 0 && !rows {
		*p = *from
		return
	}
	for _, f := range from.list {
		if p.number(f.at) != 0 {
			continue
		}
		p.give(f.at, f.number)
		if !rows {
			continue
		}
		if fns := l.Image.Functions(); int64(f.at) < int64(len(fns)) {
			t.functionRow(f.number, t.Image(l), l, &fns[f.at])
		}
	}
}

// nextImage is the number of an image that has none here yet. One that is loaded a second time has another.
func (t *Tables) nextImage(l *symbols.Loaded) uint32 {
	if t.kept != nil && t.kept.find(l, t) && t.kept.images[l.Image] != 0 && !t.again(l) {
		return t.kept.images[l.Image]
	}
	t.lastImage++
	return t.lastImage
}

// again tells whether an image has a number already, from where else it is loaded.
func (t *Tables) again(l *symbols.Loaded) bool {
	for o := range t.images {
		if o.Image == l.Image {
			return true
		}
	}
	return false
}

// nextFunction is the number of a function that has none here yet, by its place.
func (t *Tables) nextFunction(l *symbols.Loaded, at uint32) uint32 {
	if t.kept != nil && t.kept.find(l, t) {
		if p := t.kept.funcs[l.Image]; p != nil && p.number(at) != 0 {
			return p.number(at)
		}
	}
	t.lastFunc++
	return t.lastFunc
}

// newImage enters an image into the profile under the number that it is to have.
func (t *Tables) newImage(l *symbols.Loaded) uint32 {
	n := t.nextImage(l)
	t.enter(l, n)
	return n
}

// enter enters an image into the profile under a number.
func (t *Tables) enter(l *symbols.Loaded, number uint32) {
	t.images[l] = number
	t.since[l] = sys.TSC()
	t.imageRow(number, l, t.since[l], 0)
}
