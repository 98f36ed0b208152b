package session

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"alleria/abp"
	"alleria/cab/topology"
	"alleria/config"
	"alleria/engine"
	"alleria/internal/capture"
	"alleria/internal/layout"
	"alleria/internal/records"
	"alleria/internal/sys"
	"alleria/proctree"
)

// fakeRun is a run whose processes nobody executes: what they do is what the test says, by calls that the engine would make.
// Images, symbols, windows, counters' arithmetic and the profile are the real ones.
type fakeRun struct {
	*run
	t        *testing.T
	dir      string           // of the profile
	image    string           // what the first process executes
	mappings map[int][]string // by process: what /proc/PID/maps says
	goes     bool             // everything is detached
}

// DetachAll is engine.Tracer's.
func (f *fakeRun) DetachAll() { f.goes = true }

// Started is engine.Tracer's.
func (f *fakeRun) Started(pid int) (sys.Start, error) { return sys.Started(pid) }

// fakeProcess is a program image. Its counters count down as those of code do; it makes no use of toggles, as with
// --engine no-toggle.
type fakeProcess struct {
	run      *fakeRun
	ps       *process
	pid      int
	mode     engine.Mode
	modes    []engine.Mode // all that it had
	took     []engine.Mode // the modes in which it was to take translations over
	threads  []*fakeThread
	points   map[point]*fakeCounter
	extents  map[uint64]bool
	notified map[uint64]bool
	calls    map[uint32]bool
	signals  bool
	ends     bool
	alarm    time.Time
	metrics  []engine.Metric
	goes     *engine.Fate
	blocks   records.Blocks
	bell     []byte
	armed    []uint64 // functions that were to be captured
	going    int      // how many of them can be; 0: all
}

// point is what is counted, and where.
type point struct {
	addr uint64
	what string
}

// fakeCounter counts down.
type fakeCounter struct {
	addr        uint64
	left, armed int64
}

func (c *fakeCounter) Addr() uint64 { return c.addr }
func (c *fakeCounter) Arm(n uint64) { c.left, c.armed = int64(n), int64(n) }
func (c *fakeCounter) Disarm()      { c.Arm(engine.Never) }
func (c *fakeCounter) Gone() uint64 { return 0 }
func (c *fakeCounter) Take() uint64 {
	n := c.armed - c.left
	c.armed = c.left
	return uint64(n)
}

// fakeThread keeps the marks that it gets.
type fakeThread struct {
	p      *fakeProcess
	num    int
	budget [engine.NumMetrics]int64
	ended  bool
	marks  []string
	slot   []byte
	asked  int // how often it has run out of budget
}

func (t *fakeThread) Num() int                                  { return t.num }
func (t *fakeThread) TID() int                                  { return t.p.pid + t.num - 1 }
func (t *fakeThread) Ended() bool                               { return t.ended }
func (t *fakeThread) SetPlan(int)                               {}
func (t *fakeThread) Rest(bool)                                 {}
func (t *fakeThread) Budget(m engine.Metric) int64              { return t.budget[m] }
func (t *fakeThread) SetBudget(m engine.Metric, n int64)        { t.budget[m] = n }
func (t *fakeThread) Counts(func(uint64, int, uint64))          {}
func (t *fakeThread) Entries(func(addr uint64, n uint64))       {}
func (t *fakeThread) Edges(func(_, _ uint64, _ bool, _ uint64)) {}
func (t *fakeThread) Publish() (chunk uint64, empty bool)       { return 0, true }
func (t *fakeThread) SlotMemory() []byte                        { return t.slot }
func (t *fakeThread) Registers(uint64) engine.Registers         { return engine.Registers{} }
func (t *fakeThread) Mark(words ...uint64) {
	if words[0] == records.Mark(records.MarkWindows, words[0]&0xff) {
		t.marks = append(t.marks, fmt.Sprint(words[0]&0xff))
	}
}

func (p *fakeProcess) PID() int                                           { return p.pid }
func (p *fakeProcess) Apply()                                             {}
func (p *fakeProcess) LetRun(f engine.Fate)                               { p.goes = &f }
func (p *fakeProcess) ReadAt([]byte, int64) (int, error)                  { return 0, nil }
func (p *fakeProcess) Mode() engine.Mode                                  { return p.mode }
func (p *fakeProcess) SetToggle(*toggle)                                  {}
func (p *fakeProcess) HasSequences() bool                                 { return false }
func (p *fakeProcess) OtherCode() (stepped int, unseen bool)              { return 0, false }
func (p *fakeProcess) KeepTranslated()                                    {}
func (p *fakeProcess) TakeOver()                                          { p.took = append(p.took, p.mode) }
func (p *fakeProcess) StayTranslated()                                    {}
func (p *fakeProcess) KeepFlags()                                         {}
func (p *fakeProcess) Replan()                                            {}
func (p *fakeProcess) Blocks() *records.Blocks                            { return &p.blocks }
func (p *fakeProcess) BellMemory() []byte                                 { return p.bell }
func (p *fakeProcess) CountExecuted(m ...engine.Metric)                   { p.metrics = m }
func (p *fakeProcess) CountEntries(bool, func(addr uint64) engine.Extent) {}
func (p *fakeProcess) InGo(uint64)                                        {}
func (p *fakeProcess) AwaitReturns()                                      {}
func (p *fakeProcess) SetExtent(addr uint64, _ ...engine.Extent)          { p.extents[addr] = true }
func (p *fakeProcess) HasExtent(addr uint64) bool                         { return p.extents[addr] }
func (p *fakeProcess) Notify(addr uint64) error                           { p.notified[addr] = true; return nil }
func (p *fakeProcess) Unnotify(addr uint64)                               { delete(p.notified, addr) }
func (p *fakeProcess) Settle()                                            {}
func (p *fakeProcess) PlaceAhead([]uint64)                                {}
func (p *fakeProcess) Gone(start, end uint64)                             {}
func (p *fakeProcess) FindErrno(func() int64)                             {}
func (p *fakeProcess) Unintercept(uint64)                                 {}
func (p *fakeProcess) WatchSignals(on bool)                               { p.signals = on }
func (p *fakeProcess) WatchReturns(bool)                                  {}
func (p *fakeProcess) WatchMappings()                                     {}
func (p *fakeProcess) Ours(uint64) bool                                   { return false }
func (p *fakeProcess) WatchEnds(on bool)                                  { p.ends = on }
func (p *fakeProcess) SetAlarm(at time.Time)                              { p.alarm = at }
func (p *fakeProcess) Entries(addr uint64) (counter, error)               { return p.counter(addr, "entry"), nil }
func (p *fakeProcess) Within(addr uint64) (counter, error)                { return p.counter(addr, "within"), nil }
func (p *fakeProcess) Returns(addr uint64) (counter, error)               { return p.counter(addr, "return"), nil }

func (p *fakeProcess) SetMode(m engine.Mode) {
	if m != p.mode {
		p.mode, p.modes = m, append(p.modes, m)
	}
}

func (p *fakeProcess) FollowByTracer() {}
func (p *fakeProcess) Intercept(entry uint64, _ uint32, _ *capture.Program) error {
	p.armed = append(p.armed, entry)
	if p.going > 0 && len(p.armed) > p.going {
		return engine.ErrEnded
	}
	return nil
}

func (p *fakeProcess) WatchCall(nr uint32, on bool) {
	if delete(p.calls, nr); on {
		p.calls[nr] = true
	}
}

func (p *fakeProcess) Unwatch(addr uint64) {
	maps.DeleteFunc(p.points, func(at point, _ *fakeCounter) bool { return at.addr == addr })
}

// Rebudget has every thread come by, as the engine does by stopping it.
func (p *fakeProcess) Rebudget() {
	for _, t := range p.threads {
		p.ps.Entering(t)
	}
}

func (p *fakeProcess) Threads() []thread {
	var all []thread
	for _, t := range p.threads {
		all = append(all, t)
	}
	return all
}

func (p *fakeProcess) counter(addr uint64, what string) *fakeCounter {
	at := point{addr, what}
	if p.points[at] == nil {
		p.points[at] = &fakeCounter{addr: addr, left: engine.Never, armed: engine.Never}
	}
	return p.points[at]
}

// fixture builds an image that nobody executes.
func fixture(t *testing.T, name string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), name)
	args := append([]string{"-O0", "-nostdlib", "-o", out, "../../testdata/session/" + strings.TrimSuffix(name, ".so") + ".c"}, flags...)
	if text, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// mapped is what /proc/PID/maps says of an image at an address.
func mapped(t *testing.T, path string, base uint64) (lines []string) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	inode := st.Sys().(*syscall.Stat_t).Ino
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		start := (p.Vaddr + base) &^ 4095
		end := (p.Vaddr + base + p.Memsz + 4095) &^ 4095
		rights := []byte("r--p")
		if p.Flags&elf.PF_X != 0 {
			rights[2] = 'x'
		}
		lines = append(lines, fmt.Sprintf("%x-%x %s %08x 08:01 %d %s", start, end, rights, p.Off&^4095, inode, path))
	}
	return lines
}

// newFakeRun makes a run with windows, which are written inside of the configuration's root.
func newFakeRun(t *testing.T, windows string) *fakeRun {
	t.Helper()
	profile := `<Profile><Process><Thread><Image><Function><Instruction cat="any"/></Function></Image></Thread></Process></Profile>`
	return newFakeRunOf(t, strings.ReplaceAll(windows, "</Window>", profile+"</Window>"))
}

// newFakeRunOf is newFakeRun of windows with profiles of their own.
func newFakeRunOf(t *testing.T, windows string) *fakeRun {
	t.Helper()
	cfg, _, err := config.Parse("test", []byte(`<AlleriaConfig version="1.0">`+windows+`</AlleriaConfig>`))
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeRun{t: t, dir: filepath.Join(t.TempDir(), "out"), image: fixture(t, "nested", "-static", "-no-pie"), mappings: map[int][]string{}}
	o := &Options{Program: f.image, Args: []string{f.image}, Config: cfg, Outputs: []string{f.dir}, Processing: Processing{FixedThreads: 1}}
	f.run = newRun(o, machine{
		cpuid:      func() []sys.CPUIDLeaf { return nil },
		systemDirs: func() []string { return nil },
		exe:        func(int) string { return f.image },
		maps:       func(pid int) ([]byte, error) { return []byte(strings.Join(f.mappings[pid], "\n")), nil },
		clock:      sys.StartClock(),
		processors: func() topology.Machine { return nil },
	})
	f.tracer = f
	f.tree = proctree.New(o.Args, proctree.Options{Dir: t.TempDir()})
	t.Cleanup(f.tree.Close)
	t.Cleanup(func() { f.cache.Close() })
	if _, err := f.prepare(); err != nil {
		t.Fatal(err)
	}
	if err := f.openRun(); err != nil {
		t.Fatal(err)
	}
	return f
}

// firstPID is above all that the kernel gives out.
const firstPID = 1 << 23

// begin has the first process stand before its first instruction.
func (f *fakeRun) begin() (*fakeProcess, *fakeThread) { return f.program(firstPID) }

// program has a process execute the image.
func (f *fakeRun) program(pid int) (*fakeProcess, *fakeThread) {
	f.t.Helper()
	f.mappings[pid] = mapped(f.t, f.image, 0)
	if fate := f.Executed(pid); fate != engine.Trace {
		f.t.Fatalf("process %d: fate %v", pid, fate)
	}
	return f.traces(pid)
}

// traces begins with a process that is to be traced, and its first thread.
func (f *fakeRun) traces(pid int) (*fakeProcess, *fakeThread) {
	f.t.Helper()
	return f.tracesUntil(pid, 0)
}

// tracesUntil is traces of a process that is killed behind so many functions of which calls are to be captured; 0: it is not.
func (f *fakeRun) tracesUntil(pid, going int) (*fakeProcess, *fakeThread) {
	f.t.Helper()
	p := &fakeProcess{run: f, ps: f.traced(pid), pid: pid, points: map[point]*fakeCounter{}, extents: map[uint64]bool{},
		notified: map[uint64]bool{}, calls: map[uint32]bool{}, bell: make([]byte, 4096), going: going}
	if err := p.ps.Started(p); err != nil {
		f.t.Fatal(err)
	}
	return p, p.creates()
}

// end ends the run and returns the openings and closings that its profile has, by program image.
func (f *fakeRun) end() map[string][]string {
	f.t.Helper()
	f.closePool()
	if err := f.finish(engine.Status{}, nil); err != nil {
		f.t.Fatal(err)
	}
	f.background.Wait()
	profile, err := abp.Open(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	defer profile.Close()
	rows := make(map[string][]string)
	for _, p := range profile.Processes() {
		err := p.EachWindowEvent(func(e *abp.WindowEvent) error {
			what := "closes"
			if e.Opened {
				what = "opens"
			}
			rows[p.Name()] = append(rows[p.Name()], fmt.Sprintf("%s %s: %s", p.WindowDefs()[e.Window].Name, what, e.Reason))
			return nil
		})
		if err != nil {
			f.t.Error(err)
		}
	}
	return rows
}

// function is where a function of the image lies.
func (f *fakeRun) function(name string) uint64 {
	f.t.Helper()
	e, err := elf.Open(f.image)
	if err != nil {
		f.t.Fatal(err)
	}
	defer e.Close()
	syms, err := e.Symbols()
	if err != nil {
		f.t.Fatal(err)
	}
	i := slices.IndexFunc(syms, func(s elf.Symbol) bool { return s.Name == name })
	if i < 0 {
		f.t.Fatalf("%s has no %s", f.image, name)
	}
	return syms[i].Value
}

// creates has a thread begin.
func (p *fakeProcess) creates() *fakeThread {
	p.run.t.Helper()
	t := &fakeThread{p: p, num: len(p.threads) + 1, slot: make([]byte, layout.RingOff+8192)}
	binary.LittleEndian.PutUint64(t.slot[layout.ChunkBytes:], 4096)
	binary.LittleEndian.PutUint64(t.slot[layout.Chunks:], 2)
	p.threads = append(p.threads, t)
	if err := p.ps.ThreadStarted(t); err != nil {
		p.run.t.Fatal(err)
	}
	p.ps.Entering(t)
	return t
}

// images has the process map and unmap what its list says now.
func (p *fakeProcess) images(lines []string) {
	p.run.mappings[p.pid] = lines
	p.ps.ImagesChanged()
}

// over has the threads and the image end; end is nil where the process executes another program.
func (p *fakeProcess) over(end *engine.End) {
	for _, t := range p.threads {
		p.ps.ThreadEnded(t)
	}
	p.ps.Ended(end)
	if end != nil {
		p.run.Exited(p.pid, *end)
	}
}

// exits has the process end by itself.
func (p *fakeProcess) exits() { p.over(&engine.End{Exited: true}) }

// executes has a thread execute the image anew.
func (t *fakeThread) executes() (*fakeProcess, *fakeThread) {
	t.p.ps.Executing(t)
	t.p.over(nil)
	return t.p.run.program(t.p.pid)
}

// forks has a thread create a process.
func (t *fakeThread) forks(pid int) engine.Fate {
	f := t.p.run
	f.mappings[pid] = f.mappings[t.p.pid]
	fate := f.Born(t.p.pid, pid)
	t.p.ps.Forked(t)
	return fate
}

// ends has a thread end before the others.
func (t *fakeThread) ends() {
	t.ended = true
	t.p.ps.Ending(t)
	t.p.ps.ThreadEnded(t)
	t.p.threads = slices.DeleteFunc(t.p.threads, func(o *fakeThread) bool { return o == t })
}

// arrives counts a thread at a point, and tells the run where the count runs out.
func (t *fakeThread) arrives(addr uint64, what string) {
	c := t.p.points[point{addr, what}]
	if c == nil {
		return
	}
	if c.left--; c.left == 0 {
		t.p.ps.Reached(t, c, addr, 0)
	}
}

// calls has a thread enter a function of the image, and returns leave it.
func (t *fakeThread) calls(name string)   { t.arrives(t.p.run.function(name), "entry") }
func (t *fakeThread) returns(name string) { t.arrives(t.p.run.function(name), "return") }

// runs has a thread execute instructions one by one, and ask where its budget of them is used up.
func (t *fakeThread) runs(instructions int) {
	for range instructions {
		if !slices.Contains(t.p.metrics, engine.MetricInstructions) {
			return
		}
		if t.budget[engine.MetricInstructions]--; t.budget[engine.MetricInstructions] <= 0 {
			t.asked++
			t.p.ps.BudgetLow(t, 0x1000)
		}
	}
}
