package plan

import (
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
	funcs     map[*symbols.Image]*places
	lastImage uint32
	lastFunc  uint32
	keys      map[*symbols.Image]config.ImageKey // of images that can be told in words; nil: nothing can
	told      map[string]*toldImage              // what an earlier run has told, by path
	allTold   bool                               // nothing else is known than that
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
		n.funcs[l.Image] = t.funcs[l.Image].copied()
	}
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

// Take has an image keep its number, and its functions theirs. It is false where numbers have been given otherwise.
func (t *Tables) Take(n *Names, l *symbols.Loaded) bool {
	if t.kept != n {
		if t.kept != nil || t.lastImage > 0 || t.lastFunc > 0 {
			return false
		}
		t.kept, t.lastImage, t.lastFunc = n, n.lastImage, n.lastFunc
	}
	if !n.find(l, t) {
		return false
	}
	if n.images[l.Image] == 0 { // no block refers to it
		return true
	}
	if t.Image(l) != n.images[l.Image] {
		return false
	}
	t.takeFunctions(n.funcs[l.Image].copied(), l)
	return true
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
	t.images[l] = n
	t.since[l] = sys.TSC()
	t.imageRow(n, l, t.since[l], 0)
	return n
}
