package reuse

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"alleria/engine/codecache"
	"alleria/internal/diskcache"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// regionSize is that of the test's regions.
const regionSize = 4 << 20

// testCache is a cache with one region, at an address.
func testCache(t testing.TB, base uint64) *codecache.Cache {
	t.Helper()
	file, err := sys.Memfd("reuse-test", regionSize)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	a, err := codecache.NewRegion(file, 0, regionSize, base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Unmap)
	var c codecache.Cache
	c.Init(false, func() { t.Error("full") })
	c.Regions = []*codecache.Region{a}
	return &c
}

// testImage is where the test's image lies in the template; it lies elsewhere in who takes that over.
func testImage(start uint64) Image {
	return Image{Start: start, End: start + 1<<20, id: FileVersion{inode: 7, size: 1 << 20}, content: 9}
}

// kernelImage is where there is code that lies in no file.
const kernelImage = 0x7fff_0000_0000

// translated is a template with blocks that lie one behind the other, each with an exit, references, and a target check.
func translated(t testing.TB) *Template {
	const at = 0x7f00_0000_0000
	c, a := testCache(t, 0x7eff_c000_0000), (*codecache.Region)(nil)
	w := Written{Written: &c.Written, images: []Image{testImage(at), {Start: kernelImage, End: kernelImage + 4096}}}
	a = c.Regions[0]
	var pages []uint64
	for i := range uint64(2 * WorthKeeping) {
		b := c.NewBlock()
		b.App, b.Code, b.Size, b.Insns = at+16*i, a.Base+uint64(a.Next), 64, 2
		switch i {
		case 100:
			b.App = kernelImage + 16
		case 101:
			b.Variant = codecache.Aside // a vfork child's
		}
		b.PosAt = c.PackPositions([]codecache.Position{{Len: 4}, {Start: 4, Exec: 4, Len: 5}})
		if i%3 == 0 {
			record(c, b, i)
		}
		c.NewExit(codecache.Exit{Site: b.Code + 40, Target: at + 1<<19 + i, Region: a})
		c.Enter(b)
		a.Blocks.Append(b.Num)
		c.LinkEntered()
		w.Relocs.Append(codecache.Reloc{App: b.App, At: uint32(a.Next + 8), Kind: codecache.RelocKind(i % 3)})
		if i%4 == 0 {
			w.Checks.Append(codecache.CheckAt{App: b.App, Code: uint32(a.Next), Miss: uint32(a.Next + 20)})
			b.Note(codecache.Checked)
		}
		w.Literals = append(w.Literals, codecache.LiteralAt{At: uint32(a.Next + 48)})
		a.Next += 64
		if b.App%4096 == 0 {
			pages = append(pages, b.App)
		}
	}
	for n := range uint32(9) {
		c.Counters.Append(n)
	}
	w.EnteredHead = codecache.EnteredHead{On: 1, Sites: 3, Hashes: 4}
	w.Entered = entered(at)
	tmpl := NewTemplate(c, &w, slices.Values(pages), testNames("names"), nil)
	if tmpl == nil {
		t.Fatal("no template")
	}
	tmpl.exe, tmpl.isNew = FileVersion{inode: 5, size: 4}, true
	return tmpl
}

// entered is what counts of entries in an image are of.
func entered(at uint64) []codecache.Entered {
	return []codecache.Entered{{Kind: codecache.OwnJump, N: 8, From: at + 16, To: at + 16}, {Kind: codecache.DirectCall, N: 5, From: at + 84, To: at + 160}, {Kind: codecache.DirectJump, N: 2, From: at + 36, To: at + 48},
		{Kind: codecache.Indirect, N: 2, At: 1<<16 - 1, From: at + 52, To: at + 52, Jump: 1}, {Kind: codecache.HashPlace, N: 2, At: 8192, From: at + 52, To: at + 52}, {Kind: codecache.Unhashed, N: 0, From: at + 72, To: at + 72},
		{Kind: codecache.Led, N: 1, From: at + 64, To: at + 64}}
}

// record makes a block one that records, with a side exit, and oddities at times.
func record(c *codecache.Cache, b *codecache.Block, i uint64) {
	b.Variant = codecache.Record
	b.Rec = codecache.Recording{Words: 2, RA: 3, RB: 5, HasB: true}
	ins := []records.Ins{{Len: 4, Flags: records.InsRecorded, Func: 7}, {Off: 4, Len: 5, Func: 8}}
	ins[0].Accesses = []records.Access{{Size: 8, AddrBits: 64, Word: 1, Value: records.NoWord, AuxWord: records.NoWord, IndexWord: records.NoWord}}
	b.Rec.ID = c.Facts.Add(&records.Block{Words: 2, Addr: b.App, Image: 3, Code: make([]byte, 9), Ins: ins, TimeWord: records.NoWord, BranchWord: 0, Target: b.App + 99})
	side, _ := c.SideExits.Add()
	*side = codecache.LazySideExit{Target: b.App + 70, Site: uint32(c.Regions[0].Next + 30), Block: b.Num, Words: 1, Ins: 1}
	if i%2 == 0 {
		c.NumberSideExit(side, b)
	}
	if i%5 == 0 {
		o := c.Oddly(&b.Rec)
		o.Note(codecache.Fixup{From: 1, To: 3, Reg: 4, Word: 0x30})
		o.Stretch(codecache.Stretch{From: 2, To: 8, Again: true})
		o.Loop = &codecache.Loop{Part: b.Rec.ID, Bits: 64, Pointers: []codecache.Pointer{{Reg: 7, Before: 0, Now: 1}}}
		o.Parts = map[int]uint32{1: b.Rec.ID, 0: b.Rec.ID}
	}
	if i%9 == 0 {
		c.Facts.SetSampleRates(b.Rec.ID, []uint32{0, 10})
	}
}

// testNames is what numbers mean in these tests, which is what was said of them.
type testNames string

func (n testNames) Words() []byte {
	if n == "" {
		return nil
	}
	return []byte(n)
}

// namesOf is testNames of words.
func namesOf(words []byte, high records.Highest) Names {
	if len(words) == 0 || high != (records.Highest{Image: 3, Func: 8}) {
		return nil
	}
	return testNames(words)
}

// nobody is a process of which nothing is asked.
type nobody struct {
	pages   []uint64
	entered []codecache.Entered
}

func (*nobody) Plainly() bool                { return true }
func (*nobody) Holds(*Image) bool            { return true }
func (*nobody) TakeNames(Names, uint64) bool { return true }
func (n *nobody) TakeEntered(list []codecache.Entered, shift uint64) {
	for _, e := range list {
		e.From += shift
		e.To += shift
		n.entered = append(n.entered, e)
	}
}
func (n *nobody) MadeFrom(page uint64)              { n.pages = append(n.pages, page) }
func (*nobody) Publish([]codecache.CheckAt, uint64) {}

// takenOver is what a process elsewhere has of a template.
func takenOver(t testing.TB, tmpl *Template) (*codecache.Cache, *Taken, *nobody) {
	return takenWith(t, tmpl, false)
}

// takenWith is takenOver with the facts copied always, or not.
func takenWith(t testing.TB, tmpl *Template, copied bool) (*codecache.Cache, *Taken, *nobody) {
	c, host := testCache(t, 0x7eff_d000_0000), new(nobody)
	w := Written{Written: &c.Written}
	for i := range tmpl.images {
		im := tmpl.images[i].Image
		im.Start, im.End = im.Start+1<<24, im.End+1<<24
		w.images = append(w.images, im)
	}
	f := TakeOver(tmpl, c, &w, host, How{CopyFacts: copied})
	if f != nil {
		f.TakeImages()
	}
	return c, f, host
}

// fileOf is a template as it is written. Its facts lie in memory that goes with it.
func fileOf(tmpl *Template, names []byte) []byte {
	b := bytes.Join(tmpl.flatten(names), nil)
	runtime.KeepAlive(tmpl)
	return b
}

// TestDisplacementsInOneLine: a branch that would have to be patched across a cache line while threads run makes no template.
func TestDisplacementsInOneLine(t *testing.T) {
	for by := range uint32(64) {
		tmpl := translated(t)
		if tmpl.SideExits.N == 0 {
			t.Fatal("no side exit")
		}
		side := tmpl.SideExits.At(0)
		side.Site = side.Site&^63 + by
		_, err := unflatten(fileOf(tmpl, tmpl.names.Words()), namesOf, false)
		if crosses := by > 60; (err != nil) != crosses {
			t.Errorf("%d bytes into a line: %v", by, err)
		}
	}
}

// TestEnteredFromDisk: what counts of entries are of moves with its image, and what names something that there is not makes no template.
func TestEnteredFromDisk(t *testing.T) {
	const at = 0x7f00_0000_0000
	tmpl := translated(t)
	read, err := unflatten(fileOf(tmpl, tmpl.names.Words()), namesOf, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, host := takenOver(t, read); !slices.Equal(host.entered, entered(at+1<<24)) || read.Entered != (codecache.EnteredHead{On: 1, Sites: 3, Hashes: 4}) {
		t.Errorf("taken over: %+v, %+v", host.entered, read.Entered)
	}
	for what, spoil := range map[string]func(h *codecache.EnteredHead, l []codecache.Entered){
		"not counted":          func(h *codecache.EnteredHead, _ []codecache.Entered) { h.On = 0 },
		"counter":              func(_ *codecache.EnteredHead, l []codecache.Entered) { l[0].N = 9 },
		"block":                func(_ *codecache.EnteredHead, l []codecache.Entered) { l[1].N = 2 * WorthKeeping },
		"counter of a jump":    func(_ *codecache.EnteredHead, l []codecache.Entered) { l[2].N = 9 },
		"branch":               func(h *codecache.EnteredHead, _ []codecache.Entered) { h.Sites = 2 },
		"hash":                 func(_ *codecache.EnteredHead, l []codecache.Entered) { l[3].At++ },
		"place outside":        func(_ *codecache.EnteredHead, l []codecache.Entered) { l[4].At = 1 << 30 },
		"place over two lines": func(_ *codecache.EnteredHead, l []codecache.Entered) { l[4].At += 61 },
		"region":               func(_ *codecache.EnteredHead, l []codecache.Entered) { l[4].Region = 2 },
		"kind":                 func(_ *codecache.EnteredHead, l []codecache.Entered) { l[5].Kind = codecache.Led + 1 },
		"too many branches":    func(h *codecache.EnteredHead, _ []codecache.Entered) { h.Sites = codecache.MostSites + 1 },
	} {
		tmpl := translated(t)
		spoil(&tmpl.Entered, tmpl.images[0].entered)
		if _, err := unflatten(fileOf(tmpl, tmpl.names.Words()), namesOf, false); err == nil {
			t.Errorf("%s: it is a template", what)
		}
	}
	c := testCache(t, 0x7eff_c000_0000)
	w := Written{Written: &c.Written, images: []Image{testImage(at), testImage(at + 1<<21)}}
	for to, want := range map[uint64]bool{at + 1<<21: false, 0: true} { // another image, and nothing
		w.Entered = []codecache.Entered{{Kind: codecache.DirectCall, From: at, To: to}}
		tmpl := &Template{images: []imageCode{{Image: w.images[0]}, {Image: w.images[1]}}}
		if got := tmpl.sortEntered(&w); got != want || len(tmpl.images[0].entered) != 0 {
			t.Errorf("a call that leads to %#x: %t, %+v", to, got, tmpl.images[0].entered)
		}
	}
}

// TestTemplateFromDisk: what is taken over of a template that was written and read is byte for byte what is taken over of itself.
func TestTemplateFromDisk(t *testing.T) {
	tmpl := translated(t)
	read, err := unflatten(fileOf(tmpl, tmpl.names.Words()), namesOf, false)
	if err != nil {
		t.Fatal(err)
	}
	a, fa, ha := takenOver(t, tmpl)
	b, fb, hb := takenOver(t, read)
	if fa.Reused != 2*WorthKeeping-2 || /* all but the kernel's and the vfork child's */ fb.Reused != fa.Reused || !slices.Equal(ha.pages, hb.pages) || len(ha.pages) == 0 {
		t.Fatalf("%d and %d blocks of pages %x and %x", fa.Reused, fb.Reused, ha.pages, hb.pages)
	}
	if read.names != tmpl.names {
		t.Errorf("the names are %v", read.names)
	}
	sameRecorded(t, a, b)
	if !bytes.Equal(a.Regions[0].Mem, b.Regions[0].Mem) {
		t.Error("the code is another")
	}
	for n := range a.BlockPool.N {
		x, y := a.BlockPool.At(n), b.BlockPool.At(n)
		if *x != *y || n != 100 && n != 101 && b.BlockOf(x.App, x.Variant) != y || a.PositionsOf(x).At != b.PositionsOf(y).At || b.BlockAt(b.Regions[0], y.Code+1) != y {
			t.Fatalf("block %d: %+v, %+v", n, x, y)
		}
	}
	if b.BlockOf(kernelImage+16, codecache.Plain) != nil || b.BlockOf(kernelImage+16+1<<24, codecache.Plain) != nil {
		t.Error("code that lies in no file is known")
	}
	if again := NewTemplate(b, fb.written, slices.Values(hb.pages), read.names, fb); again == nil || len(again.images) != 2 || len(again.images[0].blocks) != 2*WorthKeeping-2 || len(again.images[1].blocks) != 0 {
		t.Errorf("what was taken over makes no template: %+v", again)
	}
	if !reflect.DeepEqual(a.Exits.Pieces(), b.Exits.Pieces()) || !slices.Equal(a.SlotChecks[0], b.SlotChecks[0]) || read.exe != tmpl.exe || read.bytes != tmpl.bytes {
		t.Error("tables are others")
	}
}

// TestFirstHasFactsItself: the first process has the facts that were read without a copy, and they say of its blocks what copied ones do, moved and with more behind them.
func TestFirstHasFactsItself(t *testing.T) {
	tmpl := translated(t)
	var caches [2]*codecache.Cache
	for i := range caches {
		read, err := unflatten(fileOf(tmpl, tmpl.names.Words()), namesOf, false)
		if err != nil {
			t.Fatal(err)
		}
		read.fresh = true
		id, last := read.images[0].facts[0], read.facts.Last()
		was := read.facts.Addr(id)
		c, _, _ := takenWith(t, read, i == 1)
		if own := read.facts.Addr(id) != was; own != (i == 0) || c.Facts.Addr(id) != was+1<<24 {
			t.Errorf("copied %t: the facts of block %d are at %#x in the table, at %#x in the process, %#x before", i == 1, id, read.facts.Addr(id), c.Facts.Addr(id), was)
		}
		if got := c.Facts.Add(c.Facts.Get(id)); got != last+1 || read.facts.Last() != last {
			t.Errorf("copied %t: block %d is next, behind %d", i == 1, got, read.facts.Last())
		}
		caches[i] = c
	}
	sameRecorded(t, caches[0], caches[1])
}

// TestFirstHasPoolsThemselves: the first process that takes over what was just read has it without a copy, and the same as others; whatever it does with it, the next one reads the file again.
func TestFirstHasPoolsThemselves(t *testing.T) {
	disk, name := kept(t), Name{"/bin/a", "all"}
	tmpl := translated(t)
	exe := tmpl.exe
	first := Templates{Disk: disk}
	first.Keep(name, exe, tmpl.useful, func() *Template { return tmpl })
	want, fw, _ := takenOver(t, tmpl) // a copy
	disk.store(name, tmpl)

	ts := Templates{Disk: disk}
	var read int
	disk.Read = func(int) { read++ }
	for n := range 3 {
		found := ts.Find(name, exe)
		if found == nil {
			t.Fatalf("start %d finds nothing", n)
		}
		before := found.Blocks.At(0)
		got, f, _ := takenOver(t, found)
		if own := got.BlockPool.At(0) == before; own != (n == 0) || found.spent != own {
			t.Errorf("start %d has the file's own pools: %t", n, own)
		}
		if f.Reused != fw.Reused || got.BlockPool.N != want.BlockPool.N || !bytes.Equal(got.Regions[0].Mem, want.Regions[0].Mem) ||
			!reflect.DeepEqual(got.Exits.Pieces(), want.Exits.Pieces()) || !reflect.DeepEqual(got.BlockPool.Pieces(), want.BlockPool.Pieces()) || !reflect.DeepEqual(got.SideExits.Pieces(), want.SideExits.Pieces()) {
			t.Errorf("start %d has something else", n)
		}
		sameRecorded(t, want, got)
		// What the process does with it, and whether that is kept, is by what it has itself.
		for i := range got.BlockPool.N {
			*got.BlockPool.At(i) = codecache.Block{}
		}
		if b := got.NewBlock(); b.App != 0 || b.Size != 0 {
			t.Errorf("a new block is %+v", b)
		}
		ts.Keep(name, exe, tmpl.useful, func() *Template { t.Error("no more than before is kept"); return nil })
	}
	if read != 2 {
		t.Errorf("the file was read %d times, not for the first two", read)
	}
	first.Close()
	ts = Templates{Disk: disk}
	takenOver(t, ts.Find(name, exe))
	if _, _, err := disk.Dir.Clear(); err != nil || ts.Find(name, exe) != nil {
		t.Errorf("found though the file is gone, and what was read is a process's; %v", err)
	}
	again := translated(t)
	if ts.Keep(name, exe, again.useful, func() *Template { return again }); ts.Find(name, exe) != again {
		t.Error("what the next process leaves is not kept in its place")
	}
}

// sameRecorded compares what caches have of recorded blocks besides.
func sameRecorded(t *testing.T, a, b *codecache.Cache) {
	t.Helper()
	if a.Facts.Last() == 0 || a.Facts.Last() != b.Facts.Last() || !reflect.DeepEqual(a.SideExits.Pieces(), b.SideExits.Pieces()) {
		t.Errorf("facts of %d and %d blocks, or side exits are others", a.Facts.Last(), b.Facts.Last())
	}
	for id := range a.Facts.Last() + 1 {
		if !reflect.DeepEqual(a.Facts.Get(id), b.Facts.Get(id)) || !slices.Equal(a.Facts.SampleRates(id), b.Facts.SampleRates(id)) {
			t.Fatalf("facts of block %d are others", id)
		}
	}
	odd := 0
	for n := range a.BlockPool.N {
		x, y := a.OddOf(&a.BlockPool.At(n).Rec), b.OddOf(&b.BlockPool.At(n).Rec)
		if !reflect.DeepEqual(x, y) {
			t.Fatalf("oddities of block %d: %+v and %+v", n, x, y)
		}
		if x != nil {
			odd++
		}
	}
	if odd == 0 {
		t.Error("no block is odd")
	}
}

// TestKeptHasNoPointers: what lies in files as it does in memory.
func TestKeptHasNoPointers(t *testing.T) {
	var check func(reflect.Type) bool
	check = func(typ reflect.Type) bool {
		switch typ.Kind() {
		case reflect.Struct:
			for i := range typ.NumField() {
				if !check(typ.Field(i).Type) {
					return false
				}
			}
			return true
		case reflect.Array:
			return check(typ.Elem())
		default:
			return typ.Kind() <= reflect.Float64 && typ.Kind() != reflect.Uintptr
		}
	}
	for _, v := range []any{codecache.Block{}, codecache.ExitWords{}, codecache.RegionAt{}, codecache.LiteralAt{}, codecache.CheckAt{}, codecache.CheckKey{},
		codecache.Reloc{}, codecache.LazySideExit{}, codecache.OddHead{}, codecache.Fixup{}, codecache.Stretch{}, codecache.Pointer{}, codecache.OddPart{}, Image{}, FileVersion{}, codecache.IndexEntry{}, counts{}, records.Row{}, records.Highest{}} {
		if !check(reflect.TypeOf(v)) {
			t.Errorf("%T has pointers", v)
		}
	}
}

// kept is a disk in a folder of the test's own.
func kept(t *testing.T) *Disk {
	dir, err := diskcache.Open(filepath.Join(t.TempDir(), "kept"))
	if err != nil {
		t.Fatal(err)
	}
	return &Disk{Dir: dir, Key: func(bool) string { return "switches" }, Log: t.Logf, NameOf: namesOf}
}

// TestNextRun: templates of one run are there in the next, of the same program, binary and switches alone; damaged ones are gone.
func TestNextRun(t *testing.T) {
	disk, name := kept(t), Name{"/bin/a", "all"}
	tmpl := translated(t)
	exe := tmpl.exe
	first := Templates{Disk: disk}
	first.Keep(name, exe, tmpl.useful, func() *Template { return tmpl })
	first.Close()
	next := func() *Templates {
		return &Templates{Disk: &Disk{Dir: disk.Dir, Key: disk.Key, Log: t.Logf, NameOf: namesOf}}
	}
	ts, read := next(), []int(nil)
	ts.Disk.Read = func(bytes int) { read = append(read, bytes) }
	if found := ts.Find(name, exe); found == nil || found != ts.Find(name, exe) || len(read) != 1 || read[0] < 1000 { // read once
		t.Fatalf("not found, or not once: %v were read", read)
	}
	other := next()
	other.Disk.Key = func(bool) string { return "others" }
	if other.Find(name, exe) != nil || next().Find(Name{"/bin/b", "all"}, exe) != nil || next().Find(Name{"/bin/a", "some"}, exe) != nil || next().Find(Name{Program: "/bin/a"}, exe) != nil || next().Find(name, FileVersion{inode: 6}) != nil {
		t.Error("found for something else")
	}
	ts = next()
	ts.Disk.NameOf = func([]byte, records.Highest) Names { return nil }
	if ts.Find(name, exe) != nil {
		t.Error("found though nobody knows what its numbers mean")
	}
	ts = next()
	ts.Keep(name, exe, tmpl.Blocks.N, func() *Template { return translated(t) })
	ts.Close()
	ts = next()
	ts.Find(name, exe)
	ts.Keep(name, exe, tmpl.Blocks.N+1, func() *Template { t.Error("hardly more is written again"); return nil })
	ts.Keep(name, FileVersion{inode: 6, size: 1}, 300, func() *Template { return translated(t) })
	ts.Close()
	if next().Find(name, FileVersion{inode: 6, size: 1}) == nil {
		t.Error("another version of the program does not take the place of the one before")
	}
	if err := disk.Dir.Store(next().Disk.keyOf(name), "", [][]byte{[]byte("no template")}); err != nil {
		t.Fatal(err)
	}
	if next().Find(name, exe) != nil {
		t.Error("found in what is none")
	}
	ts = next()
	ts.Keep(name, exe, tmpl.Blocks.N, func() *Template { u := translated(t); u.names = testNames(""); return u })
	ts.Close()
	if list, err := disk.Dir.List(); err != nil || len(list) != 0 {
		t.Errorf("%v is left, %v", list, err)
	}
}

// TestNoneLeadsToMadeCode: a file is no template in which a block or the index of an image is of code that a program has made.
func TestNoneLeadsToMadeCode(t *testing.T) {
	for name, damage := range map[string]func(im *imageCode){
		"block": func(im *imageCode) { im.index = nil },
		"index": func(im *imageCode) {
			im.blocks = slices.DeleteFunc(im.blocks, func(n uint32) bool { return n == 3 })
		},
	} {
		for _, made := range []bool{false, true} {
			tmpl := translated(t)
			tmpl.Blocks.At(3).NoteIf(codecache.Gated, made)
			damage(&tmpl.images[0])
			if _, err := unflatten(fileOf(tmpl, tmpl.names.Words()), namesOf, false); (err != nil) != made {
				t.Errorf("%s, made %t: %v", name, made, err)
			}
		}
	}
}

// TestContents: a file's build-id tells it from others; without one all of the mapping does.
func TestContents(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	own, err := os.ReadFile("/proc/self/exe") // with Go's build-id
	if err != nil {
		t.Fatal(err)
	}
	if !hasBuildID(own[:firstPage]) {
		t.Fatal("no build-id is found in the test's own binary")
	}
	at := bytes.Index(own[:firstPage], []byte(noteGo)) + 10
	other := bytes.Clone(own[:2*firstPage])
	other[at] ^= 1
	a, b := contentOf(write("a", own[:2*firstPage]), 0, 2*firstPage), contentOf(write("b", other), 0, 2*firstPage)
	if a == 0 || b == 0 || a == b {
		t.Errorf("%x and %x with other build-ids", a, b)
	}
	plain := make([]byte, 3*firstPage)
	a = contentOf(write("c", plain), firstPage, firstPage)
	plain[firstPage+100] = 1
	b = contentOf(write("d", plain), firstPage, firstPage)
	if a == 0 || b == 0 || a == b {
		t.Errorf("%x and %x with other code", a, b)
	}
	if contentOf(filepath.Join(dir, "nowhere"), 0, 1) != 0 {
		t.Error("of a file that is not there")
	}
	w := Written{Written: new(codecache.Written), Began: time.Now().Add(time.Hour), disk: kept(t)}
	maps, err := sys.Maps(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	w.NoteImages(os.Getpid(), slices.DeleteFunc(maps, func(m sys.Mapping) bool { return !m.Exec() || m.Inode == 0 }))
	if len(w.images) == 0 || w.images[0].content == 0 {
		t.Errorf("of the test itself: %+v", w.images)
	}
}

// FuzzTemplate: a file with any bytes changed is a template that can be taken over, or none. What is fuzzed is the changes, four bytes each: inputs as large as
// files take too long to be made.
func FuzzTemplate(f *testing.F) {
	first := translated(f)
	whole := fileOf(first, []byte("names"))
	runtime.KeepAlive(first)
	f.Add([]byte{})
	for at := 0; at < len(whole); at += len(whole)/40 + 3 {
		f.Add([]byte{byte(at), byte(at >> 8), byte(at >> 16), 0x81})
	}
	f.Fuzz(func(t *testing.T, changes []byte) {
		b := bytes.Clone(whole)
		for ; len(changes) >= 4; changes = changes[4:] {
			b[(int(changes[0])|int(changes[1])<<8|int(changes[2])<<16)%len(b)] ^= changes[3]
		}
		b = b[:len(b)-len(b)*len(changes)/4] // cut off
		tmpl, err := unflatten(b, namesOf, false)
		if err != nil {
			if tmpl != nil {
				t.Error("a template and an error")
			}
			return
		}
		c, _, _ := takenOver(t, tmpl)
		c.EachBlock(func(b *codecache.Block) {
			_ = c.PositionsOf(b)
			_ = c.InsAddr(b, int(b.Insns))
			_ = c.BlockAt(c.Regions[0], b.Code)
			_ = c.Facts.Get(b.Rec.ID)
			_ = c.OddOf(&b.Rec)
		})
		for n := range c.Exits.N {
			_ = c.ExitAt(n)
		}
		for n := range c.SideExits.N {
			s := c.SideExits.At(n)
			_ = c.NumberSideExit(s, c.BlockPool.At(int(s.Block)))
		}
	})
}

// madeAt is where the test's process has made code.
const madeAt = 0x7e00_0000_0000

// TestTemplateLeavesMadeCode: translations of code that the program has made stay where they are and nothing leads to them, what leads from them to an image moves with
// it, and code of an image that goes on there is no template.
func TestTemplateLeavesMadeCode(t *testing.T) {
	made := func(target uint64, of, dead bool) (*codecache.Cache, *Written) {
		const at = 0x7f00_0000_0000
		c := testCache(t, 0x7eff_c000_0000)
		a := c.Regions[0]
		w := &Written{Written: &c.Written, images: []Image{testImage(at), {Start: madeAt, End: madeAt + 4096}}}
		for i := range uint64(WorthKeeping + 10) {
			b := c.NewBlock()
			b.App, b.Code, b.Size, b.Insns = at+16*i, a.Base+uint64(a.Next), 64, 1
			to := uint64(at + 1<<19)
			if i >= WorthKeeping {
				b.App = madeAt + 16*i
				b.NoteIf(codecache.Gated, i%2 == 0)
				b.NoteIf(codecache.Dead, dead)
				if !b.Is(codecache.Gated) {
					b.Compared = 4
				}
				c.Loose++
			}
			if i == WorthKeeping {
				to = target
			}
			b.PosAt = c.PackPositions([]codecache.Position{{Len: 4}})
			c.InMade = b.OfMadeCode() && of
			c.NewExit(codecache.Exit{Site: b.Code + 40, Target: to, Region: a})
			c.Enter(b)
			a.Blocks.Append(b.Num)
			c.LinkEntered()
			a.Next += 64
		}
		return c, w
	}
	none := func(func(uint64) bool) {}
	for _, target := range []uint64{madeAt + 16, 0x1234_5678_9000} { // in what was made, and nowhere
		c, w := made(target, true, true)
		tmpl := NewTemplate(c, w, none, nil, nil)
		if tmpl == nil {
			t.Fatalf("%#x: no template", target)
		}
		read, err := unflatten(fileOf(tmpl, nil), namesOf, false)
		if err != nil || read.useful != WorthKeeping {
			t.Fatalf("%#x: %v, %+v", target, err, read)
		}
		b, f, _ := takenOver(t, read)
		if f.Reused != WorthKeeping || Useful(b) != WorthKeeping || b.BlockOf(madeAt+16*WorthKeeping, codecache.Plain) != nil || b.BlockOf(madeAt+16*WorthKeeping+1<<24, codecache.Plain) != nil {
			t.Errorf("%#x: %d blocks are known, %d of use", target, f.Reused, Useful(b))
		}
		if e := b.ExitAt(WorthKeeping + 1); e.Target != 0x7f00_0000_0000+1<<19+1<<24 {
			t.Errorf("what led into the image leads to %#x", e.Target)
		}
		if again := NewTemplate(b, f.written, none, nil, f); again == nil || again.useful != WorthKeeping {
			t.Errorf("what was taken over makes no template: %+v", again)
		}
	}
	c, w := made(madeAt+16, false, true)
	if NewTemplate(c, w, none, nil, nil) != nil {
		t.Error("an image's code goes on where code was made, which others have not")
	}
	c, w = made(madeAt+16, true, true)
	c.Loose = c.BlockPool.N - WorthKeeping/2
	if NewTemplate(c, w, none, nil, nil) != nil {
		t.Error("most of the code was made, and it is kept")
	}
	c, w = made(madeAt+16, true, true)
	c.BlockPool.At(3).Note(codecache.Dead)
	if NewTemplate(c, w, none, nil, nil) != nil {
		t.Error("code of an image has changed, and others have it")
	}
}

// TestImagesAreCarriedOn: a process that lacks an image of what it has taken over leaves that to the next as it found it, which has the same then as one that took it
// over from the first; images that nobody has any more are left behind.
func TestImagesAreCarriedOn(t *testing.T) {
	const at, other = 0x7f00_0000_0000, 0x7f00_0800_0000
	lib := Image{Start: other, End: other + 1<<20, id: FileVersion{inode: 8, size: 1 << 20}, content: 10}
	c := testCache(t, 0x7eff_c000_0000)
	w := &Written{Written: &c.Written, images: []Image{testImage(at), lib}}
	for i := range uint64(2 * WorthKeeping) {
		app := at + 16*i
		if i%2 == 1 {
			app = other + 16*i
		}
		addBlock(c, w, app, i)
	}
	none := func(func(uint64) bool) {}
	tmpl := NewTemplate(c, w, none, testNames("names"), nil)
	if tmpl == nil || len(tmpl.images) != 2 || tmpl.useful != 2*WorthKeeping {
		t.Fatalf("%+v", tmpl)
	}
	// take is what a process has of a template whose regions lie at an address, with the image and, if it has it, the library moved.
	take := func(tmpl *Template, base uint64, has bool) (*codecache.Cache, *Taken) {
		c := testCache(t, base)
		w := &Written{Written: &c.Written, images: []Image{testImage(at + 1<<24)}}
		if l := lib; has {
			l.Start, l.End = l.Start+1<<23, l.End+1<<23
			w.images = append(w.images, l)
		}
		f := TakeOver(tmpl, c, w, new(nobody), How{})
		f.TakeImages()
		return c, f
	}
	want, all := take(tmpl, 0x7eff_e000_0000, true)
	lacks, f := take(tmpl, 0x7eff_d000_0000, false)
	if all.Reused != 2*WorthKeeping || f.Reused != WorthKeeping {
		t.Fatalf("%d and %d blocks are known", all.Reused, f.Reused)
	}
	addBlock(lacks, f.written, at+1<<24+1<<19, 0)
	carried := NewTemplate(lacks, f.written, none, testNames("names"), f)
	if carried == nil || len(carried.images) != 2 || carried.useful != 2*WorthKeeping+1 {
		t.Fatalf("carried on is %+v", carried)
	}
	read, err := unflatten(fileOf(carried, []byte("names")), namesOf, false)
	if err != nil {
		t.Fatal(err)
	}
	got, g := take(read, 0x7eff_e000_0000, true)
	if end := want.Regions[0].Next; g.Reused != 2*WorthKeeping+1 || !bytes.Equal(got.Regions[0].Mem[:end], want.Regions[0].Mem[:end]) {
		t.Errorf("%d blocks are known, or the code is another", g.Reused)
	}
	for n := range want.BlockPool.N {
		x, y := want.BlockPool.At(n), got.BlockPool.At(n)
		if *x != *y || got.BlockOf(x.App, x.Variant) != y || !reflect.DeepEqual(want.Facts.Get(x.Rec.ID), got.Facts.Get(x.Rec.ID)) {
			t.Fatalf("block %d: %+v, %+v", n, x, y)
		}
	}
	for n := range mostUnused {
		lacks, f = take(carried, 0x7eff_d000_0000+uint64(n%2)<<24, false)
		if carried = NewTemplate(lacks, f.written, none, testNames("names"), f); carried == nil {
			t.Fatal("no template")
		}
	}
	if len(carried.images) != 1 || carried.useful != WorthKeeping+1 {
		t.Errorf("what nobody has is still carried on: %d images, %d blocks of use", len(carried.images), carried.useful)
	}
}

// TestNewVersionsTakeTheirPlace: of a library that becomes another version in place, again and again, the second start after each has all translations there are, from disk
// as well, and versions that are gone do not pile up.
func TestNewVersionsTakeTheirPlace(t *testing.T) {
	const at, other = 0x7f00_0000_0000, 0x7f00_0800_0000
	disk, name, exe := kept(t), Name{"/bin/a", "all"}, FileVersion{inode: 5, size: 4}
	lib := Image{Start: other, End: other + 1<<20, id: FileVersion{inode: 8, size: 1 << 20}, content: 10}
	// start is a run with the program and the library as it is now; it says how much was there, and how much was left in the end.
	start := func() (reused, blocks int) {
		ts := Templates{Disk: &Disk{Dir: disk.Dir, Key: disk.Key, Log: t.Logf, NameOf: namesOf}}
		c := testCache(t, 0x7eff_c000_0000)
		w, f := &Written{Written: &c.Written, images: []Image{testImage(at), lib}}, (*Taken)(nil)
		if tmpl := ts.Find(name, exe); tmpl != nil {
			f = TakeOver(tmpl, c, w, new(nobody), How{})
			f.TakeImages()
			reused = f.Reused
		}
		for i := range uint64(2 * WorthKeeping) {
			app := at + 16*i
			if i%2 == 1 {
				app = other + 16*i
			}
			if c.BlockOf(app, codecache.Plain) == nil && c.BlockOf(app, codecache.Record) == nil {
				addBlock(c, w, app, i)
			}
		}
		ts.Keep(name, exe, Useful(c), func() *Template {
			return NewTemplate(c, w, func(func(uint64) bool) {}, testNames("names"), f)
		})
		ts.Close()
		return reused, c.BlockPool.N
	}
	start()
	for version := range 8 {
		lib.id.ctime.Sec = int64(version + 1)
		start()
		second, _ := start()
		third, blocks := start()
		if second != 2*WorthKeeping && third != 2*WorthKeeping || blocks > 4*WorthKeeping {
			t.Errorf("version %d: of %d blocks the second start finds %d and the third %d, beside %d that are none's", version, 2*WorthKeeping, second, third, blocks-2*WorthKeeping)
		}
	}
}

// TestTemplateLeavesRecordedMadeCode: facts and side exits of code that a program has made, and that lies in no image any more, are no hindrance; a way out of a file's
// code to such a place is.
func TestTemplateLeavesRecordedMadeCode(t *testing.T) {
	const at = 0x7f00_0000_0000
	for _, made := range []bool{true, false} {
		c := testCache(t, 0x7eff_c000_0000)
		w := &Written{Written: &c.Written, images: []Image{testImage(at)}}
		for i := range uint64(2 * WorthKeeping) {
			addBlock(c, w, at+16*i, i)
		}
		last := c.BlockPool.At(c.BlockPool.N - 2) // which records
		c.SideExits.At(c.SideExits.N - 1).Target = madeAt + 70
		if made {
			last.App, last.Compared, c.Loose = madeAt, 4, 1
			c.Facts.Move(last.Rec.ID, madeAt-c.Facts.Addr(last.Rec.ID))
		}
		tmpl := NewTemplate(c, w, func(func(uint64) bool) {}, testNames("names"), nil)
		if (tmpl != nil) != made {
			t.Fatalf("made: %t: %+v", made, tmpl)
		}
		if tmpl == nil {
			continue
		}
		read, err := unflatten(fileOf(tmpl, []byte("names")), namesOf, false)
		runtime.KeepAlive(tmpl)
		if err != nil {
			t.Fatal(err)
		}
		if _, f, _ := takenOver(t, read); f.Reused != 2*WorthKeeping-1 {
			t.Errorf("%d blocks are known", f.Reused)
		}
	}
}

// addBlock adds a block, which records if its number is a multiple of three, with references of each kind.
func addBlock(c *codecache.Cache, w *Written, app, i uint64) {
	a, b := c.Regions[0], c.NewBlock()
	b.App, b.Code, b.Size, b.Insns = app, a.Base+uint64(a.Next), 64, 2
	b.PosAt = c.PackPositions([]codecache.Position{{Len: 4}, {Start: 4, Exec: 4, Len: 5}})
	if i%3 == 0 {
		record(c, b, i)
	}
	c.NewExit(codecache.Exit{Site: b.Code + 40, Target: app, Region: a, Fixed: true})
	c.Enter(b)
	a.Blocks.Append(b.Num)
	c.LinkEntered()
	w.Relocs.Append(codecache.Reloc{App: b.App, At: uint32(a.Next + 8), Kind: codecache.RelocKind(i % 3)})
	if i%4 == 0 {
		w.Checks.Append(codecache.CheckAt{App: b.App, Code: uint32(a.Next), Miss: uint32(a.Next + 20), Variant: b.Variant})
		b.Note(codecache.Checked)
	}
	a.Next += 64
}

// TestReadAhead: a program's file is read ahead once a run has asked for it, whatever the path it was executed by; another one is read when it is asked for.
func TestReadAhead(t *testing.T) {
	if runtime.GOMAXPROCS(0) == 1 {
		t.Skip("nothing is read ahead on one processor")
	}
	dir := kept(t).Dir
	disk := func(asked string) *Disk {
		return &Disk{Dir: dir, Key: func(bool) string { return "switches" }, Log: t.Logf, NameOf: namesOf, Asked: asked}
	}
	plain, recorded := Name{Program: "/usr/bin/p"}, Name{Program: "/usr/bin/p", Records: "all"}
	tmpl := translated(t)
	exe := tmpl.exe
	first := Templates{Disk: disk("")}
	first.Keep(plain, exe, tmpl.useful, func() *Template { return tmpl })
	first.Close()
	// asked returns whether the name's file was the one that was read ahead, and whether it was there.
	asked := func(what, path string, name Name) (ahead, found bool) {
		d := disk(what)
		d.ReadAhead(path)
		a := d.ahead
		found = d.load(name, exe) != nil
		if a != nil {
			<-a.done
			ahead = a.name == name
		}
		d.keepFirst()
		return ahead, found
	}
	for i, c := range []struct {
		what, path   string
		name         Name
		ahead, found bool
	}{
		{"a", "/bin/p", plain, false, true},
		{"a", "/bin/p", plain, true, true},
		{"b", "/bin/p", plain, false, true}, // something else is recorded
		{"a", "/bin/q", plain, false, true},
		{"a", "/bin/p", recorded, false, false}, // it is another one now, of which there is none
		{"a", "/bin/p", recorded, true, false},
		{"a", "/bin/p", plain, false, true},
		{"", "/bin/p", plain, false, true},
	} {
		if ahead, found := asked(c.what, c.path, c.name); ahead != c.ahead || found != c.found {
			t.Errorf("%d: read ahead %t, found %t", i, ahead, found)
		}
	}
	unasked := disk("a")
	unasked.ReadAhead("/bin/p")
	unasked.keepFirst() // a run that has asked for nothing
	if ahead, _ := asked("a", "/bin/p", plain); !ahead {
		t.Error("it was forgotten")
	}
}
