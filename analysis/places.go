package analysis

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"sort"

	"alleria/abp"
)

// places finds the function and the image that an address of one process lies
// in. Profiles name both where they were recorded; where not, the tables'
// addresses tell. Immutable once made.
//
// Those of a process that is being recorded take new rows in when they are asked: one goroutine
// at a time may.
type places struct {
	proc      *abp.Process
	functions []*abp.Function                 // by address
	segments  []placed                        // by address
	seen      struct{ functions, images int } // rows of a growing process
}

// placed is one segment of an image. Images are looked up by segment because
// their segments may have other images' between them.
type placed struct {
	lo, hi uint64
	image  *abp.Image
}

// newPlaces sorts the tables once; look-ups are binary searches. A map by
// address would need an entry for each instruction.
//
// Functions without an address (a profile that kept names only) are left to the
// numbers that instructions carry.
func newPlaces(p *abp.Process) *places {
	pl := &places{proc: p}
	for i := range p.Functions() {
		if f := &p.Functions()[i]; f.Addr != 0 {
			pl.functions = append(pl.functions, f)
		}
	}
	// Stable, so that of aliases at one address the first of the table wins.
	sort.SliceStable(pl.functions, func(i, j int) bool { return pl.functions[i].Addr < pl.functions[j].Addr })
	for i := range p.Images() {
		img := &p.Images()[i]
		for _, s := range img.Segments {
			pl.segments = append(pl.segments, placed{s.Start, s.End, img})
		}
	}
	sort.SliceStable(pl.segments, func(i, j int) bool { return pl.segments[i].lo < pl.segments[j].lo })
	return pl
}

// grow takes in what a process that is being recorded has got since.
func (pl *places) grow() {
	src := pl.proc.Source()
	if src == nil {
		return
	}
	functions, images := src.Functions(pl.seen.functions), src.Images(pl.seen.images)
	pl.seen.functions += len(functions)
	pl.seen.images += len(images)
	for _, f := range functions {
		if f.Addr != 0 {
			n := sort.Search(len(pl.functions), func(i int) bool { return pl.functions[i].Addr > f.Addr })
			pl.functions = slices.Insert(pl.functions, n, f)
		}
	}
	for _, img := range images {
		for _, s := range img.Segments {
			n := sort.Search(len(pl.segments), func(i int) bool { return pl.segments[i].lo > s.Start })
			pl.segments = slices.Insert(pl.segments, n, placed{s.Start, s.End, img})
		}
	}
}

// function returns the function of an instruction, nil if there is none.
// The number in the block wins over the address: a JIT's or an unloaded library's
// code may lie where another function's was.
func (pl *places) function(b *abp.Block, ins int) *abp.Function {
	if n := b.Ins[ins].Func; n != 0 {
		return pl.proc.Function(n)
	}
	return pl.functionAt(b.InsAddr(ins))
}

// functionAt returns the function that holds an address. Symbols without a
// size hold their first byte only: guessing that they reach up to the next
// one would give a stripped library's code to its last exported function.
// Aliases sort stably; the walk back finds the first one at the address.
func (pl *places) functionAt(addr uint64) *abp.Function {
	pl.grow()
	n := sort.Search(len(pl.functions), func(i int) bool { return pl.functions[i].Addr > addr })
	if n == 0 {
		return nil
	}
	f := pl.functions[n-1]
	for n >= 2 && pl.functions[n-2].Addr == f.Addr {
		n--
		f = pl.functions[n-1]
	}
	if addr-f.Addr < max(f.Size, 1) {
		return f
	}
	return nil
}

// image returns the image of a block, nil for code in none.
func (pl *places) image(b *abp.Block) *abp.Image {
	if b.Image != 0 {
		return pl.proc.Image(b.Image)
	}
	return pl.imageAt(b.Addr)
}

// imageAt returns the image that holds an address. Unloaded images still
// answer, and where two used the same addresses one after the other, the one
// that was mapped last: the tables don't say when a block ran.
func (pl *places) imageAt(addr uint64) *abp.Image {
	pl.grow()
	n := sort.Search(len(pl.segments), func(i int) bool { return pl.segments[i].lo > addr })
	if n == 0 || addr >= pl.segments[n-1].hi {
		return nil
	}
	return pl.segments[n-1].image
}

// noImage is what code in no image is called in tables: a JIT's, mostly.
const noImage = "[no image]"

// noFunction stands for code that no function holds.
const noFunction = "[no function]"

// imageName is what tables call an image: the file name. The path is in the
// report's JSON.
func imageName(img *abp.Image) string {
	if img == nil {
		return noImage
	}
	return filepath.Base(img.Path)
}

// describe names an address for people: function and offset, else image and
// offset, else nothing.
// The result is for reading and not for parsing: a function's name may contain any
// character, a plus sign included.
func (pl *places) describe(addr uint64) string {
	if f := pl.functionAt(addr); f != nil {
		return withOffset(f.Display(), addr-f.Addr)
	}
	if img := pl.imageAt(addr); img != nil {
		return withOffset(imageName(img), addr-img.Base)
	}
	return ""
}

// returnAddress names a return address by the function of the call in front of it, which may be the last
// instruction of a function that does not return.
func (pl *places) returnAddress(addr uint64) string {
	if f := pl.functionAt(addr - 1); f != nil {
		return withOffset(f.Display(), addr-f.Addr)
	}
	return ""
}

// withOffset writes a place as debuggers do.
func withOffset(name string, off uint64) string {
	if off == 0 {
		return name
	}
	return fmt.Sprintf("%s+%#x", name, off)
}

// imagesOf is the images of a process, also of one that is being recorded, by number.
func imagesOf(p *abp.Process) []*abp.Image {
	var out []*abp.Image
	for i := range p.Images() {
		out = append(out, &p.Images()[i])
	}
	if src := p.Source(); src != nil {
		for _, img := range src.Images(0) {
			if src.Image(img.Number) == img { // the latest row
				out = append(out, img)
			}
		}
		slices.SortFunc(out, func(a, b *abp.Image) int { return cmp.Compare(a.Number, b.Number) })
	}
	return out
}
