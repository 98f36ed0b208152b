package analysis

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"sync"

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
	functions []*abp.Function                // by address
	of        map[*abp.Image][]*abp.Function // those of an image, or of none, by address
	segments  []placed                       // by address
	first     map[imageIs]*abp.Image
	same      map[*abp.Image]*abp.Image       // the first of them
	once      sync.Once                       // makes starts
	starts    map[uint64]start                // of blocks, by address; see startsOf
	seen      struct{ functions, images int } // rows of a growing process
}

// placed is one segment of an image. Images are looked up by segment because
// their segments may have other images' between them.
type placed struct {
	lo, hi uint64
	reach  uint64 // the highest hi of this one and those before it
	image  *abp.Image
}

// imageIs is what makes code at an address that of an image, also where it was unloaded in between and loaded there again.
type imageIs struct {
	path, buildID string
	base          uint64
}

// Code is an instruction of a process. Its address is not enough: an image may lie where another one did that was unloaded.
type Code struct {
	Addr  uint64
	Image *abp.Image // nil: in none. One that was loaded again at the same place is the first of them.
}

// newPlaces sorts the tables once; look-ups are binary searches. A map by
// address would need an entry for each instruction.
//
// Functions without an address (a profile that kept names only) are left to the
// numbers that instructions carry.
func newPlaces(p *abp.Process) *places {
	pl := &places{proc: p, of: map[*abp.Image][]*abp.Function{}, first: map[imageIs]*abp.Image{}, same: map[*abp.Image]*abp.Image{}}
	for i := range p.Functions() {
		if f := &p.Functions()[i]; f.Addr != 0 {
			pl.functions = append(pl.functions, f)
		}
	}
	// Stable, so that of aliases at one address the first of the table wins.
	sort.SliceStable(pl.functions, func(i, j int) bool { return pl.functions[i].Addr < pl.functions[j].Addr })
	for i := range p.Images() {
		img := &p.Images()[i]
		pl.know(img)
		for _, s := range img.Segments {
			pl.segments = append(pl.segments, placed{lo: s.Start, hi: s.End, image: img})
		}
	}
	sort.SliceStable(pl.segments, func(i, j int) bool { return pl.segments[i].lo < pl.segments[j].lo })
	pl.reaches()
	for _, f := range pl.functions {
		img := pl.firstOf(p.Image(f.Image))
		pl.of[img] = append(pl.of[img], f)
	}
	return pl
}

// reaches notes how far segments reach.
func (pl *places) reaches() {
	reach := uint64(0)
	for i := range pl.segments {
		reach = max(reach, pl.segments[i].hi)
		pl.segments[i].reach = reach
	}
}

// know takes an image in.
func (pl *places) know(img *abp.Image) {
	k := imageIs{img.Path, string(img.BuildID), img.Base}
	if pl.first[k] == nil {
		pl.first[k] = img
	}
	pl.same[img] = pl.first[k]
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
	for _, img := range images {
		pl.know(img)
		for _, s := range img.Segments {
			n := sort.Search(len(pl.segments), func(i int) bool { return pl.segments[i].lo > s.Start })
			pl.segments = slices.Insert(pl.segments, n, placed{lo: s.Start, hi: s.End, image: img})
		}
	}
	if len(images) > 0 {
		pl.reaches()
	}
	for _, f := range functions {
		if f.Addr != 0 {
			img := pl.firstOf(src.Image(f.Image))
			pl.functions, pl.of[img] = withFunction(pl.functions, f), withFunction(pl.of[img], f)
		}
	}
}

// withFunction puts a function into a list by address, behind those at the same one.
func withFunction(list []*abp.Function, f *abp.Function) []*abp.Function {
	n := sort.Search(len(list), func(i int) bool { return list[i].Addr > f.Addr })
	return slices.Insert(list, n, f)
}

// function returns the function of an instruction, nil if there is none.
// The number in the block wins over the address: a JIT's or an unloaded library's
// code may lie where another function's was.
func (pl *places) function(b *abp.Block, ins int) *abp.Function {
	if n := b.Ins[ins].Func; n != 0 {
		return pl.proc.Function(n)
	}
	return pl.functionIn(pl.image(b), b.InsAddr(ins))
}

// functionIn returns the function of an image, or of none, that holds an address.
func (pl *places) functionIn(img *abp.Image, addr uint64) *abp.Function {
	pl.grow()
	if img != nil {
		if f := functionAmong(pl.of[pl.firstOf(img)], addr); f != nil {
			return f
		}
	}
	return functionAmong(pl.of[nil], addr)
}

// functionAt returns the function that holds an address, of the image that does.
func (pl *places) functionAt(addr uint64) *abp.Function {
	pl.grow()
	if img := pl.imageAt(addr); img != nil {
		return pl.functionIn(img, addr)
	}
	return functionAmong(pl.functions, addr)
}

// functionAmong returns the function that holds an address. Symbols without a
// size hold their first byte only: guessing that they reach up to the next
// one would give a stripped library's code to its last exported function.
// Aliases sort stably; the walk back finds the first one at the address.
func functionAmong(list []*abp.Function, addr uint64) *abp.Function {
	n := sort.Search(len(list), func(i int) bool { return list[i].Addr > addr })
	if n == 0 {
		return nil
	}
	f := list[n-1]
	for n >= 2 && list[n-2].Addr == f.Addr {
		n--
		f = list[n-1]
	}
	if addr-f.Addr < max(f.Size, 1) {
		return f
	}
	return nil
}

// image returns the image of a block, nil for code in none.
func (pl *places) image(b *abp.Block) *abp.Image { return pl.imageIn(b.Image, b.Addr) }

// imageIn returns the image with a block's number at an address.
// One that has been unloaded does not answer for a block that names none: what lies where it was is a JIT's.
func (pl *places) imageIn(number uint32, addr uint64) *abp.Image {
	if number != 0 {
		return pl.proc.Image(number)
	}
	if img := pl.imageAt(addr); img != nil && img.Unloaded == 0 {
		return img
	}
	return nil
}

// code tells an instruction from others that lay at its address.
func (pl *places) code(b *abp.Block, ins int) Code { return pl.codeIn(b.Image, b.InsAddr(ins)) }

// codeIn is code by a block's image.
func (pl *places) codeIn(image uint32, addr uint64) Code {
	pl.grow()
	return Code{addr, pl.firstOf(pl.imageIn(image, addr))}
}

// firstOf is an image as it was loaded first at its place: functions have rows once.
func (pl *places) firstOf(img *abp.Image) *abp.Image { return cmp.Or(pl.same[img], img) }

// imageAt returns the image that holds an address. Unloaded images still
// answer, and where two used the same addresses one after the other, the one
// that is there at the end, else that was mapped last: addresses don't say when.
func (pl *places) imageAt(addr uint64) (found *abp.Image) {
	pl.each(addr, func(img *abp.Image) {
		if found == nil || found.Unloaded != 0 && (img.Unloaded == 0 || img.Unloaded > found.Unloaded) {
			found = img
		}
	})
	return found
}

// imageDuring is imageAt at a time; without one, or where no image is known to have been there then, as imageAt.
func (pl *places) imageDuring(addr, tsc uint64) (found *abp.Image) {
	pl.each(addr, func(img *abp.Image) {
		if tsc != 0 && img.Loaded <= tsc && (img.Unloaded == 0 || tsc < img.Unloaded) {
			found = img
		}
	})
	if found == nil {
		return pl.imageAt(addr)
	}
	return found
}

// start is which image blocks are of that begin at an address.
type start struct {
	image *abp.Image // nil: none
	mixed bool       // not all are of one
}

// startsOf lists them, where images were unloaded: else their addresses say it.
func (pl *places) startsOf() map[uint64]start {
	pl.once.Do(func() {
		if !slices.ContainsFunc(pl.proc.Images(), func(img abp.Image) bool { return img.Unloaded != 0 }) {
			return
		}
		pl.starts = map[uint64]start{}
		for _, b := range pl.proc.Blocks() {
			if b == nil {
				continue
			}
			img := pl.code(b, 0).Image
			if s, known := pl.starts[b.Addr]; known {
				pl.starts[b.Addr] = start{img, s.mixed || s.image != img}
				continue
			}
			pl.starts[b.Addr] = start{image: img}
		}
	})
	return pl.starts
}

// holds tells whether an address lies in an image.
func holds(img *abp.Image, addr uint64) bool {
	return img != nil && slices.ContainsFunc(img.Segments, func(s abp.Segment) bool { return addr >= s.Start && addr < s.End })
}

// each calls f for the images that hold an address, the last in the order of addresses first.
func (pl *places) each(addr uint64, f func(img *abp.Image)) {
	pl.grow()
	n := sort.Search(len(pl.segments), func(i int) bool { return pl.segments[i].lo > addr })
	for ; n > 0 && pl.segments[n-1].reach > addr; n-- {
		if addr < pl.segments[n-1].hi {
			f(pl.segments[n-1].image)
		}
	}
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
	return describeIn(pl.imageAt(addr), addr)
}

// describeCode is describe for an instruction.
func (pl *places) describeCode(c Code) string {
	if f := pl.functionIn(c.Image, c.Addr); f != nil {
		return withOffset(f.Display(), c.Addr-f.Addr)
	}
	return describeIn(c.Image, c.Addr)
}

// describeFrom is describe for where a branch in an image (by number, 0 none) leads to.
func (pl *places) describeFrom(from uint32, addr uint64) string {
	if own := pl.proc.Image(from); holds(own, addr) {
		return pl.describeCode(Code{addr, own})
	}
	s, known := pl.startsOf()[addr]
	switch {
	case s.mixed:
		return "" // nothing says which: rather no name than another one's
	case known:
		return pl.describeCode(Code{addr, s.image})
	}
	return pl.describe(addr)
}

// describeDuring is describe at a time.
func (pl *places) describeDuring(addr, tsc uint64) string {
	if img := pl.imageDuring(addr, tsc); img != nil {
		return pl.describeCode(Code{addr, img})
	}
	return pl.describe(addr)
}

// describeIn names an address in an image by that.
func describeIn(img *abp.Image, addr uint64) string {
	if img == nil {
		return ""
	}
	return withOffset(imageName(img), addr-img.Base)
}

// returnAddress names a return address, at a time, by the function of the call in front of it, which may be the last
// instruction of a function that does not return.
func (pl *places) returnAddress(addr, tsc uint64) string {
	f := pl.functionAt(addr - 1)
	if img := pl.imageDuring(addr-1, tsc); img != nil {
		f = pl.functionIn(img, addr-1)
	}
	if f != nil {
		return withOffset(f.Display(), addr-f.Addr)
	}
	return ""
}

// withOffset writes a place as debuggers do.
func withOffset(name string, off uint64) string {
	name = Printable(name)
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
