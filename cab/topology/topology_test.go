package topology

import (
	"fmt"
	"slices"
	"testing"
	"testing/fstest"
)

// machine describes one as the kernel does: processors 0 to n-1, of which siblings(i) share a core and last(i) the cache of the highest level.
func machine(n int, levels int, l1 func(int) int, siblings, last func(int) string) fstest.MapFS {
	sys := fstest.MapFS{"possible": {Data: []byte("x")}, "cpufreq/x": {Data: []byte("1")}}
	put := func(name string, v any) { sys[name] = &fstest.MapFile{Data: []byte(fmt.Sprintln(v))} }
	for i := range n {
		dir := fmt.Sprintf("cpu%d/", i)
		put(dir+"topology/core_cpus_list", siblings(i))
		put(dir+"cache/index0/level", 1)
		put(dir+"cache/index0/type", "Data")
		put(dir+"cache/index0/size", fmt.Sprintf("%dK", l1(i)))
		put(dir+"cache/index0/shared_cpu_list", siblings(i))
		put(dir+"cache/index1/level", 1)
		put(dir+"cache/index1/type", "Instruction")
		put(dir+"cache/index1/size", "16K")
		for k := 2; k <= levels; k++ {
			with := siblings(i)
			if k == levels {
				with = last(i)
			}
			put(fmt.Sprintf("%scache/index%d/level", dir, k), k)
			put(fmt.Sprintf("%scache/index%d/type", dir, k), "Unified")
			put(fmt.Sprintf("%scache/index%d/shared_cpu_list", dir, k), with)
		}
	}
	return sys
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// xeon has two sockets of 16 cores, whose second threads are numbered behind all first ones; epyc has eight caches of eight cores without siblings;
// hybrid has eight processors on four large cores and eight small ones, all beside one cache; old has no cache beyond its cores'.
var (
	xeon = machine(64, 3, func(int) int { return 48 }, func(i int) string { return fmt.Sprintf("%d,%d", i%32, i%32+32) },
		func(i int) string { s := i % 32 / 16 * 16; return fmt.Sprintf("%d-%d,%d-%d", s, s+15, s+32, s+47) })
	epyc = machine(64, 3, func(int) int { return 32 }, func(i int) string { return fmt.Sprint(i) },
		func(i int) string { return fmt.Sprintf("%d-%d", i/8*8, i/8*8+7) })
	hybrid = machine(16, 3, func(i int) int { return 48 - 16*(i/8) }, func(i int) string {
		if i < 8 {
			return fmt.Sprintf("%d-%d", i/2*2, i/2*2+1)
		}
		return fmt.Sprint(i)
	}, func(int) string { return "0-15" })
	old = machine(4, 1, func(int) int { return 0 }, func(i int) string { return fmt.Sprint(i) }, nil)
)

// TestChoose: on described machines, processing threads are kept beside the program where there is something to choose and room, and nowhere else.
func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name      string
		sys       fstest.MapFS
		allowed   []int
		producers []int
		threads   int
		want      string // "" anywhere
		why       string
	}{
		{"xeon, first socket", xeon, upTo(64), []int{3, 40}, 2, "0-15,32-47", ""},
		{"xeon, second socket by a sibling", xeon, upTo(64), []int{63}, 1, "16-31,48-63", ""},
		{"xeon, both sockets", xeon, upTo(64), []int{3, 20}, 2, "", whySpread},
		{"xeon, sixteen cores for seventeen, whatever their siblings", xeon, upTo(64), make([]int, 15), 2, "", whyFull},
		{"xeon, sixteen cores for sixteen", xeon, upTo(64), make([]int, 14), 2, "0-15,32-47", ""},
		{"xeon, a cpuset within a socket", xeon, []int{0, 1, 2, 3}, []int{1}, 1, "", whyShared},
		{"xeon, taskset on four of each", xeon, []int{0, 1, 2, 3, 16, 17, 18, 19}, []int{17}, 2, "16-19", ""},
		{"xeon, a program that runs elsewhere by a mask of its own", xeon, []int{0, 1, 16, 17}, []int{5}, 1, "0-1", ""},
		{"xeon, a program elsewhere for good", xeon, []int{0, 1}, []int{20}, 1, "", whyShared},
		{"epyc, a program elsewhere for good", epyc, []int{0, 8}, []int{20}, 1, "", whyElsewhere},
		{"epyc", epyc, upTo(64), []int{9}, 1, "8-15", ""},
		{"epyc, three caches", epyc, upTo(64), []int{9, 10, 63, 0}, 4, "0-15,56-63", ""},
		{"epyc, a full cache", epyc, upTo(64), []int{8, 9, 10, 11, 12, 13, 14, 15}, 1, "", whyFull},
		{"epyc, nobody runs", epyc, upTo(64), nil, 1, "", whyIdle},
		{"epyc, one processor", epyc, []int{9}, []int{9}, 1, "", whyOne},
		{"epyc, offline processors that the mask still has", epyc, []int{0, 1, 70}, []int{0}, 1, "", whyUnknown},
		{"hybrid", hybrid, upTo(16), []int{0}, 4, "", whyShared},
		{"no caches", old, upTo(4), []int{0}, 1, "0", whyFull},
		{"nothing known", fstest.MapFS{}, upTo(4), []int{0}, 1, "", whyUnknown},
	} {
		got := Read(c.sys).Choose(Facts{Allowed: c.allowed, Producers: c.producers, Threads: c.threads})
		if c.why != "" {
			if got.CPUs != nil || got.Why != c.why {
				t.Errorf("%s: %v, %q, want none, %q", c.name, got.CPUs, got.Why, c.why)
			}
			continue
		}
		if text := FormatList(got.CPUs); text != c.want {
			t.Errorf("%s: %q (%s), want %q", c.name, text, got.Why, c.want)
		}
	}
}

// counting counts what is read.
type counting struct {
	fstest.MapFS
	read int
}

func (c *counting) ReadFile(name string) ([]byte, error) {
	c.read++
	return c.MapFS.ReadFile(name)
}

// TestReadsOnce: each processor is what its own files say, of which few are read where others have said it.
func TestReadsOnce(t *testing.T) {
	for name, c := range map[string]struct {
		sys  fstest.MapFS
		most int // files
		want func(id int) Processor
	}{
		"xeon":   {xeon, 32*5 + 2*10, func(i int) Processor { return Processor{i, i % 32, i % 32 / 16 * 16, 48 << 10} }},
		"epyc":   {epyc, 64*5 + 8*10, func(i int) Processor { return Processor{i, i, i / 8 * 8, 32 << 10} }},
		"hybrid": {hybrid, 12*5 + 10, func(i int) Processor { return Processor{i, i - i%2*((15-i)/8), 0, (48 - 16*(i/8)) << 10} }},
		"old":    {old, 4 * 7, func(i int) Processor { return Processor{i, i, i, 0} }},
	} {
		sys := &counting{MapFS: c.sys}
		m := Read(sys)
		for i, p := range m {
			if p != c.want(i) {
				t.Errorf("%s: processor %d is %+v, not %+v", name, i, p, c.want(i))
			}
		}
		if sys.read == 0 || sys.read > c.most {
			t.Errorf("%s: %d files are read, at most %d are to be", name, sys.read, c.most)
		}
	}
}

// TestChunk: by the smallest first-level cache of data that may be used.
func TestChunk(t *testing.T) {
	for _, c := range []struct {
		name    string
		sys     fstest.MapFS
		allowed []int
		kib     int
	}{{"xeon", xeon, upTo(64), 256}, {"epyc", epyc, upTo(64), 256}, {"hybrid", hybrid, upTo(16), 256},
		{"unknown", old, upTo(4), 256}, {"small", machine(1, 2, func(int) int { return 16 }, func(int) string { return "0" }, func(int) string { return "0" }), upTo(1), 128},
		{"large", machine(1, 2, func(int) int { return 128 }, func(int) string { return "0" }, func(int) string { return "0" }), upTo(1), 1024},
		{"absurd", machine(1, 2, func(int) int { return 1 << 20 }, func(int) string { return "0" }, func(int) string { return "0" }), upTo(1), 1024}} {
		if got := Read(c.sys).Chunk(c.allowed); got != c.kib<<10 {
			t.Errorf("%s: %d KiB, want %d", c.name, got>>10, c.kib)
		}
	}
}

// FuzzParseList: what is accepted is sorted, written as it was, and read again.
func FuzzParseList(f *testing.F) {
	for _, s := range []string{"", "0", "0-3,8,10-11", "1-0", "a", "0-", "-1", "0-99999999", "3,1,2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseList(s)
		if err != nil {
			if l != nil {
				t.Errorf("%v and %v", l, err)
			}
			return
		}
		again, err := ParseList(FormatList(l))
		if err != nil || !slices.Equal(l, again) || !slices.IsSorted(l) {
			t.Errorf("%q: %v, then %v, %v", s, l, again, err)
		}
	})
}
