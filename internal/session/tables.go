package session

import (
	"bytes"
	"fmt"

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
	asked   []string // names of images in the configuration
	keys    map[*symbols.Loaded]config.ImageKey
}

// newTables prepares the tables of a process. dirs is where the system's libraries are.
func newTables(pid int, of *machine, cache *symbols.Cache, dirs []string, out output, asked []string) *tables {
	m := symbols.NewMap(symbols.MapOptions{Cache: cache, Exe: of.exe(pid), Memory: memoryOf(pid), SystemDirs: dirs})
	return &tables{pid: pid, maps: of.maps, symbols: m, out: out, images: make(map[*symbols.Loaded]uint32),
		since: make(map[*symbols.Loaded]uint64), funcs: make(map[*symbols.Function]uint32),
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
		n = uint32(len(t.images)) + 1
		t.images[l] = n
		t.since[l] = sys.TSC()
		t.out.image(n, l, t.since[l], 0)
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
		n = uint32(len(t.funcs)) + 1
		t.funcs[fn] = n
		t.out.function(n, t.image(l), l, fn)
	}
	return n
}
