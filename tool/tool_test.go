package tool

import (
	"context"
	"errors"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// fixture builds a program of testdata.
func fixture(t *testing.T, source string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), ".c"))
	if text, err := exec.Command("gcc", append([]string{"-O1", "-g", "-o", out, filepath.Join("..", "testdata", source)}, flags...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

func sorting(t *testing.T) string {
	return fixture(t, "counts/sort.c", "-static", "-nostdlib", "-fno-stack-protector", "-fno-tree-vectorize")
}

func sizes(t *testing.T) string { return fixture(t, "tools/sizes.c", "-pthread") }

// runs runs a tool, with flags, and returns the program's exit status.
func runs(t *testing.T, y *Tool, flags []string, argv ...string) (int, error) {
	t.Helper()
	if err := y.Flags.Parse(flags); err != nil {
		t.Fatal(err)
	}
	return y.Run(context.Background(), argv, io.Discard)
}

// fact is a record with everything in it.
type fact struct {
	PC, Addr, Value, RDI, Target uint64
	Wide                         [16]byte
	Size, Function               uint32
	Thread, EAX                  uint16
	Length, AH, Kind             uint8
	Store, Taken                 bool
}

// kinds of facts
const (
	ofAccess = iota + 1
	ofInstruction
	ofBranch
	ofBlock
	ofEntry
)

// facts is a tool that keeps all records, of one thread.
func facts(records int) (*Tool, *[]fact) {
	y, all := New("facts"), new([]fact)
	b := Define(y, Buffer[fact]{Records: records, Full: func(b *Batch[fact]) []fact {
		*all = append(*all, b.Records...)
		return b.Records
	}})
	b.Fill(Accesses("anyMem"), Fields{"Kind": Constant(ofAccess), "PC": PC(), "Addr": Address(), "Value": Value(), "Wide": Value(), "Size": Size(), "Store": Store(), "RDI": Register("rdi")})
	b.Fill(Instructions("any"), Fields{"Kind": Constant(ofInstruction), "PC": PC(), "Length": Length(), "Thread": Thread(), "EAX": Register("ax"), "AH": Register("ah")})
	b.Fill(Instructions("cat=COND_BR"), Fields{"Kind": Constant(ofBranch), "PC": PC(), "Taken": Taken(), "Target": Target(), "Function": Function()})
	b.Fill(Blocks(), Fields{"Kind": Constant(ofBlock), "PC": PC()})
	b.Fill(Entry("", "sort"), Fields{"Kind": Constant(ofEntry), "PC": PC(), "RDI": Register("rdi")})
	return y, all
}

// TestPlansEqualGeneral: plans, looking for room once a block, and tiny buffers yield what the general path yields.
func TestPlansEqualGeneral(t *testing.T) {
	prog := sorting(t)
	var want []fact
	for _, how := range []struct {
		records int
		flags   []string
	}{{1 << 14, []string{"-no-plans"}}, {1 << 14, nil}, {1 << 14, []string{"-advance", "each"}}, {3, nil}, {100, []string{"-sequential", "-bs", "16"}}, {1000, []string{"-buffering", "nway"}}} {
		y, all := facts(how.records)
		if exit, err := runs(t, y, append(how.flags, "-no-aslr"), prog); err != nil || exit == 125 {
			t.Fatal(exit, err)
		}
		if want == nil {
			want = *all
			checkFacts(t, want)
			continue
		}
		if len(*all) != len(want) {
			t.Errorf("%v: %d records, %d by the general path", how, len(*all), len(want))
			continue
		}
		for i := range want {
			if got := (*all)[i]; got != want[i] {
				t.Errorf("%v: record %d: %+v, by the general path %+v", how, i, got, want[i])
				break
			}
		}
	}
}

// TestExecutedByTracer: fields of instructions that the tracer executes.
func TestExecutedByTracer(t *testing.T) {
	prog := fixture(t, "tools/gs.c", "-O1", "-static", "-nostdlib", "-fno-stack-protector")
	y, all := facts(100)
	if exit, err := runs(t, y, nil, prog); err != nil || exit != 0 {
		t.Fatal(exit, err)
	}
	n := 0
	for _, f := range *all {
		if f.Kind == ofAccess && f.Value == 0x1122334455667788 && f.RDI == 0x5a5a {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d of two accesses have their values and registers: %+v", n, *all)
	}
}

// checkFacts holds what is recorded at one place to what is recorded at others.
func checkFacts(t *testing.T, all []fact) {
	t.Helper()
	n := map[uint8]int{}
	stores := map[uint64]byte{}
	var last, block fact
	for _, f := range all {
		n[f.Kind]++
		switch f.Kind {
		case ofAccess:
			if got, ok := stores[f.Addr]; ok && !f.Store && got != byte(f.Value) {
				t.Fatalf("%+v reads what was not written: %d", f, got)
			}
			stores[f.Addr] = byte(f.Value)
			for k := range uint64(f.Size) {
				stores[f.Addr+k] = byte(f.Value >> (8 * k))
			}
			if f.Wide[0] != byte(f.Value) {
				t.Fatalf("%+v: two values", f)
			}
		case ofInstruction:
			if f.AH != byte(f.EAX>>8) || f.Thread != 1 {
				t.Fatalf("%+v", f)
			}
			if last.Kind == ofBranch && last.Taken != (f.PC != block.PC+uint64(block.Length)) {
				t.Fatalf("%+v, and then %+v", last, f)
			}
			last, block = f, f
		case ofBranch:
			last = f
		}
	}
	if n[ofAccess] < 50_000 || n[ofInstruction] < 100_000 || n[ofBranch] != 51453 || n[ofBlock] < n[ofBranch] || n[ofEntry] == 0 {
		t.Errorf("records by kind: %v", n) // lackey counts the branches
	}
}

// TestWindowsAndConditions: conditions and windows leave out what a filter of everything leaves out.
func TestWindowsAndConditions(t *testing.T) {
	prog := sizes(t)
	type store struct{ Size uint32 }
	count := func(at At, flags ...string) (n uint64) {
		y := New("count")
		var mu sync.Mutex
		Define(y, Buffer[store]{Full: func(b *Batch[store]) []store {
			mu.Lock()
			defer mu.Unlock()
			n += uint64(len(b.Records))
			return b.Records
		}}).Fill(at, Fields{"Size": Size()})
		if exit, err := runs(t, y, flags, prog); err != nil || exit != 7 {
			t.Fatal(exit, err)
		}
		return n
	}
	const stored = 3 * 200 * 201 / 2
	stores := Accesses("anyMem").In("main", "fill").When(Condition{Store(), 1, 1})
	for _, flags := range [][]string{nil, {"-no-plans"}} {
		if n := count(stores, flags...); n != stored {
			t.Errorf("%d stores, the source has %d", n, stored)
		}
		if n := count(Accesses("anyMem").In("main", "fill").When(Condition{Value(), 100, 199}), flags...); n < 3*100*101/2 || n >= 2*stored {
			t.Errorf("%d accesses with values from 100 to 199", n)
		}
		if n := count(stores.Between(`<Call name="fill" threshold="599"/>`, ""), flags...); n != 199+200 {
			t.Errorf("%d stores from the last but one call on", n)
		}
	}
}

// TestSelection: records are made of the threads and processes that a place names, also where another place wants all of them.
func TestSelection(t *testing.T) {
	type store struct {
		Kind uint8
		PC   uint64
	}
	type from struct {
		process, thread uint32
		kind            uint8
	}
	count := func(prog []string, flags []string, at ...At) map[from]int {
		y := New("selected")
		var mu sync.Mutex
		n := map[from]int{}
		b := Define(y, Buffer[store]{Full: func(b *Batch[store]) []store {
			mu.Lock()
			defer mu.Unlock()
			for _, r := range b.Records {
				n[from{b.Process, b.Thread, r.Kind}]++
			}
			return b.Records
		}})
		for k, one := range at {
			b.Fill(one, Fields{"Kind": Constant(uint64(k)), "PC": PC()})
		}
		if _, err := runs(t, y, flags, prog...); err != nil {
			t.Fatal(err)
		}
		return n
	}
	prog := sizes(t)
	const each = 200 * 201 / 2
	stores := Accesses("anyMem").In("", "fill").When(Condition{Store(), 1, 1})
	for _, flags := range [][]string{nil, {"-no-plans"}, {"-engine", "no-conditions"}} {
		got := count([]string{prog}, flags, stores, stores.By("", 2))
		if want := map[from]int{{1, 1, 0}: each, {1, 2, 0}: each, {1, 3, 0}: each, {1, 2, 1}: each}; !maps.Equal(got, want) {
			t.Errorf("%v: stores by process, thread and place: %v, want %v", flags, got, want)
		}
	}
	if got := count([]string{prog}, nil, stores.By("1", 3), stores.By("2", 0)); got[from{1, 3, 0}] != each || len(got) != 1 {
		t.Errorf("thread 3 of process 1: %v", got)
	}
	shell := []string{"sh", "-c", prog + "; " + prog + "; true"}
	if got := count(shell, nil, stores.By("siz*", 1), stores.By("3", 2), stores.By(prog, 3), stores.By("sh", 0)); got[from{2, 1, 0}] != each || got[from{3, 1, 0}] != each || got[from{3, 2, 1}] != each ||
		got[from{2, 3, 2}] != each || got[from{3, 3, 2}] != each || len(got) != 5 {
		t.Errorf("two processes of a shell: %v", got)
	}
}

// TestThreads: each thread's buffers come in order and to their end, and functions have their names.
func TestThreads(t *testing.T) {
	type call struct {
		Size     uint64
		Function uint32
		Thread   uint8
	}
	y := New("sizes")
	var mu sync.Mutex
	sum, final := map[uint32]uint64{}, map[uint32]int{}
	own := make([]call, 0)
	var kind *Type[call]
	kind = Define(y, Buffer[call]{Records: 7, Buffers: 3, Full: func(b *Batch[call]) []call {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range b.Records {
			name, image := b.Function(c.Function)
			if name != "fill" || image != "sizes" || uint32(c.Thread) != b.Thread || b.Process != 1 || final[b.Thread] > 0 {
				t.Errorf("%+v of %s in %s, thread %d", c, name, image, b.Thread)
			}
			sum[b.Thread] += c.Size
		}
		if b.Final {
			final[b.Thread]++
		}
		if cap(own) == 0 { // buffers go from hand to hand
			own = kind.Allocate()
		}
		next := own
		own = b.Records
		return next
	}})
	kind.Fill(Entry("main", "fill"), Fields{"Size": Register("esi"), "Function": Function(), "Thread": Thread()})
	y.Done = func(io.Writer) { kind.Free(own) }
	exit, err := runs(t, y, nil, sizes(t))
	if err == nil || !strings.Contains(err.Error(), "1 buffers of call") { // Done comes behind
		t.Errorf("%v", err)
	}
	for n := uint32(1); n <= 3; n++ {
		if sum[n] != 200*201/2 || final[n] != 1 {
			t.Errorf("thread %d: %d bytes, ended %d times", n, sum[n], final[n])
		}
	}
	if exit != 7 {
		t.Errorf("exit status %d", exit)
	}
}

// TestFailures: an analysis that does what it must not is over, with its name and place, and the program is as it was.
func TestFailures(t *testing.T) {
	prog := sizes(t)
	type ref struct{ Addr uint64 }
	for want, full := range map[string]func(*Type[ref], *Batch[ref]) []ref{
		"analysis bad of process 1 ended: the callback of ref panicked: it is wrong, at tool_test.go:": func(*Type[ref], *Batch[ref]) []ref { panic("it is wrong") },
		"the callback of ref has been at one buffer for more than 100ms, at tool_test.go:":             func(*Type[ref], *Batch[ref]) []ref { select {} },
		"it leaks buffers of ref (tool_test.go:":                                                       func(*Type[ref], *Batch[ref]) []ref { return nil },
		"were not given back, the latest since tool_test.go:":                                          func(k *Type[ref], b *Batch[ref]) []ref { k.Allocate(); return b.Records },
		"that is neither the one that it got nor one of the user's":                                    func(*Type[ref], *Batch[ref]) []ref { return make([]ref, 10) },
		"Free of a buffer of ref that is not the user's, at tool_test.go:":                             func(k *Type[ref], b *Batch[ref]) []ref { k.Free(b.Records); return b.Records },
	} {
		y := New("bad")
		y.Limit = 100 * time.Millisecond
		var k *Type[ref]
		k = Define(y, Buffer[ref]{Records: 10, Most: 5, Full: func(b *Batch[ref]) []ref { return full(k, b) }})
		k.Fill(Accesses("anyMem"), Fields{"Addr": Address()})
		exit, err := runs(t, y, nil, prog)
		if err == nil || !strings.Contains(err.Error(), want) || exit != 7 {
			t.Errorf("exit status %d, %v; want %q", exit, err, want)
		}
	}
}

// TestDefinitions: what cannot be is refused before anything runs, with the place in the user's code.
func TestDefinitions(t *testing.T) {
	type ref struct {
		Addr uint64
		Few  [3]byte
	}
	type text struct{ S string }
	ok := func(b *Batch[ref]) []ref { return b.Records }
	for want, define := range map[string]func(*Tool){
		"tool.ref has no field Size":         func(y *Tool) { Define(y, Buffer[ref]{Full: ok}).Fill(Accesses("anyMem"), Fields{"Size": Size()}) },
		"addresses, sizes and values are of": func(y *Tool) { Define(y, Buffer[ref]{Full: ok}).Fill(Instructions("any"), Fields{"Addr": Address()}) },
		`there is no register "rdz"`: func(y *Tool) {
			Define(y, Buffer[ref]{Full: ok}).Fill(Instructions("any"), Fields{"Addr": Register("rdz")})
		},
		"make it [16]byte": func(y *Tool) {
			Define(y, Buffer[ref]{Full: ok}).Fill(Instructions("any"), Fields{"Addr": Register("xmm1")})
		},
		"Few is an array":                func(y *Tool) { Define(y, Buffer[ref]{Full: ok}).Fill(Instructions("any"), Fields{"Few": PC()}) },
		`"moves" selects nothing`:        func(y *Tool) { Define(y, Buffer[ref]{Full: ok}).Fill(Instructions("moves"), Fields{"Addr": PC()}) },
		"its name is missing":            func(y *Tool) { Define(y, Buffer[ref]{Full: ok}).Fill(Entry("main", ""), Fields{"Addr": PC()}) },
		"Full is missing":                func(y *Tool) { Define(y, Buffer[ref]{}).Fill(Instructions("any"), Fields{"Addr": PC()}) },
		"field S of tool.text is string": func(y *Tool) { Define(y, Buffer[text]{Full: func(b *Batch[text]) []text { return nil }}) },
		"On cannot hold an element Nothing": func(y *Tool) {
			Define(y, Buffer[ref]{Full: ok}).Fill(Blocks().Between("<Nothing/>", ""), Fields{"Addr": PC()})
		},
		"both are counted from 1": func(y *Tool) { Define(y, Buffer[ref]{Full: ok}).Fill(Blocks().By("0", 1), Fields{"Addr": PC()}) },
		`class="RET_NEAR" is not known to the decoder and will match nothing; the nearest known one is "RET"`: func(y *Tool) {
			Define(y, Buffer[ref]{Full: ok}).Fill(Instructions("class=RET_NEAR"), Fields{"Addr": PC()})
		},
		`cat="COND_BRA" is not known to the decoder and will match nothing; the nearest known one is "COND_BR"`: func(y *Tool) {
			Define(y, Buffer[ref]{Full: ok}).Fill(Accesses("any"), Fields{"Addr": Address()})
			Define(y, Buffer[ref]{Full: ok}).Fill(Accesses("cat=COND_BRA"), Fields{"Addr": Address()})
		},
		"there are 0 places": func(y *Tool) { Define(y, Buffer[ref]{Full: ok}) },
	} {
		y := New("wrong")
		define(y)
		if exit := y.main([]string{"/bin/true"}); exit != 2 {
			t.Errorf("%s: exit status %d", want, exit)
		}
		_, err := y.Run(context.Background(), []string{"/bin/true"}, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// TestEndings: what ends an analysis from elsewhere than its callback, or behind the program's end, is told with its place; the program is
// as it was, and Done is called all the same.
func TestEndings(t *testing.T) {
	prog := sizes(t)
	type ref struct{ Addr uint64 }
	for want, ends := range map[string]func(y *Tool, begun func()){
		"analysis bad: Done panicked: not so, at tool_test.go:": func(y *Tool, begun func()) { y.Done = func(io.Writer) { begun(); panic("not so") } },
		"analysis bad of process 1 ended: a goroutine begun at tool_test.go:": func(y *Tool, begun func()) {
			y.Go(func() { begun(); panic("it is wrong") })
		},
		"analysis bad of process 1 ended: enough, at tool_test.go:": func(y *Tool, begun func()) { go func() { begun(); y.Fail(errors.New("enough")) }() },
	} {
		y := New("bad")
		begun, done := false, false
		y.Done = func(io.Writer) { done = true }
		hold := make(chan struct{})
		k := Define(y, Buffer[ref]{Records: 10, Buffers: 1, Full: func(b *Batch[ref]) []ref {
			select {
			case <-hold:
			case <-y.over.done: // an analysis that is over gets no further buffers
			}
			return b.Records
		}})
		k.Fill(Accesses("anyMem"), Fields{"Addr": Address()})
		ends(y, func() { begun = true })
		if strings.Contains(want, "Done") {
			done = true
			close(hold)
		}
		exit, err := runs(t, y, nil, prog)
		if err == nil || !strings.Contains(err.Error(), want) || exit != 7 || !begun || !done {
			t.Errorf("exit status %d, %v; want %q; begun %v, done %v", exit, err, want, begun, done)
		}
	}
}

// TestGoexit: a callback that ends its goroutine ends the analysis, and does not have the program wait for it.
func TestGoexit(t *testing.T) {
	type ref struct{ Addr uint64 }
	y := New("bad")
	Define(y, Buffer[ref]{Records: 10, Full: func(b *Batch[ref]) []ref { runtime.Goexit(); return b.Records }}).Fill(Accesses("anyMem"), Fields{"Addr": Address()})
	exit, err := runs(t, y, nil, sizes(t))
	if err == nil || !strings.Contains(err.Error(), "ended its goroutine (runtime.Goexit)") || exit != 7 {
		t.Errorf("exit status %d, %v", exit, err)
	}
}
