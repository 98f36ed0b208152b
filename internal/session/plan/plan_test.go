package plan

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"testing"

	"alleria/config"
	"alleria/engine"
	"alleria/engine/x86"
	"alleria/internal/records"
	"alleria/internal/symbols"
	"alleria/internal/sys"
)

// tablesOf are the tables of this very process, which has a C library.
func tablesOf(t *testing.T, c *config.Config) (*Tables, *symbols.Loaded) {
	t.Helper()
	cache := symbols.NewCache(symbols.Options{})
	t.Cleanup(func() { cache.Close() })
	tb := NewTables(Options{PID: os.Getpid(), Maps: sys.ReadMaps, Cache: cache, Asked: Asked(c)})
	if _, _, err := tb.Update(); err != nil {
		t.Fatal(err)
	}
	for _, l := range tb.Symbols.Images() {
		if l.Image.SOName() == "libc.so.6" {
			return tb, l
		}
	}
	t.Skip("this process has no C library")
	return nil, nil
}

// function is where a function of an image lies.
func function(t *testing.T, l *symbols.Loaded, name string) uint64 {
	t.Helper()
	for _, fn := range l.Image.Find(name, true) {
		if fn.Kind != symbols.PLT {
			return fn.Addr + l.Bias
		}
	}
	t.Fatalf("%s has no %s", l.Path, name)
	return 0
}

// block is a load and an addition, as if they lay there.
func block(t *testing.T, addr uint64) []x86.Insn {
	t.Helper()
	ins := make([]x86.Insn, 2)
	// mov rax, [rdi]; add rax, rbx
	if n, why := x86.Decode([]byte{0x48, 0x8b, 0x07, 0x48, 0x01, 0xd8}, addr, ins); n != 2 {
		t.Fatalf("%d instructions: %v", n, why)
	}
	return ins
}

// parsed is a configuration with a window for each profile of the C library's functions.
func parsed(t *testing.T, functions ...string) *config.Config {
	t.Helper()
	text := `<AlleriaConfig version="1.0">`
	for i, f := range functions {
		text += fmt.Sprintf(`<Window name="w%d">`, i) + `<Profile><Process><Thread><Image name="libc.so.6">` + f + `</Image></Thread></Process></Profile></Window>`
	}
	c, _, err := config.Parse("test", []byte(text+`</AlleriaConfig>`))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPlan: what is wanted goes by the function and the kind of instruction, and the answer is the same again.
func TestPlan(t *testing.T) {
	c := parsed(t, `<Function name="getpid"><Instruction cat="anyMem" accessValue="true"/></Function>`)
	tb, libc := tablesOf(t, c)
	matched := c.Matcher().Genesis(&config.ProcessFacts{Number: 1})
	p := New(tb, []*config.Profile{c.Windows[0].Profile}, matched, 1, 1, false)
	for range 2 {
		want := make([]engine.Want, 2)
		if image := p.Plan(block(t, function(t, libc, "getpid")), want); image == 0 || !tb.Recorded(libc) {
			t.Error("the block has no image")
		}
		if want[0].Flags&records.InsValues == 0 || want[0].Func == 0 || want[1].Flags != 0 {
			t.Errorf("of getpid is wanted %+v: the load's value, and nothing of the addition", want)
		}
		want = make([]engine.Want, 2)
		p.Plan(block(t, function(t, libc, "getppid")), want)
		if want[0].Flags != 0 || want[1].Flags != 0 {
			t.Errorf("of getppid is wanted %+v", want)
		}
	}
	for name, flags := range map[string]records.InsFlags{"getpid": records.InsRecorded, "getppid": 0} {
		want := make([]engine.Want, 2)
		New(tb, nil, matched, 1, 1, true).Plan(block(t, function(t, libc, name)), want)
		if want[0].Flags != flags || want[1].Flags != flags {
			t.Errorf("where only blocks count, of %s is wanted %+v", name, want)
		}
	}
}

// TestApart: two windows select the same instruction, and each is known to have.
func TestApart(t *testing.T) {
	c := parsed(t, `<Function name="getpid"><Instruction cat="anyMem"/></Function>`, `<Function name="getpid"><Instruction cat="any"/></Function>`)
	tb, libc := tablesOf(t, c)
	matched := c.Matcher().Genesis(&config.ProcessFacts{Number: 1})
	each := make([]*Planner, 2)
	for w := range each {
		each[w] = New(tb, []*config.Profile{c.Windows[w].Profile}, matched, 1<<w, 1, false)
	}
	p := New(tb, []*config.Profile{c.Windows[0].Profile, c.Windows[1].Profile}, matched, 3, 1, false)
	var s Sites
	p.Apart(&s, 1, 1, each)
	ins := block(t, function(t, libc, "getpid"))
	want := make([]engine.Want, 2)
	p.Plan(ins, want)
	for i, windows := range []uint64{3, 2} {
		if got := s.of[site{1, 1, ins[i].Addr, ins[i].Len}]; got != windows || want[i].Flags&records.InsRecorded == 0 {
			t.Errorf("instruction %d: windows %b, wanted %+v", i, got, want[i])
		}
	}
}

// TestKey: a configuration may name an image by a link that leads to it.
func TestKey(t *testing.T) {
	c := parsed(t, `<Function/>`)
	tb, libc := tablesOf(t, c)
	if k := tb.Key(libc); !c.Windows[0].Profile.Processes[0].Threads[0].Images[0].Matches(k) {
		t.Errorf("libc.so.6 is not %+v", k)
	}
}

// TestTake: tables that take numbers over go on behind them; those that have given some already do not.
func TestTake(t *testing.T) {
	c := parsed(t, `<Function/>`)
	first, libc := tablesOf(t, c)
	fn := libc.Image.Find("getpid", true)[0]
	number, names := first.Function(libc, fn), first.Names()
	next, libc := tablesOf(t, c)
	if other := libc.Image.Find("getppid", true)[0]; next.Function(libc, other) != number || next.Take(names, libc) {
		t.Error("the number is given otherwise, and taken over")
	}
	next, l := NewTables(first.opts), libc
	if _, _, err := next.Update(); err != nil {
		t.Fatal(err)
	}
	for _, o := range next.Symbols.Images() {
		if o.Path == l.Path {
			l = o
		}
	}
	if !next.Take(names, l) || next.Function(l, fn) != number || next.Function(l, l.Image.Find("getppid", true)[0]) != number+1 {
		t.Error("the numbers are not those that were taken over")
	}
}

// TestTakeAll: a forked child has the numbers of its creator also for images that are read from each process's memory, and so has its child; those of an image that is another by its names are
// kept beside it, and those of one that is not there any more are not.
func TestTakeAll(t *testing.T) {
	c := parsed(t, `<Function/>`)
	first, libc := tablesOf(t, c)
	kernels := func(tb *Tables) *symbols.Loaded {
		for _, l := range tb.Symbols.Images() {
			if l.Path == "[vdso]" {
				return l
			}
		}
		t.Skip("the kernel has no image in this process")
		return nil
	}
	child := func(n *Names) *Tables {
		next := NewTables(first.opts)
		if _, _, err := next.Update(); err != nil {
			t.Fatal(err)
		}
		if !next.TakeAll(n) {
			t.Fatal("the numbers are refused")
		}
		return next
	}
	v := kernels(first)
	first.Image(libc)
	fn := &v.Image.Functions()[0]
	number := first.Function(v, fn)
	for what, tb := range map[string]*Tables{"child": child(first.Names()), "grandchild": child(child(first.Names()).Names())} {
		l := kernels(tb)
		if l.Image == v.Image || !tb.Recorded(l) || tb.Image(l) != first.Image(v) || tb.Function(l, &l.Image.Functions()[0]) != number || len(tb.images) != 2 {
			t.Errorf("%s: the kernel's image is number %d of %d, not %d", what, tb.images[l], len(tb.images), first.Image(v))
		}
	}
	other := first.Names()
	for i := range other.loaded {
		if old := &other.loaded[i]; old.Image == v.Image { // as if it had been libc's file, and was deleted
			moved := *v
			moved.Image = libc.Image
			old.Loaded = &moved
			other.images[libc.Image] = 0
		}
	}
	if tb := child(other); tb.images[kernels(tb)] != 0 || !slices.Contains(numbersOf(tb), first.Image(v)) {
		t.Errorf("with another image at its place the numbers are %d", numbersOf(tb))
	}
	gone := first.Names()
	for i := range gone.loaded {
		if old := &gone.loaded[i]; old.Image == v.Image {
			moved := *v
			moved.Path = "/gone"
			old.Loaded, old.gone = &moved, true
		}
	}
	if tb := child(gone); slices.Contains(numbersOf(tb), first.Image(v)) {
		t.Errorf("with an image that is gone the numbers are %d", numbersOf(tb))
	}
}

// numbersOf is the numbers of a process's images.
func numbersOf(t *Tables) (list []uint32) {
	for _, n := range t.images {
		list = append(list, n)
	}
	return list
}

// TestToldNames: another run finds images and functions again, under their numbers, as long as they are the same.
func TestToldNames(t *testing.T) {
	c := parsed(t, `<Function/>`)
	first, libc := tablesOf(t, c)
	var numbers []uint32
	for _, name := range []string{"getppid", "getpid", "malloc"} {
		numbers = append(numbers, first.Function(libc, libc.Image.Find(name, true)[0]))
	}
	words := first.Names().Words()
	high := records.Highest{Image: first.Image(libc), Func: numbers[2]}
	told := func(spoil func(n *Names, tb *Tables, libc *symbols.Loaded)) (taken bool, got []uint32) {
		n := NamesOf(words, high)
		if n == nil {
			t.Fatal("nothing is told")
		}
		tb, libc := tablesOf(t, c)
		if spoil != nil {
			spoil(n, tb, libc)
		}
		if taken = tb.Take(n, libc); taken && tb.Image(libc) != high.Image {
			t.Errorf("the image is number %d, not %d", tb.Image(libc), high.Image)
		}
		for _, name := range []string{"getppid", "getpid", "malloc", "free"} {
			got = append(got, tb.Function(libc, libc.Image.Find(name, true)[0]))
		}
		return taken, got
	}
	if all, main := NamesOf(words, high).Paths(); !slices.Equal(all, []string{libc.Path}) || main != "" {
		t.Errorf("paths %q, main %q", all, main)
	}
	ofTwo := &Names{told: map[string]*toldImage{"/b": {number: 2, key: config.ImageKey{Path: "/b"}}, "/a": {number: 3, key: config.ImageKey{Path: "/a"}}, "/p": {number: 1, key: config.ImageKey{Path: "/p", Main: true}}}}
	if all, main := ofTwo.Paths(); !slices.Equal(all, []string{"/p", "/b", "/a"}) || main != "/p" {
		t.Errorf("paths %q, main %q", all, main)
	}
	if taken, got := told(nil); !taken || !slices.Equal(got, append(numbers, high.Func+1)) {
		t.Errorf("taken over: %t, as numbers %d, not %d", taken, got, numbers)
	}
	if taken, got := told(func(_ *Names, tb *Tables, libc *symbols.Loaded) { tb.Image(libc) }); taken || slices.Contains(got, 0) {
		t.Errorf("numbered otherwise: taken over: %t, as numbers %d", taken, got)
	}
	for what, spoil := range map[string]func(*toldImage){
		"functions": func(i *toldImage) { i.sum++ }, "link": func(i *toldImage) { i.key.Names = append(i.key.Names, "libother.so") },
		"main": func(i *toldImage) { i.key.Main = true }, "place": func(i *toldImage) { i.funcs[0].at = 1 << 30 },
	} {
		taken, got := told(func(n *Names, _ *Tables, libc *symbols.Loaded) { spoil(n.told[libc.Path]) })
		if taken || slices.Min(got) <= high.Func {
			t.Errorf("another %s: taken over: %t, as numbers %d", what, taken, got)
		}
	}
	if NamesOf(words, records.Highest{Image: high.Image, Func: high.Func + 1}) != nil || NamesOf(words[:len(words)-1], high) != nil || NamesOf(nil, high) != nil {
		t.Error("what is told is less than what there is")
	}
	byTypes := NewTables(Options{PID: os.Getpid(), Maps: sys.ReadMaps, Cache: first.opts.Cache, ByTypes: true})
	if _, _, err := byTypes.Update(); err != nil || byTypes.Names().Words() != nil {
		t.Errorf("names that debug information chooses by are told: %v", err)
	}
}

// TestNamesAreCarriedOn: what a process has taken over and not loaded has its numbers in the next one, within a run and in another.
func TestNamesAreCarriedOn(t *testing.T) {
	c := parsed(t, `<Function/>`)
	first, libc := tablesOf(t, c)
	_ = libc.Image.Functions() // whose elements are found from now on
	number := first.Function(libc, libc.Image.Find("getppid", true)[0])
	const image, fn = 5, 77 // as if more had been numbered
	names := first.Names()
	names.lastImage, names.lastFunc = image, fn
	high := records.Highest{Image: image, Func: fn}
	told := func(n *Names) *Names {
		if n = NamesOf(n.Words(), high); n == nil {
			t.Fatal("nothing is told")
		}
		return n
	}
	for what, kept := range map[string]*Names{"within a run": names, "in another": told(names)} {
		lacks := NewTables(first.opts)
		if _, _, err := lacks.Update(); err != nil {
			t.Fatal(err)
		}
		lacks.kept, lacks.lastImage, lacks.lastFunc = kept, image, fn
		for name, n := range map[string]*Names{"one": lacks.Names(), "two": told(lacks.Names())} {
			next := NewTables(first.opts)
			if _, _, err := next.Update(); err != nil {
				t.Fatal(err)
			}
			for _, l := range next.Symbols.Images() {
				if l.Path != libc.Path {
					continue
				}
				if !next.Take(n, l) || next.Image(l) != first.Image(libc) || next.Function(l, l.Image.Find("getppid", true)[0]) != number || next.Function(l, l.Image.Find("getpid", true)[0]) != fn+1 {
					t.Errorf("%s, %s: the image is number %d, getppid %d, getpid %d", what, name, next.Image(l), next.Function(l, l.Image.Find("getppid", true)[0]), next.Function(l, l.Image.Find("getpid", true)[0]))
				}
			}
		}
	}
	// One that is loaded has the numbers that it was given here.
	loaded, libc := tablesOf(t, c)
	loaded.lastImage, loaded.lastFunc = image, fn
	loaded.Image(libc)
	loaded.kept = told(names)
	if n := loaded.Names(); n.images[libc.Image] != image+1 || n.told[libc.Path] != nil || NamesOf(n.Words(), high) == nil {
		t.Errorf("the loaded image is number %d", n.images[libc.Image])
	}
}

// FuzzToldNames: any bytes tell names or none.
func FuzzToldNames(f *testing.F) {
	n := &Names{told: map[string]*toldImage{}}
	b := binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, 3), 9), 1)
	b = appendKey(b, &config.ImageKey{Path: "/lib/a", Name: "a", System: true, Names: []string{"b"}})
	f.Add(append(b, 1, 2, 3, 4, 5, 6, 7, 8, 3, 2, 0, 9, 1, 8), uint32(3), uint32(9))
	f.Fuzz(func(t *testing.T, words []byte, image, function uint32) {
		if n = NamesOf(words, records.Highest{Image: image, Func: function}); n == nil {
			return
		}
		for path, i := range n.told {
			if i.number == 0 || i.number > n.lastImage || i.key.Path != path {
				t.Errorf("%q is %+v", path, i)
			}
		}
	})
}
