package acceptance

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// stepped is one instruction of a whole run, with what had been counted once it had
// executed.
type stepped struct {
	addr                 uint64
	total, reads, writes uint64
	ret                  bool // it is a return
}

// wholeRun records all of a program of one thread and returns its instructions in
// order.
func wholeRun(t *testing.T, dir, prog string) []stepped {
	t.Helper()
	writeConfig(t, dir, everything(""))
	if r := run(t, command{argv: []string{alleria(), "-q", "record", "--force", "-c", "w.xml", "-o", profileDir, "--", prog}, dir: dir}); len(r.stderr) > 0 {
		t.Fatalf("record: %s", clip(r.stderr))
	}
	r := run(t, command{argv: []string{alleria(), "dump", "--no-bytes", profileDir}, dir: dir})
	var out []stepped
	var loads, stores uint64
	for line := range strings.Lines(string(r.stdout)) {
		f := strings.Fields(line)
		switch {
		case len(f) < 2:
		case f[0] == "load":
			loads++
		case f[0] == "store":
			stores++
		case f[0][0] >= '0' && f[0][0] <= '9':
			at, _ := strconv.ParseUint(strings.TrimPrefix(f[1], "0x"), 16, 64)
			out = append(out, stepped{addr: at, ret: len(f) > 3 && f[3] == "ret"})
		}
		if len(out) > 0 {
			s := &out[len(out)-1]
			s.total, s.reads, s.writes = loads+stores, loads, stores
		}
	}
	if len(out) < 1000 {
		t.Fatalf("%d instructions", len(out))
	}
	return out
}

// counter is an event on a count, and where it has to fire in a whole run.
type counter struct {
	event string
	index int // of the instruction before which it fires
}

// randomCounter makes one that fires behind instruction from, so that a window can
// close after it has opened there; 0 where it may be anywhere.
func randomCounter(rng *rand.Rand, whole []stepped, from int) counter {
	last := len(whole) - 2
	at := from + 1 + rng.IntN(last-from)
	// reach is where a count is reached that is that of instruction at, or one of
	// those that it passes over.
	reach := func(of func(*stepped) uint64) (n uint64, index int) {
		n = of(&whole[at])
		if n > of(&whole[from])+1 && rng.IntN(2) == 0 {
			n-- // possibly within an instruction
		}
		return n, 1 + sort.Search(len(whole), func(i int) bool { return of(&whole[i]) >= n })
	}
	total := func(s *stepped) uint64 { return s.total }
	reads := func(s *stepped) uint64 { return s.reads }
	writes := func(s *stepped) uint64 { return s.writes }
	var c counter
	var n, m uint64
	switch rng.IntN(5) {
	case 0:
		n, c.index = reach(total)
		c.event = fmt.Sprintf(`<Accesses total="%d"/>`, n)
	case 1:
		n, c.index = reach(reads)
		c.event = fmt.Sprintf(`<Accesses reads="%d"/>`, n)
	case 2:
		n, c.index = reach(writes)
		c.event = fmt.Sprintf(`<Accesses writes="%d" thread="1"/>`, n)
	case 3:
		var i, j int
		n, i = reach(reads)
		m, j = reach(writes)
		c.index = max(i, j)
		c.event = fmt.Sprintf(`<Accesses reads="%d" writes="%d" anyThread="true"/>`, n, m)
	default:
		c.index = at
		c.event = fmt.Sprintf(`<Instructions threshold="%d"/>`, at)
		n = 1
	}
	if n == 0 || c.index <= from || c.index > last {
		return randomCounter(rng, whole, from)
	}
	return c
}

// windowRow is what report says of a window.
type windowRow struct {
	Name         string
	Openings     int
	Instructions uint64
	First        *struct {
		Address uint64
		Closed  *struct{ Address uint64 }
	}
}

// reportedWindows reads the windows of the one process of a profile.
func reportedWindows(t *testing.T, dir string) map[string]windowRow {
	t.Helper()
	var rep struct {
		Processes []struct{ Windows []windowRow }
	}
	r := run(t, command{argv: []string{alleria(), "report", "--json", profileDir}, dir: dir})
	if err := json.Unmarshal(r.stdout, &rep); err != nil || len(rep.Processes) != 1 {
		t.Fatalf("report: %v\n%s", err, clip(r.stdout))
	}
	out := make(map[string]windowRow)
	for _, w := range rep.Processes[0].Windows {
		out[w.Name] = w
	}
	return out
}

// profileAll is what the windows of these tests record.
const profileAll = `<Profile><Process><Thread><Image><Function><Instruction cat="any"/></Function></Image></Thread></Process></Profile>`

// TestWindowsAtRandomCounts opens and closes windows at a thousand random counts
// of instructions and accesses and compares the places with a whole run's.
func TestWindowsAtRandomCounts(t *testing.T) {
	t.Parallel()
	runs, windows := 20, 25
	if testing.Short() {
		runs = 4
	}
	rng := rand.New(rand.NewPCG(7, 11))
	for _, p := range []struct{ file, flags, needs string }{
		{"../../testdata/counts/sort.c", "-static -nostdlib -fno-stack-protector -fno-tree-vectorize", ""},
		{"../../testdata/events/accesses.S", "-nostdlib -static -no-pie", "avx512bw"},
	} {
		if p.needs != "" && !cpuHas(p.needs) {
			t.Logf("%s: this processor has no %s", p.file, p.needs)
			continue
		}
		dir := workDir(t)
		prog := build(t, p.file, p.flags)
		whole := wholeRun(t, dir, prog)
		for range runs / 2 {
			randomWindows(t, rng, dir, prog, whole, windows)
		}
	}
}

// randomWindows records a program with that many windows on random counts.
func randomWindows(t *testing.T, rng *rand.Rand, dir, prog string, whole []stepped, windows int) {
	t.Helper()
	var config strings.Builder
	on, till := make([]counter, windows), make([]counter, windows)
	for i := range windows {
		on[i] = randomCounter(rng, whole, 0)
		till[i] = randomCounter(rng, whole, on[i].index)
		fmt.Fprintf(&config, `<Window name="w%d"><On>%s</On><Till>%s</Till>%s</Window>`, i, on[i].event, till[i].event, profileAll)
	}
	writeConfig(t, dir, `<AlleriaConfig version="1.0">`+config.String()+`</AlleriaConfig>`)
	r := run(t, command{argv: []string{alleria(), "-q", "record", "--force", "-c", "w.xml", "-o", profileDir, "--", prog}, dir: dir})
	if len(r.stderr) > 0 {
		t.Fatalf("record: %s", clip(r.stderr))
	}
	got := reportedWindows(t, dir)
	for i := range windows {
		w := got[fmt.Sprintf("w%d", i)]
		what := fmt.Sprintf("on %s (%d), till %s (%d)", on[i].event, on[i].index, till[i].event, till[i].index)
		switch {
		case w.First == nil || w.First.Closed == nil || w.Openings != 1:
			t.Errorf("%s: %+v", what, w)
		case w.First.Address != whole[on[i].index].addr:
			t.Errorf("%s: opened before %#x, want %#x", what, w.First.Address, whole[on[i].index].addr)
		case w.First.Closed.Address != whole[till[i].index].addr:
			t.Errorf("%s: closed before %#x, want %#x", what, w.First.Closed.Address, whole[till[i].index].addr)
		case w.Instructions != uint64(till[i].index-on[i].index):
			t.Errorf("%s: %d instructions, want %d", what, w.Instructions, till[i].index-on[i].index)
		}
	}
}

// TestCountsSinceOpen closes windows a count after their opening, also each time
// they reopen.
func TestCountsSinceOpen(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/sort.c", "-static -nostdlib -fno-stack-protector -fno-tree-vectorize")
	whole := wholeRun(t, dir, prog)
	after := func(from int, done func(a, b *stepped) bool) int {
		i := from
		for !done(&whole[from-1], &whole[i]) {
			i++
		}
		return i + 1
	}
	n := len(whole)
	for _, c := range []struct {
		attrs, events string
		openings      int
		instructions  int // while open, in all
	}{
		{``, `<On><Instructions threshold="1000"/></On><Till><Instructions threshold="321" since="open"/></Till>`, 1, 321},
		{``, `<Till><Instructions threshold="1" since="open"/></Till>`, 1, 1},
		{``, `<On><Instructions threshold="1000"/></On><Till><Accesses total="321" since="open" thread="1"/></Till>`, 1,
			after(1000, func(a, b *stepped) bool { return b.total-a.total >= 321 }) - 1000},
		{``, `<On><Accesses writes="77"/></On><Till><Accesses reads="100" writes="50" since="open"/></Till>`, 1, func() int {
			from := after(1, func(_, b *stepped) bool { return b.writes >= 77 })
			return after(from, func(a, b *stepped) bool { return b.reads-a.reads >= 100 && b.writes-a.writes >= 50 }) - from
		}()},
		{`reopenable="true"`, `<On><Call name="next"/></On><Till><Instructions threshold="3" since="open"/></Till>`, 2000, 6000},
		{`reopenable="true"`, `<On><Call name="next" threshold="3"/></On><Till><Instructions threshold="5" since="open" anyThread="true"/></Till>`, 666, 3330},
		{``, `<On><Sample period="1000" burst="10"/></On>`, (n - 1) / 1000, 10 * ((n - 11) / 1000)},
		{`reopenable="true"`, `<On><Sample period="777" burst="776"/></On>`, (n - 1) / 777, (n - n%777) - 777 - n/777 + 1 + min(n%777, 776)},
	} {
		writeConfig(t, dir, `<AlleriaConfig version="1.0"><Window name="w" `+c.attrs+`>`+c.events+profileAll+`</Window></AlleriaConfig>`)
		r := run(t, command{argv: []string{alleria(), "-q", "record", "--force", "-c", "w.xml", "-o", profileDir, "--", prog}, dir: dir})
		if len(r.stderr) > 0 {
			t.Fatalf("%s: %s", c.events, clip(r.stderr))
		}
		w := reportedWindows(t, dir)["w"]
		if w.Openings != c.openings || w.Instructions != uint64(c.instructions) {
			t.Errorf("%s: %d openings, %d instructions; want %d, %d", c.events, w.Openings, w.Instructions, c.openings, c.instructions)
		}
	}
}
