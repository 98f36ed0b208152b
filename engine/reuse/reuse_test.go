package reuse

import (
	"os"
	"slices"
	"testing"
	"time"

	"alleria/engine/codecache"
	"alleria/internal/sys"
)

// file is a mapping of so many pages of a file's code.
func file(start, offset, inode uint64) sys.Mapping {
	return sys.Mapping{Start: start, End: start + 0x4000, Prot: "r-xp", Offset: offset, Dev: "08:01", Inode: inode}
}

// after is the places that were asked for behind one.
func after(seq *Sequence, place Place) (all []Place) {
	for n, end := seq.After(place); n < end; n++ {
		all = append(all, seq.At(n))
	}
	return all
}

// TestHistoryFollowsFiles: what came next is known by places in files, wherever these lie the next time.
func TestHistoryFollowsFiles(t *testing.T) {
	var h History
	p := h.HistoryOf(os.Getpid(), false)
	if f := h.HistoryOf(os.Getpid(), true); f == nil || f == p || f.Path != "" || h.HistoryOf(os.Getpid(), true) != f {
		t.Errorf("of forked children: %v", f)
	}
	if p == nil || h.HistoryOf(os.Getpid(), false) != p {
		t.Fatal("a program has one history")
	}
	seq := p.Asked(codecache.Plain)
	first := []sys.Mapping{file(0x1000_0000, 0, 1), file(0x2000_0000, 0x1000, 2)}
	for _, app := range []uint64{0x1000_0010, 0x2000_0020, 0x1000_0030} {
		m := &first[0]
		if app >= first[1].Start {
			m = &first[1]
		}
		place, ok := h.PlaceIn(m, app, app&0x20 != 0)
		if !ok || len(after(seq, place)) != 0 {
			t.Fatalf("%#x is known at once", app)
		}
	}
	second := []sys.Mapping{file(0x7000_0000, 0x1000, 2), file(0x8000_0000, 0, 1)}
	place, _ := h.PlaceIn(&second[1], 0x8000_0010, false)
	var next []uint64
	for _, n := range after(seq, place) {
		next = append(next, h.AddressOf(n, second))
		if !n.Indirect() {
			t.Errorf("an indirect branch led to %#x", n)
		}
	}
	if !slices.Equal(next, []uint64{0x7000_0020, 0x8000_0030}) {
		t.Errorf("%#x came next", next)
	}
	if got := h.AddressOf(place, second[:1]); got != 0 {
		t.Errorf("a file that is not mapped lies at %#x", got)
	}
	if other := p.Asked(codecache.Record); len(after(other, place)) != 0 {
		t.Error("recording code has a history of its own")
	}
}

// TestLongHistory: of many places each has those behind it, of which the last has none.
func TestLongHistory(t *testing.T) {
	var seq Sequence
	const many = 5000
	for n := range Place(many) {
		if next := after(&seq, n<<4); len(next) != 0 {
			t.Fatalf("place %d is known at once: %d", n, next)
		}
	}
	for n := range Place(many) {
		next := after(&seq, n<<4)
		if want := min(prefetchLook, many-1-int(n)); len(next) != want || want > 0 && (next[0] != (n+1)<<4 || next[want-1] != (n+Place(want))<<4) {
			t.Fatalf("behind place %d: %d", n, next)
		}
	}
	if len(seq.at) > 4*many || seq.order.N != many {
		t.Errorf("%d slots for %d places", len(seq.at), seq.order.N)
	}
}

// TestAnonymousCodeHasNoPlace: what lies in no file is at no place that means anything the next time.
func TestAnonymousCodeHasNoPlace(t *testing.T) {
	var h History
	h.HistoryOf(os.Getpid(), false)
	m := file(0x1000_0000, 0, 0)
	if _, ok := h.PlaceIn(&m, m.Start, false); ok {
		t.Error("it has a place")
	}
}

// testWritten is what a process has written down that began now.
func testWritten() *Written {
	return &Written{Written: &codecache.Written{}, Began: time.Now()}
}

// TestWrittenCodeIsMixed: translations of memory that is written to are of use to nobody else.
func TestWrittenCodeIsMixed(t *testing.T) {
	w := testWritten()
	w.Whole = true
	w.NoteImages(os.Getpid(), []sys.Mapping{file(0x10000, 0, 5)})
	w.images[0].id.size = 1
	if w.Touch(0x20000, 0x21000); w.Mixed || !w.images[0].id.known() {
		t.Error("memory beside the image was written")
	}
	if w.Touch(0x13000, 0x15000); w.images[0].id.known() {
		t.Error("the image was written")
	}
	w = testWritten()
	w.images = []Image{{Start: 0x10000, End: 0x14000, id: FileVersion{inode: 5, size: 1}}, {Start: 0x20000, End: 0x24000, id: FileVersion{inode: 6, size: 1}}}
	for range 2 {
		w.NoteImages(os.Getpid(), []sys.Mapping{file(0x12000, 0, 7)}) // over the first
	}
	w.NoteImages(os.Getpid(), []sys.Mapping{{Start: 0x11000, End: 0x13000, Prot: "r-xp"}})
	if len(w.images) != 2 || !w.images[0].id.known() || w.images[1].id.known() || w.images[1].Start != 0x10000 || w.images[1].End != 0x16000 {
		t.Errorf("one image over another: %+v", w.images)
	}
}

// TestWrittenBeforeItIsMapped: an image where memory was written is not known to have its file's code.
func TestWrittenBeforeItIsMapped(t *testing.T) {
	exe, err := os.Stat("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := sys.Maps(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	own := slices.IndexFunc(maps, func(m sys.Mapping) bool { return m.Exec() && m.Inode != 0 })
	if own < 0 {
		t.Fatalf("%s is not mapped", exe.Name())
	}
	for _, touched := range []bool{false, true} {
		w := testWritten()
		w.Began = time.Now().Add(time.Hour) // the test's own binary is new
		if touched {
			w.Touch(maps[own].Start, maps[own].Start+1)
		}
		w.NoteImages(os.Getpid(), maps[own:own+1])
		if len(w.images) != 1 || w.images[0].id.known() == touched {
			t.Errorf("touched %t: %+v", touched, w.images)
		}
	}
}

// TestSmallProcessesLeaveNothing: less than a few hundred blocks are translated as fast.
func TestSmallProcessesLeaveNothing(t *testing.T) {
	var most, few Templates
	few.Few = true
	most.Keep(Name{Program: "a"}, FileVersion{}, WorthKeeping-1, func() *Template { t.Error("a template is made"); return nil })
	few.Keep(Name{Program: "a"}, FileVersion{}, WorthKeeping-1, func() *Template { return &Template{useful: 1} })
	if few.Find(Name{Program: "a"}, FileVersion{}) == nil {
		t.Error("there is none where it is asked for")
	}
}

// TestBetterTemplate: a little more is enough, but not where it comes with more that nobody can use.
func TestBetterTemplate(t *testing.T) {
	of := func(useful, loose int) *Template {
		made := &Template{useful: useful}
		made.Blocks.N = useful + loose
		return made
	}
	old := of(3200, 100)
	for _, c := range []struct {
		useful, loose int
		better        bool
	}{{3299, 100, false}, {3300, 100, true}, {3300, 200, true}, {3300, 201, false}, {3599, 1000, false}, {3600, 1000, true}} {
		if got := of(c.useful, c.loose).betterThan(old); got != c.better {
			t.Errorf("%d of use and %d of none: better: %t", c.useful, c.loose, got)
		}
	}
}

// TestLittleAddsUp: what processes translate beyond a template, each too little for another one, adds up to one; not where it comes with more that nobody can use,
// and not where it is asked for rarely.
func TestLittleAddsUp(t *testing.T) {
	of := func(useful, loose int) *Template {
		made := &Template{useful: useful}
		made.Blocks.N = useful + loose
		return made
	}
	name, made := Name{Program: "a"}, 0
	keep := func(ts *Templates, blocks, loose int) {
		ts.Keep(name, FileVersion{}, blocks, func() *Template { made++; return of(blocks, loose) })
	}
	start := func(rarely bool) *Templates {
		ts := &Templates{Rarely: rarely}
		keep(ts, 3200, 0)
		made = 0
		return ts
	}
	ts := start(false)
	for range 3 {
		keep(ts, 3230, 0)
	}
	if made != 0 || ts.of[name].useful != 3200 {
		t.Errorf("after 90 of 100 blocks: %d made, of %d blocks", made, ts.of[name].useful)
	}
	keep(ts, 3200, 0) // adds nothing
	keep(ts, 3210, 0)
	if made != 1 || ts.of[name].useful != 3210 || ts.of[name].lacked != 0 {
		t.Errorf("after 100: %d made, of %d blocks", made, ts.of[name].useful)
	}
	ts = start(false)
	for range 7 {
		keep(ts, 3230, 40)
	}
	if made != 1 || ts.of[name].useful != 3200 {
		t.Errorf("with more of no use: %d made, of %d blocks", made, ts.of[name].useful)
	}
	ts = start(true)
	for range 9 {
		keep(ts, 3230, 0)
	}
	if made != 0 {
		t.Errorf("rarely: %d made", made)
	}
}

// TestOneTemplateAProgram: a smaller one does not replace a larger, and all together are bounded.
func TestOneTemplateAProgram(t *testing.T) {
	var ts Templates
	kept := func(blocks, bytes int) *Template {
		made := &Template{bytes: bytes, useful: blocks}
		made.Blocks.N = blocks
		return made
	}
	large := kept(1000, 1<<20)
	ts.Keep(Name{Program: "a"}, FileVersion{}, 1000, func() *Template { return large })
	ts.Keep(Name{Program: "a"}, FileVersion{}, 900, func() *Template { t.Error("a smaller one is made"); return nil })
	if ts.Find(Name{Program: "a"}, FileVersion{}) != large || ts.Find(Name{Program: "b"}, FileVersion{}) != nil {
		t.Error("the program's is not found")
	}
	ts.Keep(Name{Program: "b"}, FileVersion{}, 1000, func() *Template { return kept(1000, mostTemplates-1<<19) })
	if ts.Find(Name{Program: "a"}, FileVersion{}) != nil || ts.Find(Name{Program: "b"}, FileVersion{}) == nil {
		t.Error("the oldest is not dropped for the next")
	}
	off := Templates{Off: true}
	off.Keep(Name{Program: "a"}, FileVersion{}, 1000, func() *Template { t.Error("a template is made"); return nil })
}
