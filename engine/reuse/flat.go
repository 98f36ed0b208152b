package reuse

import (
	"encoding/binary"
	"errors"
	"slices"

	"alleria/engine/codecache"
	"alleria/internal/layout"
	"alleria/internal/records"
)

// A template on disk is its lists one behind the other, each behind its length and the size of an element, as they lie in memory
// (flat_unsafe.go): twenty thousand blocks are there with one read. Only the binary that wrote a file reads it, see Disk.
//
// Lists are used where they were read. What is in them is checked once (fits), so that a file with a right checksum and wrong
// numbers is no template.

// flattener puts lists into parts of a file.
type flattener struct{ parts [][]byte }

// put adds a list.
func put[T any](f *flattener, s []T) {
	b := bytesOf(s)
	var head [16]byte
	binary.LittleEndian.PutUint64(head[:], uint64(len(s)))
	binary.LittleEndian.PutUint64(head[8:], uint64(sizeOf[T]()))
	f.parts = append(f.parts, head[:], b, make([]byte, -len(b)&7))
}

// putPool adds a pool.
func putPool[T any](f *flattener, l *codecache.Pool[T]) {
	put(f, []uint64{uint64(l.N)})
	pieces := l.Pieces()
	all := 0
	for _, p := range pieces {
		all += len(p)
	}
	put(f, []T(nil))
	binary.LittleEndian.PutUint64(f.parts[len(f.parts)-3], uint64(all))
	for _, p := range pieces {
		f.parts = append(f.parts, bytesOf(p))
	}
	f.parts = append(f.parts, make([]byte, -(all*sizeOf[T]())&7))
}

// unflattener takes lists out of a file. Once one is not there, all further ones are empty.
type unflattener struct {
	b   []byte
	bad bool
}

// take is the next list, in the file's memory.
func take[T any](u *unflattener) []T {
	if u.bad || len(u.b) < 16 {
		u.bad = true
		return nil
	}
	n, size := binary.LittleEndian.Uint64(u.b), binary.LittleEndian.Uint64(u.b[8:])
	if size != uint64(sizeOf[T]()) || n > uint64(len(u.b)-16)/size {
		u.bad = true
		return nil
	}
	end := 16 + int(n*size)
	s := valuesOf[T](u.b[16:end:end])
	u.b = u.b[min(len(u.b), (end+7)&^7):]
	return s
}

// takeOne is a list of one.
func takeOne[T any](u *unflattener) (v T) {
	if s := take[T](u); len(s) == 1 {
		return s[0]
	}
	u.bad = true
	return v
}

// takePool is a pool.
func takePool[T any](u *unflattener) codecache.Pool[T] {
	n := takeOne[uint64](u)
	l, ok := codecache.PoolOf(take[T](u), int(n))
	u.bad = u.bad || !ok
	return l
}

// counts is how many lists there are of a kind.
type counts struct{ regions, pieces, facts, images uint64 }

// flatten is the template as parts of a file; it is good for as long as the template is. names is what the numbers in facts mean, in words.
func (t *Template) flatten(names []byte) [][]byte {
	f, facts := new(flattener), (&records.Blocks{}).Keep()
	if t.facts != nil {
		facts = t.facts.Keep()
	}
	put(f, []counts{{uint64(len(t.Regions)), uint64(len(t.PosPieces)), uint64(len(facts.Facts)), uint64(len(t.images))}})
	put(f, []FileVersion{t.exe})
	for i := range t.Regions {
		a := &t.Regions[i]
		put(f, []codecache.RegionAt{a.RegionAt})
		put(f, a.Hot)
		put(f, a.Far)
		putPool(f, &a.Blocks)
	}
	putPool(f, &t.Blocks)
	putPool(f, &t.Exits)
	put(f, t.Rare)
	putPool(f, &t.Counters)
	for _, p := range t.PosPieces {
		put(f, p)
	}
	put(f, t.Literals)
	put(f, []codecache.EnteredHead{t.Entered})
	t.putRecorded(f, facts)
	put(f, names)
	for i := range t.images {
		im := &t.images[i]
		put(f, []Image{im.Image})
		put(f, []uint32{im.unused})
		put(f, im.blocks)
		put(f, im.exits)
		put(f, im.sides)
		put(f, im.facts)
		put(f, im.index)
		put(f, im.checks)
		put(f, im.bare)
		put(f, im.relocs)
		put(f, im.pages)
		put(f, im.entered)
	}
	return f.parts
}

// putRecorded adds what there is of recorded blocks besides.
func (t *Template) putRecorded(f *flattener, facts records.Kept) {
	for _, p := range facts.Facts {
		put(f, p)
	}
	put(f, facts.Rows)
	put(f, facts.Rates)
	put(f, []records.Highest{facts.High})
	putPool(f, &t.SideExits)
	odds := codecache.FlattenOdds(t.Odds)
	put(f, odds.Each)
	put(f, odds.Fixes)
	put(f, odds.Stretch)
	put(f, odds.Pointers)
	put(f, odds.Parts)
}

// errTemplate means that a file has no template in it.
var errTemplate = errors.New("no translations that fit together")

// unflatten is flatten's inverse. The template is in the file's memory. nameOf finds what the numbers in facts mean; checkFacts is Disk's.
func unflatten(file []byte, nameOf NameOf, checkFacts bool) (*Template, error) {
	if !aligned(file) {
		file = append(make([]byte, 0, len(file)), file...)
	}
	u, t := &unflattener{b: file}, new(Template)
	n := takeOne[counts](u)
	t.exe = takeOne[FileVersion](u)
	for range atMost(u, n.regions) {
		t.Regions = append(t.Regions, codecache.RegionCode{RegionAt: takeOne[codecache.RegionAt](u), Hot: take[byte](u), Far: take[byte](u), Blocks: takePool[uint32](u)})
	}
	t.Blocks, t.Exits = takePool[codecache.Block](u), takePool[codecache.ExitWords](u)
	t.Rare, t.Counters = take[codecache.KeptRare](u), takePool[uint32](u)
	for range atMost(u, n.pieces) {
		t.PosPieces = append(t.PosPieces, take[byte](u))
	}
	t.Literals = take[codecache.LiteralAt](u)
	t.Entered = takeOne[codecache.EnteredHead](u)
	high := t.takeRecorded(u, n.facts, checkFacts)
	names := take[byte](u)
	for range atMost(u, n.images) {
		t.images = append(t.images, imageCode{Image: takeOne[Image](u), unused: takeOne[uint32](u), blocks: take[uint32](u), exits: take[uint32](u), sides: take[uint32](u), facts: take[uint32](u), index: take[codecache.IndexEntry](u),
			checks: take[codecache.CheckAt](u), bare: take[codecache.CheckKey](u), relocs: take[codecache.Reloc](u), pages: take[uint64](u), entered: take[codecache.Entered](u)})
	}
	if u.bad || !t.fits() {
		return nil, errTemplate
	}
	if t.facts.Last() == 0 {
		t.facts = nil
	}
	if len(names) > 0 {
		t.names = nameOf(names, high)
	}
	if t.names == nil && (len(names) > 0 || t.facts != nil || t.Entered.On != 0) {
		return nil, errTemplate
	}
	t.measure()
	return t, nil
}

// takeRecorded takes what putRecorded added, and returns the highest numbers in facts.
func (t *Template) takeRecorded(u *unflattener, pieces uint64, all bool) (high records.Highest) {
	var facts records.Kept
	for range atMost(u, pieces) {
		facts.Facts = append(facts.Facts, take[byte](u))
	}
	facts.Rows, facts.Rates, facts.High = take[records.Row](u), take[uint32](u), takeOne[records.Highest](u)
	t.SideExits = takePool[codecache.LazySideExit](u)
	odds, ok := codecache.FlatOdds{Each: take[codecache.OddHead](u), Fixes: take[codecache.Fixup](u), Stretch: take[codecache.Stretch](u),
		Pointers: take[codecache.Pointer](u), Parts: take[codecache.OddPart](u)}.Odds()
	t.Odds = odds
	if !u.bad {
		t.facts, high = records.FromKept(facts, layout.MaxRecordWords, all)
	}
	u.bad = u.bad || !ok || t.facts == nil
	return high
}

// atMost bounds how often a list is looked for by what there is.
func atMost(u *unflattener, n uint64) uint64 { return min(n, uint64(len(u.b))/16) }

// fits tells whether all numbers in a template are of something that it has.
func (t *Template) fits() bool {
	if !t.Fits(t.facts) {
		return false
	}
	checks, made := 0, t.hasMadeCode()
	for i := range t.images {
		if !t.fitsImage(&t.images[i], made) {
			return false
		}
		checks += len(t.images[i].checks)
	}
	return t.HasRoom(checks)
}

// hasMadeCode tells whether a block is of code that a program has made. In most programs none is, and it need not be looked at for each entry of the index,
// which are in an order that has each lie elsewhere: 42,000 take a millisecond.
func (t *Template) hasMadeCode() bool {
	for n := range t.Blocks.N {
		if t.Blocks.At(n).OfMadeCode() {
			return true
		}
	}
	return false
}

// fitsImage is fits of what belongs to an image; made: there are blocks of code that a program has made, which none may lead to.
func (t *Template) fitsImage(im *imageCode, made bool) bool {
	if im.Start >= im.End || !t.fitsIndex(im, made) || !t.FitsEntered(im.entered) {
		return false
	}
	if !below(im.blocks, t.Blocks.N) || !below(im.exits, t.Exits.N) || !below(im.sides, t.SideExits.N) || !below(im.facts, int(t.facts.Last())+1) {
		return false
	}
	if made && slices.ContainsFunc(im.blocks, func(n uint32) bool { return t.Blocks.At(int(n)).OfMadeCode() }) {
		return false
	}
	for _, c := range im.checks {
		if c.Variant >= codecache.KeptVariants || !t.InCode(c.Region, c.Code, 1) || !t.InCode(c.Region, c.Miss, 4) {
			return false
		}
	}
	for _, r := range im.relocs {
		size := 8
		if r.Kind == codecache.RelocDisp {
			size = 4
		}
		if r.Kind > codecache.RelocNeg || !t.InCode(r.Region, r.At, size) {
			return false
		}
	}
	return true
}

// below tells whether all numbers are below one.
func below(numbers []uint32, n int) bool {
	for _, k := range numbers {
		if int64(k) >= int64(n) {
			return false
		}
	}
	return true
}

// fitsIndex is fitsImage of what is known by address.
func (t *Template) fitsIndex(im *imageCode, made bool) bool {
	for _, e := range im.index {
		if e.Variant >= codecache.KeptVariants || !t.Has(e.Ref) || made && t.BlockOf(e.Ref).OfMadeCode() {
			return false
		}
	}
	for _, k := range im.bare {
		if k.Variant >= codecache.KeptVariants {
			return false
		}
	}
	for _, page := range im.pages {
		if page%4096 != 0 || page < im.Start || page >= im.End {
			return false
		}
	}
	return true
}
