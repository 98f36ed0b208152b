package session

import (
	"bytes"
	"fmt"
	"strings"

	"alleria/config"
	"alleria/internal/symbols"
	"alleria/internal/sys"
)

// tables are the images and functions of one program image, numbered as the
// profile numbers them: in the order in which they are first needed.
// An image or function that nothing recorded refers to is not in the profile.
type tables struct {
	pid     int
	maps    func(pid int) ([]byte, error)
	symbols *symbols.Map
	out     output
	images  map[*symbols.Loaded]uint32
	since   map[*symbols.Loaded]uint64 // when the profile first heard of an image
	funcs   map[*symbols.Function]uint32
	named   map[*symbols.Image][]named // the same by image
	// The numbers that were given last; kept are those that code taken over from another process goes by.
	lastImage, lastFunc uint32
	kept                *names
	asked               []string // names of images in the configuration
	keys                map[*symbols.Loaded]config.ImageKey
}

// newTables prepares the tables of a process. dirs is where the system's libraries are.
func newTables(pid int, of *machine, cache *symbols.Cache, dirs []string, out output, asked []string) *tables {
	m := symbols.NewMap(symbols.MapOptions{Cache: cache, Exe: of.exe(pid), Memory: memoryOf(pid), SystemDirs: dirs})
	return &tables{pid: pid, maps: of.maps, symbols: m, out: out, images: make(map[*symbols.Loaded]uint32),
		since: make(map[*symbols.Loaded]uint64), funcs: make(map[*symbols.Function]uint32), named: make(map[*symbols.Image][]named),
		asked: asked, keys: make(map[*symbols.Loaded]config.ImageKey)}
}

// update reads which images are loaded now.
//
// The lists are what came and went since the last time. A process that is gone gives an
// error, which callers take for "nothing changed".
func (t *tables) update() (loaded, unloaded []*symbols.Loaded, err error) {
	text, err := t.maps(t.pid)
	if err != nil {
		return nil, nil, err
	}
	maps, err := symbols.ParseMaps(bytes.NewReader(text))
	if err != nil {
		return nil, nil, fmt.Errorf("address space of process %d: %w", t.pid, err)
	}
	loaded, unloaded = t.symbols.Update(maps)
	for _, l := range unloaded {
		if n := t.images[l]; n != 0 {
			t.out.image(n, l, t.since[l], sys.TSC())
		}
	}
	return loaded, unloaded, nil
}

// image returns an image's number and enters it into the profile at first.
// The time is that of the first recorded block, not of the mapping: what is never
// recorded needs no row.
func (t *tables) image(l *symbols.Loaded) uint32 {
	n := t.images[l]
	if n == 0 {
		n = t.newImage(l)
	}
	return n
}

// function returns a function's number, 0 for none.
// The row is written before the block that refers to it: emit keeps them in that
// order.
func (t *tables) function(l *symbols.Loaded, fn *symbols.Function) uint32 {
	if fn == nil {
		return 0
	}
	n := t.funcs[fn]
	if n == 0 {
		n = t.nextFunction(l, fn)
		t.funcs[fn] = n
		t.named[l.Image] = append(t.named[l.Image], named{fn, n})
		t.out.function(n, t.image(l), l, fn)
	}
	return n
}

// Recording code that one process has translated is taken over by the next process of its program, and by forked children. What the facts of its blocks say of images
// and functions is numbers, which are those of the process's profile. So whoever takes the code over takes the numbers over too, and gives others to what has none.
// An image's rows, and those of its functions, are written when its code is taken over, which is before any of it can run.
//
// Refused: to number facts anew, which are packed; to write rows when something of theirs is recorded, by whichever processing thread comes first.

// names is what a process's numbers mean. It does not change.
type names struct {
	images    map[*symbols.Image]uint32
	funcs     map[*symbols.Image][]named
	byFunc    map[*symbols.Function]uint32
	lastImage uint32
	lastFunc  uint32
}

// named is a function with its number.
type named struct {
	fn     *symbols.Function
	number uint32
}

// names says what the numbers mean that have been given so far; nil where an image is loaded twice.
func (t *tables) names() *names {
	n := &names{images: make(map[*symbols.Image]uint32), funcs: make(map[*symbols.Image][]named), byFunc: make(map[*symbols.Function]uint32),
		lastImage: t.lastImage, lastFunc: t.lastFunc}
	for l, number := range t.images {
		if n.images[l.Image] != 0 {
			return nil
		}
		n.images[l.Image] = number
		n.funcs[l.Image] = append([]named(nil), t.named[l.Image]...)
		for _, f := range n.funcs[l.Image] {
			n.byFunc[f.fn] = f.number
		}
	}
	return n
}

// take has an image keep its number, and its functions theirs. It is false where numbers have been given otherwise.
func (t *tables) take(n *names, l *symbols.Loaded) bool {
	if t.kept != n {
		if t.kept != nil || t.lastImage > 0 || t.lastFunc > 0 {
			return false
		}
		t.kept, t.lastImage, t.lastFunc = n, n.lastImage, n.lastFunc
	}
	if n.images[l.Image] == 0 { // no block refers to it
		return true
	}
	if t.image(l) != n.images[l.Image] {
		return false
	}
	for _, f := range n.funcs[l.Image] {
		t.function(l, f.fn)
	}
	return true
}

// nextImage is the number of an image that has none here yet. One that is loaded a second time has another.
func (t *tables) nextImage(l *symbols.Loaded) uint32 {
	if t.kept != nil && t.kept.images[l.Image] != 0 && !t.again(l) {
		return t.kept.images[l.Image]
	}
	t.lastImage++
	return t.lastImage
}

// again tells whether an image has a number already, from where else it is loaded.
func (t *tables) again(l *symbols.Loaded) bool {
	for o := range t.images {
		if o.Image == l.Image {
			return true
		}
	}
	return false
}

// nextFunction is the number of a function that has none here yet.
func (t *tables) nextFunction(l *symbols.Loaded, fn *symbols.Function) uint32 {
	if t.kept != nil && t.kept.byFunc[fn] != 0 {
		return t.kept.byFunc[fn]
	}
	t.lastFunc++
	return t.lastFunc
}

// RecordsLike is engine.Planner's.
//
// What the first plan records is decided by the elements of the windows that are open, and by names of images and functions.
func (ps *process) RecordsLike() string {
	im := ps.image
	if im == nil || len(im.plans.sets) != 1 || ps.threads.kinds() != 1 || ps.opts.Sites != nil || im.capture != nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %x", ps.opts.Only, im.plans.sets[0])
	for w := range ps.opts.Config.Windows {
		if e := ps.matched.Element(w); e != nil {
			fmt.Fprintf(&b, " %p", e)
		} else {
			b.WriteString(" -")
		}
	}
	return b.String()
}

// Names is engine.Planner's.
func (ps *process) Names() any {
	if ps.image == nil {
		return nil
	}
	if n := ps.image.tables.names(); n != nil {
		return n
	}
	return nil
}

// TakeNames is engine.Planner's.
func (ps *process) TakeNames(from any, at uint64) bool {
	n, ok := from.(*names)
	if !ok || ps.image == nil {
		return false
	}
	t := ps.image.tables
	if at != 0 {
		l, _ := t.symbols.ByAddr(at)
		return l != nil && t.take(n, l)
	}
	for _, l := range t.symbols.Images() {
		if !t.take(n, l) {
			return false
		}
	}
	return true
}

// newImage enters an image into the profile under the number that it is to have.
func (t *tables) newImage(l *symbols.Loaded) uint32 {
	n := t.nextImage(l)
	t.images[l] = n
	t.since[l] = sys.TSC()
	t.out.image(n, l, t.since[l], 0)
	return n
}
