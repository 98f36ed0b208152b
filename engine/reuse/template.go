package reuse

import (
	"iter"
	"slices"
	"sort"

	"alleria/engine/codecache"
	"alleria/internal/records"
)

// Template is the translations of a process that is gone, for the next one that executes the same program. What belongs to one image
// is kept apart, since images lie elsewhere each time, and each on its own: translations become known as their
// image is mapped.
//
// Nothing in a template changes; processes take copies. The first that takes over one from disk has its pools themselves, since most runs have no other process of the program: the
// next one reads the file again.
type Template struct {
	codecache.Kept
	mapped []*codecache.Region // whose memory the code lies in; none where it was read from disk
	facts  *records.Blocks     // of recorded blocks; nil: there are none
	names  Names               // what the numbers in them mean; nil where nothing was asked about recording
	images []imageCode
	exe    FileVersion // the program
	bytes  int
	useful int  // blocks of images that other processes may have
	used   int  // when it was last taken over, by a count of all
	isNew  bool // it is not on disk
	fresh  bool // it was just read: the first process that takes it over has its pools, without a copy
	spent  bool // a process has them. Only its other lists are good any more
	lacked int  // blocks that processes with it have translated beyond it, of which each was too few for another template; see Keep
}

// imageCode is what of a template belongs to one image.
type imageCode struct {
	Image
	blocks []uint32 // by number
	exits  []uint32 // that lead into it
	sides  []uint32 // lazy side exits of its blocks, written when they are taken
	facts  []uint32 // of its blocks, by number
	index  []codecache.IndexEntry
	shared *codecache.SharedIndex // of index; nil: nobody has taken the image over yet
	checks []codecache.CheckAt
	bare   []codecache.CheckKey // target checks without a block
	relocs []codecache.Reloc
	pages  []uint64 // that blocks were translated from
	// what counts of entries are of that its code makes
	entered []codecache.Entered
	unused  uint32 // how many processes before left it as they found it
	// of blocks and relocs, which would be gone through by each process: some block is of a variant that records, and regions with displacements, by number
	planned bool // its names have to be the same: some block is of a variant that records, or blocks go by where functions begin
	near    [4]bool
}

// WorthKeeping is how many blocks a process must have for its translations to be kept: what has less is translated as fast.
const WorthKeeping = 256

// How much more than its predecessor a template must have to take its place, one in so many: who loads other modules each time adds little by little to what is
// carried on. It is more where a process leaves more that nobody can use, as made code, than is added: that would grow with each run.
const (
	growth      = 32
	growthLoose = 8
)

// outgrown tells whether processes that had too few blocks beyond a template for another one have translated as many together as make one, with this one's.
func (t *Template) outgrown(gain int) bool {
	if t.lacked < t.useful/growth {
		t.lacked += max(gain, 0)
	}
	return gain > 0 && t.lacked >= t.useful/growth
}

// notOutgrown notes that a process could leave nothing better, so that not each one after it tries; t may be nil.
func (t *Template) notOutgrown() {
	if t != nil {
		t.lacked = 0
	}
}

// betterThan tells whether a template is to take another's place. What the other one has of files that are another version by now is of use to nobody: counted,
// it would have a library's new version translated anew at each start, since that has hardly more blocks than the old one.
func (t *Template) betterThan(old *Template) bool {
	gain, by := t.useful-old.useful+t.outdated(old), growth
	if (t.Blocks.N-t.useful)-(old.Blocks.N-old.useful) > gain {
		by = growthLoose
	}
	return gain > 0 && (gain >= old.useful/by || by == growth && old.lacked >= old.useful/growth)
}

// outdated is how many blocks another template has of files that this one has as another version.
func (t *Template) outdated(old *Template) int {
	n := 0
	for i := range old.images {
		o := &old.images[i]
		if o.id.known() && slices.ContainsFunc(t.images, func(m imageCode) bool { return m.id.known() && m.samePiece(&o.Image) && !m.same(&o.Image) }) {
			n += len(o.blocks)
		}
	}
	return n
}

// NewTemplate makes one of the translations of a process that is gone; nil where some cannot be told to belong to an
// image or to none. pages are those of code that they were made from, names what the numbers of images and functions in facts mean. from is what the process
// has taken over itself, nil: nothing. The cache's regions are held by the template from then on.
//
// Translations of code that the program has made stay where they lie, and nothing leads to them: the next process makes its own. Refused: to close
// the gaps, for which all code behind them would be moved, and every jump into it. Where they are most of all there is no template.
func NewTemplate(cache *codecache.Cache, w *Written, pages iter.Seq[uint64], names Names, from *Taken) *Template {
	if Useful(cache) < cache.Loose {
		return nil
	}
	cache.Shut()
	gone := cache.Gone()
	t := &Template{Kept: cache.Keep(w.Literals), names: names}
	w.settle()
	for _, im := range w.images {
		t.images = append(t.images, imageCode{Image: im})
	}
	sort.Slice(t.images, func(i, j int) bool { return t.images[i].Start < t.images[j].Start })
	left := from.left()
	reaching := t.forgetChanged(cache, w, left.blocks)
	if !t.sortBlocks(left.blocks) || !t.sortExits(left.exits) || !t.sortRecorded(cache, left) || !t.sortEntered(w) {
		return nil
	}
	t.sortCode(cache, w, pages, from)
	t.withoutMade(cache, w, reaching)
	t.withoutGone(gone)
	t.carry(cache, from)
	if t.measure(); t.useful == 0 {
		return nil
	}
	t.mapped = cache.Regions
	for _, a := range t.mapped {
		a.Hold()
	}
	return t
}

// Useful is how many of a cache's blocks are of use to other processes.
func Useful(cache *codecache.Cache) int { return cache.BlockPool.N - cache.Loose }

// sortCode puts to their images what is known by address of the code, and what refers to the application in it.
func (t *Template) sortCode(cache *codecache.Cache, w *Written, pages iter.Seq[uint64], from *Taken) {
	for i := range t.images { // about as long as they will be: growing them left 15 MB behind, of a compiler's 12
		im := &t.images[i]
		im.index = make([]codecache.IndexEntry, 0, len(im.blocks)+len(im.exits))
	}
	t.sortTaken(from)
	cache.Settle()
	for v := range codecache.KeptVariants {
		for s := range cache.Index[v].Slots() {
			if app, ok := cache.AddrOf(s.Ref); ok && s.Ref != codecache.Forgotten {
				if im := t.knownAt(app); im != nil {
					im.index = append(im.index, codecache.IndexEntry{App: app, Ref: s.Ref, Variant: v})
				}
			}
		}
	}
	for _, h := range w.Checks.All() {
		if im := t.knownAt(h.App); im != nil && h.Variant < codecache.KeptVariants {
			im.checks = append(im.checks, h)
		}
	}
	for k := range cache.BareChecks {
		if im := t.knownAt(k.App); im != nil && k.Variant < codecache.KeptVariants {
			im.bare = append(im.bare, k)
		}
	}
	for _, r := range w.Relocs.All() {
		if im := t.knownAt(r.App); im != nil {
			im.relocs = append(im.relocs, r)
		}
	}
	for page := range pages {
		if im := t.knownAt(page); im != nil {
			im.pages = append(im.pages, page)
		}
	}
}

// sortEntered puts to their images what counts of entries are of, but for code that lies in none that others know: nothing leads to that. A branch that leads nowhere, as a call of an absent weak function, enters
// none. It is false where one leads from one image to another by itself.
func (t *Template) sortEntered(w *Written) bool {
	t.Entered = w.EnteredHead
	for _, e := range w.Entered {
		im := t.knownAt(e.From)
		if im == nil {
			continue
		}
		switch {
		case e.To >= im.Start && e.To < im.End:
			im.entered = append(im.entered, e)
		case t.imageAt(e.To) != nil:
			return false
		}
	}
	return true
}

// sortTaken puts to their images what a process has taken over that refers to them, which it has not written down again.
func (t *Template) sortTaken(from *Taken) {
	if from == nil {
		return
	}
	for i := range from.images {
		old := &from.images[i]
		shift := from.shift[i]
		im := t.knownAt(old.Start + shift)
		if !from.done[i] || im == nil {
			continue
		}
		im.checks = make([]codecache.CheckAt, 0, len(old.checks)+len(old.checks)/growth)
		for _, h := range old.checks {
			h.App += shift
			im.checks = append(im.checks, h)
		}
		im.relocs = make([]codecache.Reloc, 0, len(old.relocs)+len(old.relocs)/growth)
		for _, r := range old.relocs {
			r.App += shift
			im.relocs = append(im.relocs, r)
		}
	}
}

// measure adds up what the template takes, and what of it is of use.
func (t *Template) measure() {
	for i := range t.images {
		if im := &t.images[i]; im.id.known() {
			t.useful += len(im.blocks)
			t.lookThrough(im)
		}
	}
	for i := range t.Regions {
		t.bytes += len(t.Regions[i].Hot) + len(t.Regions[i].Far)
	}
	t.bytes += t.Blocks.N*blockBytes + t.Exits.N*exitBytes
	if t.facts != nil {
		t.bytes += t.facts.Bytes() + t.SideExits.N*sideBytes
	}
}

// lookThrough notes of an image what each process that takes it over asks for.
func (t *Template) lookThrough(im *imageCode) {
	im.planned = t.names != nil && (t.Entered.On != 0 || slices.ContainsFunc(im.blocks, func(n uint32) bool { return t.Blocks.At(int(n)).Variant.Records() }))
	im.near = [4]bool{}
	for i := range im.relocs {
		if im.relocs[i].Kind == codecache.RelocDisp {
			im.near[im.relocs[i].Region] = true
		}
	}
}

// About what a block and an exit take in tables, for a template's size.
const (
	blockBytes = 160
	exitBytes  = 32
	sideBytes  = 24
)

// sortBlocks puts the blocks' numbers to their images, but for those of code that the program has made, and of variants that are not kept; false where another lies in none.
func (t *Template) sortBlocks(left numbers) bool {
	for n := range t.Blocks.N {
		if left.has(n) {
			continue
		}
		b := t.Blocks.At(n)
		im := t.imageAt(b.App)
		switch {
		case b.Is(codecache.HasUses | codecache.HasCounts):
			return false
		case b.OfMadeCode():
		case im == nil:
			return false
		case b.Variant >= codecache.KeptVariants: // nobody finds it: what vfork's children have translated is not of use, and each one's is not more
		default:
			im.blocks = append(im.blocks, uint32(n))
		}
	}
	return true
}

// sortExits puts the exits' numbers to the images that they lead to. One that leads to no image at an address that moves with none, as calls of
// absent weak functions in programs at fixed addresses, stays as it is, and so does one of code that the program has made. A file's code that leads to such code is
// refused: it may go on there without asking.
func (t *Template) sortExits(left numbers) bool {
	for n := range t.Exits.N {
		if left.has(n) {
			continue
		}
		e := t.Exits.At(n)
		im := t.imageAt(e.Target)
		switch {
		case im != nil && im.id.known():
			im.exits = append(im.exits, uint32(n))
		case e.OfMadeCode() || im == nil && e.Target < 1<<32:
		case im != nil && (im.kernels || im.id.inode != 0):
			im.exits = append(im.exits, uint32(n))
		default:
			return false
		}
	}
	return true
}

// sortRecorded puts to their images what there is of recorded blocks besides, but for those of code that the program has made: they alone have facts and lie in no
// image (sortBlocks). It is false where a side exit of another leads to none.
func (t *Template) sortRecorded(cache *codecache.Cache, left leftovers) bool {
	if cache.Facts.Last() == 0 {
		return true
	}
	t.facts = new(records.Blocks)
	t.facts.Share(&cache.Facts)
	t.facts.ShareForms()
	for id := uint32(1); id <= t.facts.Last(); id++ {
		if left.facts.has(int(id)) || t.facts.IsPart(id) {
			continue
		}
		if im := t.imageAt(t.facts.Addr(id)); im != nil {
			im.facts = append(im.facts, id)
		}
	}
	for n := range t.SideExits.N {
		if left.sides.has(n) {
			continue
		}
		s := t.SideExits.At(n)
		im := t.imageAt(s.Target)
		switch {
		case im != nil:
			im.sides = append(im.sides, uint32(n))
		case !t.Blocks.At(int(s.Block)).OfMadeCode():
			return false
		}
	}
	return true
}

// imageAt is the image that an address lies in; nil where it lies in none.
func (t *Template) imageAt(addr uint64) *imageCode {
	i := sort.Search(len(t.images), func(i int) bool { return t.images[i].End > addr })
	if i == len(t.images) || t.images[i].Start > addr {
		return nil
	}
	return &t.images[i]
}

// knownAt is imageAt where others may have the image.
func (t *Template) knownAt(addr uint64) *imageCode {
	if im := t.imageAt(addr); im != nil && im.id.known() {
		return im
	}
	return nil
}

// close gives a template's memory back.
func (t *Template) close() {
	for _, a := range t.mapped {
		a.Unmap()
	}
}

// Name is what a template is kept under: a program's path, and what blocks record in it; empty: nothing.
type Name struct{ Program, Records string }

// Templates are those of a tree's programs.
type Templates struct {
	Off    bool
	Disk   *Disk // nil: nothing is kept between runs
	Few    bool  // also of processes with less than WorthKeeping blocks
	Rarely bool  // only where one process has enough more than the one before; see Keep
	of     map[Name]*Template
	looked map[Name]bool // that were looked for on disk
	bytes  int
	taken  int
}

// mostTemplates bounds the memory of all templates together.
const mostTemplates = 192 << 20

// Written is for a process that begins.
func (ts *Templates) Written(of *codecache.Written, off bool) Written {
	of.Off = off || ts.Off
	return Written{Written: of, disk: ts.Disk}
}

// least is how many blocks of use to others a template must have.
func (ts *Templates) least() int {
	if ts.Few {
		return 1
	}
	return WorthKeeping
}

// Keep makes a template of a process that is gone and has so many blocks of use to others, in place of the program's where there is one of less, or of the program as it
// was before. Where it has hardly more, what it has translated beyond the template counts with that of the processes before it: each source file has a compiler
// execute some code that none before had, a thirtieth of what it has translated, and all of them translated it anew. To make a template takes as long as
// to translate some thousand blocks, so that no more time goes into keeping than goes into what is not kept.
func (ts *Templates) Keep(name Name, exe FileVersion, blocks int, from func() *Template) {
	if ts.Off || blocks < ts.least() {
		return
	}
	old := ts.find(name, exe)
	if old != nil && blocks < old.useful+old.useful/growth && (ts.Rarely || !old.outgrown(blocks-old.useful)) {
		return
	}
	t := from()
	if t == nil {
		old.notOutgrown()
		return
	}
	if old != nil && t.Blocks.N > 2*t.useful && t.outdated(old) > 0 { // old versions would be most of it: the next process begins with nothing
		t.close()
		ts.drop(name)
		ts.Disk.drop(name)
		return
	}
	if t.useful < ts.least() || old != nil && !t.betterThan(old) { // the rest is of images that nobody else has
		old.notOutgrown()
		t.close()
		return
	}
	t.exe, t.isNew = exe, true
	if old != nil {
		ts.drop(name)
	}
	ts.add(name, t)
}

// add adds a template, for which the oldest go where all are too large.
func (ts *Templates) add(name Name, t *Template) {
	if ts.of == nil {
		ts.of = make(map[Name]*Template)
	}
	ts.taken++
	t.used = ts.taken
	ts.of[name] = t
	for ts.bytes += t.bytes; ts.bytes > mostTemplates; {
		n := ts.oldest()
		ts.Disk.store(n, ts.of[n])
		ts.drop(n)
	}
}

// find is the template of a program, which is dropped where the program is another by now.
func (ts *Templates) find(name Name, exe FileVersion) *Template {
	t := ts.of[name]
	if t != nil && t.exe != exe {
		ts.drop(name)
		return nil
	}
	return t
}

// Find is the template of a program, from disk if this run has none; nil if there is none.
func (ts *Templates) Find(name Name, exe FileVersion) *Template {
	if ts.Off {
		return nil
	}
	t := ts.find(name, exe)
	switch {
	case t != nil && t.spent:
		ts.drop(name)
		if t = ts.Disk.load(name, exe); t != nil {
			ts.add(name, t)
		}
	case t == nil && !ts.looked[name] && ts.Disk != nil:
		if ts.looked == nil {
			ts.looked = make(map[Name]bool)
		}
		ts.looked[name] = true
		if t = ts.Disk.load(name, exe); t != nil {
			t.fresh = true
			ts.add(name, t)
		}
	}
	if t != nil {
		ts.taken++
		t.used = ts.taken
	}
	return t
}

// oldest is the program whose template was not used for longest.
func (ts *Templates) oldest() (name Name) {
	for k, t := range ts.of {
		if o := ts.of[name]; o == nil || t.used < o.used {
			name = k
		}
	}
	return name
}

// drop forgets a template.
func (ts *Templates) drop(name Name) {
	t := ts.of[name]
	ts.bytes -= t.bytes
	delete(ts.of, name)
	t.close()
}

// Close forgets all, which stay on disk if anything does.
func (ts *Templates) Close() {
	ts.Disk.keepFirst()
	for name, t := range ts.of {
		ts.Disk.store(name, t)
		ts.drop(name)
	}
}
