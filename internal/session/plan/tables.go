package plan

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"

	"alleria/abp"
	"alleria/config"
	"alleria/emit"
	"alleria/internal/symbols"
	"alleria/internal/sys"
)

// Tables are the images and functions of one program image, numbered as the
// profile numbers them: in the order in which they are first needed.
// An image or function that nothing recorded refers to is not in the profile.
type Tables struct {
	Symbols *symbols.Map
	opts    Options
	images  map[*symbols.Loaded]uint32
	since   map[*symbols.Loaded]uint64 // when the profile first heard of an image
	gone    map[*symbols.Loaded]bool   // numbered images that were unloaded
	funcs   map[*symbols.Image]*places
	keys    map[*symbols.Loaded]config.ImageKey
	// The numbers that were given last; kept are those that code taken over from another process goes by.
	lastImage, lastFunc uint32
	kept                *Names
}

// Options is what the tables of a program image are made from.
type Options struct {
	PID        int
	Exe        string                        // what the process executes, "" if that cannot be read
	Maps       func(pid int) ([]byte, error) // as /proc/PID/maps
	Cache      *symbols.Cache
	SystemDirs []string            // where the system's libraries are
	Asked      []string            // names of images in the configuration, see Asked
	Writer     *emit.ProcessWriter // of the image's profile; nil: it has none
	ByTypes    bool                // functions are chosen by their parameters' types
}

// NewTables prepares the tables of a process.
func NewTables(o Options) *Tables {
	m := symbols.NewMap(symbols.MapOptions{Cache: o.Cache, Exe: o.Exe, Memory: memoryOf(o.PID), SystemDirs: o.SystemDirs})
	return &Tables{opts: o, Symbols: m, images: make(map[*symbols.Loaded]uint32), since: make(map[*symbols.Loaded]uint64), gone: make(map[*symbols.Loaded]bool),
		funcs: make(map[*symbols.Image]*places), keys: make(map[*symbols.Loaded]config.ImageKey)}
}

// Update reads which images are loaded now.
//
// The lists are what came and went since the last time. A process that is gone gives an
// error, which callers take for "nothing changed".
func (t *Tables) Update() (loaded, unloaded []*symbols.Loaded, err error) {
	text, err := t.opts.Maps(t.opts.PID)
	if err != nil {
		return nil, nil, err
	}
	maps, err := symbols.ParseMaps(bytes.NewReader(text))
	if err != nil {
		return nil, nil, fmt.Errorf("address space of process %d: %w", t.opts.PID, err)
	}
	loaded, unloaded = t.Symbols.Update(maps)
	for _, l := range unloaded {
		if n := t.images[l]; n != 0 {
			t.gone[l] = true
			t.imageRow(n, l, t.since[l], sys.TSC())
		}
	}
	return loaded, unloaded, nil
}

// Image returns an image's number and enters it into the profile at first.
// The time is that of the first recorded block, not of the mapping: what is never
// recorded needs no row.
func (t *Tables) Image(l *symbols.Loaded) uint32 {
	n := t.images[l]
	if n == 0 {
		n = t.newImage(l)
	}
	return n
}

// Function returns a function's number, 0 for none.
// The row is written before the block that refers to it: emit keeps them in that
// order.
func (t *Tables) Function(l *symbols.Loaded, fn *symbols.Function) uint32 {
	if fn == nil {
		return 0
	}
	p, at := t.places(l.Image), uint32(l.Image.Index(fn))
	n := p.number(at)
	if n == 0 {
		n = t.nextFunction(l, at)
		p.give(at, n)
		t.functionRow(n, t.Image(l), l, fn)
	}
	return n
}

// places are the functions of an image that have numbers.
func (t *Tables) places(im *symbols.Image) *places {
	p := t.funcs[im]
	if p == nil {
		p = new(places)
		t.funcs[im] = p
	}
	return p
}

// rows tells whether somebody reads rows of the tables.
func (t *Tables) rows() bool { return t.opts.Writer != nil && t.opts.Writer.KeepsRows() }

// Recorded tells whether an image was entered into the profile.
func (t *Tables) Recorded(l *symbols.Loaded) bool { return t.images[l] != 0 }

// imageRow enters an image into the profile: when it is first needed, and again,
// with the time, when it is gone.
// The second row replaces the first in readers: the later row of a number holds.
func (t *Tables) imageRow(number uint32, l *symbols.Loaded, loaded, unloaded uint64) {
	if !t.rows() {
		return
	}
	im := abp.Image{Number: number, Main: l.Main, Path: l.Path, BuildID: buildID(l), Base: l.Bias, Loaded: loaded, Unloaded: unloaded}
	for _, s := range l.Image.Segments {
		im.Segments = append(im.Segments, abp.Segment{Start: s.Vaddr + l.Bias, End: s.Vaddr + l.Bias + s.MemSize, Offset: s.Offset, Prot: uint32(s.Prot)})
	}
	t.opts.Writer.AddImage(im)
}

// buildID is an image's build-id as bytes.
// It is hexadecimal in symbols, where it names files, and bytes in the profile.
func buildID(l *symbols.Loaded) []byte {
	id, err := hex.DecodeString(l.Image.BuildID)
	if err != nil {
		return nil
	}
	return id
}

// functionRow enters a function into the profile.
func (t *Tables) functionRow(number, image uint32, l *symbols.Loaded, fn *symbols.Function) {
	if !t.rows() {
		return
	}
	f := abp.Function{Number: number, Image: image, Name: fn.Linked(), Addr: fn.Addr + l.Bias, Size: fn.Size}
	if name := fn.Name(); name != f.Name {
		f.Demangled = name
	}
	t.opts.Writer.AddFunction(f)
}

// memoryOf opens the memory of a process for reading, nil if that is not
// possible.
// It must be opened while the process may still be read: a program that makes
// itself undumpable closes it to latecomers.
func memoryOf(pid int) *os.File {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return nil
	}
	return f
}
