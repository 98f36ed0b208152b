package difftest

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"alleria/cab"
	"alleria/engine"
	"alleria/engine/launch"
	"alleria/internal/capture"
	"alleria/internal/records"
)

// interceptor is a client that captures functions of a program.
type interceptor struct {
	*recorder
	mode     engine.Mode
	notified func(*engine.Thread, uint64, engine.NotifiedRegs)
	discard  bool                        // words are not kept
	slow     uint64                      // moments that the tracer has captured
	progs    map[string]*capture.Program // by function
	names    []string                    // by number
	path     string
	threads  []*engine.Thread
	words    map[*engine.Thread][]uint64
	at       func(p *engine.Process, addr func(string) uint64) // when everything is armed
}

// soloIntercept is the client of a run of one process.
type soloIntercept struct {
	alone
	c *interceptor
}

func (s soloIntercept) Traced(*engine.Process) engine.Handler { return s.c }

func (c *interceptor) Started(p *engine.Process) error {
	if err := c.recorder.Started(p); err != nil {
		return err
	}
	c.timer.Reset(6 * runTimeout) // threads that are stopped all the time take long where others use the processors
	p.SetMode(c.mode)
	c.blocks = p.Blocks()
	if c.pool == nil {
		c.pool = cab.NewPool(cab.NewBell(p.BellMemory()), time.Hour, []cab.Sink{&callSink{c: c}}, func(err error) { c.poolErr = err })
	}
	addr, err := addresses(c.path, p.PID())
	if err != nil {
		return err
	}
	c.names = nil
	for name := range c.progs {
		c.names = append(c.names, name)
	}
	slices.Sort(c.names)
	for i, name := range c.names {
		if err := p.Intercept(addr(name), uint32(i), c.progs[name]); err != nil {
			return err
		}
	}
	if c.at != nil {
		c.at(p, addr)
	}
	return nil
}

func (c *interceptor) ThreadStarted(t *engine.Thread) error {
	c.threads = append(c.threads, t)
	return c.recorder.ThreadStarted(t)
}

func (c *interceptor) ThreadEnded(t *engine.Thread) {
	c.slow += t.SlowCaptures()
	c.recorder.ThreadEnded(t)
}

func (c *interceptor) Notified(t *engine.Thread, addr uint64, regs engine.NotifiedRegs) {
	c.notified(t, addr, regs)
}

// addresses tells where a program's functions are in a process.
func addresses(path string, pid int) (func(string) uint64, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	symbols, _ := f.Symbols() // of a program without, where it begins is all that is known
	base := uint64(0)
	if f.Type == elf.ET_DYN {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil {
			return nil, err
		}
		for _, line := range strings.Split(string(maps), "\n") {
			if strings.HasSuffix(line, path) {
				fmt.Sscanf(line, "%x-", &base)
				break
			}
		}
	}
	at := map[string]uint64{"": base}
	for _, s := range symbols {
		at[s.Name] = s.Value + base
	}
	return func(name string) uint64 { return at[name] }, nil
}

// callSink keeps the words of all threads.
type callSink struct {
	cab.Sink
	c *interceptor
}

func (s *callSink) Consume(tag any, ch cab.Chunk) error {
	t := tag.(*engine.Thread)
	if s.c.discard {
		return nil
	}
	s.c.words[t] = append(s.c.words[t], ch.Words...)
	return nil
}

func (s *callSink) Flush() error    { return nil }
func (s *callSink) Leave(any) error { return nil }

// calls takes the captured calls out of a thread's words; times are left out.
func (c *interceptor) calls(t *testing.T, th *engine.Thread) [][]uint64 {
	t.Helper()
	var all [][]uint64
	words := c.words[th]
	for len(words) > 0 {
		w := words[0]
		n := 1
		switch kind := w >> records.MarkShift; kind {
		case records.MarkCall:
			n = 1 + int(w&records.MarkPayload)
			call := slices.Clone(words[1:n])
			call[1] = 0
			all = append(all, call)
		case records.MarkSkip, records.MarkNote:
			n = 1 + int(w&records.MarkPayload)
		case records.MarkFS, records.MarkGS, records.MarkWindows:
			n = 2
		case records.MarkSwitch, records.MarkThread:
			n = 4
		case records.MarkCut:
			n = 1
		case records.MarkEmulated:
			n = 2 + 2*int(words[1])
		default:
			if kind != 0 {
				t.Fatalf("word %#x", w)
			}
			id, _ := records.SplitNumber(w)
			b := c.blocks.Get(id)
			if b == nil {
				t.Fatalf("no block %d", id)
			}
			n = 1 + b.Words
		}
		words = words[n:]
	}
	return all
}

// intercept runs a program with functions intercepted.
func intercept(t testing.TB, path string, mode engine.Mode, progs map[string]*capture.Program, opts func(*engine.Options), more ...func(*interceptor)) (outcome, *interceptor) {
	t.Helper()
	c := &interceptor{recorder: &recorder{v: variant{name: t.Name(), mode: engine.ModePlain, want: records.InsRecorded}, rings: map[*engine.Thread]*cab.Ring{}},
		mode: mode, progs: progs, path: path, words: make(map[*engine.Thread][]uint64)}
	for _, f := range more {
		f(c)
	}
	o := engine.Options{Program: launch.Program{Path: path, Argv: []string{path}, Env: environment(), NoASLR: true}, ChunkBytes: 64 << 10, Chunks: 2}
	if opts != nil {
		opts(&o)
	}
	var st engine.Status
	var err error
	out := captured(t, func() { st, err = engine.New(o, soloIntercept{alone{c.recorder}, c}).Run() })
	if err != nil {
		t.Errorf("translator: %v", err)
		killChildren()
	}
	if c.poolErr != nil {
		t.Errorf("ring: %v", c.poolErr)
	}
	return outcome{ended(st.Exited, st.Code, int(st.Signal)), out}, c
}

func gpr(n uint32) capture.Item {
	return capture.Item{Src: capture.Source{Kind: capture.GPR, N: n}, Bytes: 8}
}

// pointing is an integer register that points to something.
func pointing(n uint32, to *capture.Target) capture.Item {
	it := gpr(n)
	it.Points = []capture.Pointer{{Target: to}}
	return it
}

const (
	rax = 0
	rcx = 1
	rdx = 2
	rsi = 6
	rdi = 7
	r8  = 8
	r9  = 9
)

// fixturePrograms is what is captured of testdata/intercept/calls.c.
func fixturePrograms() map[string]*capture.Program {
	str := &capture.Target{Size: 1, Len: capture.Length{Kind: capture.Sentinel}, Max: 64}
	node := &capture.Target{Size: 16, Len: capture.Length{Kind: capture.Fixed, N: 1}, Max: 16}
	node.Points = []capture.Pointer{{Off: 0, Target: node}}
	vec := func(n, bytes uint32) capture.Item {
		return capture.Item{Src: capture.Source{Kind: capture.Vector, N: n}, Bytes: bytes}
	}
	result := []capture.Item{gpr(rax)}
	prog := func(entry, exit []capture.Item) *capture.Program {
		return &capture.Program{Entry: entry, Exit: exit, Returns: true, MaxBytes: 4096}
	}
	filled := &capture.Target{Size: 1, Len: capture.Length{Kind: capture.Count, Var: capture.Var{Src: capture.Source{Kind: capture.Saved, N: 1}, Bytes: 8}}, Max: 32}
	fill := prog([]capture.Item{gpr(rdi), gpr(rsi)}, []capture.Item{{Src: capture.Source{Kind: capture.Saved}, Bytes: 8, Points: []capture.Pointer{{Target: filled}}}})
	fill.Saves = []capture.Source{{Kind: capture.GPR, N: rdi}, {Kind: capture.GPR, N: rsi}}
	return map[string]*capture.Program{
		"add2":    prog([]capture.Item{gpr(rdi), gpr(rsi)}, result),
		"text":    prog([]capture.Item{pointing(rdi, str)}, result),
		"recurse": prog([]capture.Item{gpr(rdi)}, result),
		"scale":   prog([]capture.Item{vec(0, 8), vec(1, 8)}, []capture.Item{vec(0, 8)}),
		"wide": prog([]capture.Item{{Src: capture.Source{Kind: capture.Stack}, Bytes: 10}},
			[]capture.Item{{Src: capture.Source{Kind: capture.X87}, Bytes: 10}}),
		"many": prog([]capture.Item{gpr(rdi), gpr(rsi), gpr(rdx), gpr(rcx), gpr(r8), gpr(r9), {Src: capture.Source{Kind: capture.Stack}, Bytes: 8},
			{Src: capture.Source{Kind: capture.Stack, N: 8}, Bytes: 2}}, result),
		"list":        prog([]capture.Item{pointing(rdi, node)}, result),
		"fill":        fill,
		"badly":       prog([]capture.Item{pointing(rdi, str)}, []capture.Item{pointing(rax, str)}),
		"leaves":      prog([]capture.Item{gpr(rdi)}, nil),
		"inner":       prog([]capture.Item{gpr(rdi)}, result),
		"outer":       prog([]capture.Item{gpr(rdi)}, result),
		"loops":       prog([]capture.Item{gpr(rdi)}, result),
		"interrupted": prog([]capture.Item{gpr(rdi)}, result),
		"tiny":        prog([]capture.Item{gpr(rdi)}, nil),
		"seven":       prog(nil, result),
	}
}

func buildIntercept(t testing.TB, flags ...string) string {
	return build(t, filepath.Join("..", "..", "testdata", "intercept", "calls.c"), append([]string{"-O2", "-pthread"}, flags...))
}

// captureModes are the ways in which calls are captured.
var captureModes = []struct {
	name string
	mode engine.Mode
	opts func(*engine.Options)
}{
	{"tracer", engine.ModeNative, func(o *engine.Options) { o.NoNativeCapture, o.NoCodeCapture, o.NoBusy = true, true, true }},
	{"tracer, value by value", engine.ModeNative, func(o *engine.Options) { o.NoNativeCapture, o.NoBusy, o.NoCapturePages = true, true, true }},
	{"tracer from the cache", engine.ModePlain, func(o *engine.Options) { o.NoCodeCapture = true }},
	{"code", engine.ModePlain, nil},
	{"recording", engine.ModeRecord, nil},
	{"native", engine.ModeNative, func(o *engine.Options) { o.NoBusy = true }},
	{"busy", engine.ModeNative, nil},
}

// TestCaptureModesAgree captures a program's calls in each way, which must write the same words.
func TestCaptureModesAgree(t *testing.T) {
	for _, link := range []string{"-pie", "-no-pie"} {
		path := buildIntercept(t, link)
		want := native(t, path)
		var first [][][]uint64
		for n, m := range captureModes {
			if link == "-no-pie" && (n == 1 || n == 2) && !*every {
				continue // each call by the tracer, which where the program lies does not matter to
			}
			out, c := intercept(t, path, m.mode, fixturePrograms(), m.opts)
			if out != want {
				t.Fatalf("%s %s: %+v, natively %+v", link, m.name, out, want)
			}
			all := c.byThread(t)
			t.Logf("%s %s: %d moments captured by the tracer", link, m.name, c.slow)
			if first == nil {
				checkFixture(t, c, all)
				first = all
				continue
			}
			compareCalls(t, link+" "+m.name, c.names, first, all)
		}
	}
}

// byThread is the calls of all threads; those behind the first in the order of what they were made with.
func (c *interceptor) byThread(t *testing.T) [][][]uint64 {
	var all [][][]uint64
	for _, th := range c.threads {
		all = append(all, c.calls(t, th))
	}
	slices.SortStableFunc(all[1:], func(a, b [][]uint64) int {
		if len(a) == 0 || len(b) == 0 {
			return len(a) - len(b)
		}
		return slices.Compare(a[0][5:], b[0][5:])
	})
	return all
}

func compareCalls(t *testing.T, name string, names []string, want, got [][][]uint64) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("%s: %d threads instead of %d", name, len(got), len(want))
		return
	}
	for i := range want {
		for k := range max(len(want[i]), len(got[i])) {
			var w, g []uint64
			if k < len(want[i]) {
				w = want[i][k]
			}
			if k < len(got[i]) {
				g = got[i][k]
			}
			if !slices.Equal(w, g) {
				t.Errorf("%s: thread %d, call %d of %d (%d): %s, want %s", name, i+1, k, len(got[i]), len(want[i]), callText(names, g), callText(names, w))
				break
			}
		}
	}
}

func callText(names []string, w []uint64) string {
	if len(w) < capture.HeaderWords {
		return fmt.Sprintf("%#x", w)
	}
	m, flags, fn := capture.SplitHead(w[0])
	return fmt.Sprintf("%s moment %d flags %#x sp %#x site %#x: %#x", names[fn], m, flags, w[2], w[3], w[4:])
}

// checkFixture holds what the tracer captures to what the program does.
func checkFixture(t *testing.T, c *interceptor, threads [][][]uint64) {
	t.Helper()
	counts := make(map[string][2]int)
	for _, calls := range threads {
		for _, w := range calls {
			m, _, fn := capture.SplitHead(w[0])
			n := counts[c.names[fn]]
			n[m]++
			counts[c.names[fn]] = n
			if c.names[fn] == "seven" && m == capture.Left && !slices.Equal(w[4:], []uint64{7}) {
				t.Errorf("seven: %#x", w)
			}
		}
	}
	recursions := 0
	for i := range 300 {
		recursions += i%7 + 1
	}
	for name, want := range map[string][2]int{"add2": {300 + 20 + 4000, 300 + 20 + 4000}, "recurse": {recursions, recursions}, "leaves": {300, 225},
		"inner": {300, 300}, "outer": {300, 300}, "loops": {300, 300}, "tiny": {300, 300}, "badly": {25, 25}, "interrupted": {20, 20}} {
		if counts[name] != want {
			t.Errorf("%s: entered and left %v times, want %v", name, counts[name], want)
		}
	}
	k := 0
	for _, w := range threads[0] {
		if m, _, fn := capture.SplitHead(w[0]); c.names[fn] == "add2" && m == capture.Left && k < 300 {
			if len(w) != 5 || int64(w[4]) != -int64(k) {
				t.Fatalf("add2 %d returned %#x", k, w)
			}
			k++
		}
	}
}
