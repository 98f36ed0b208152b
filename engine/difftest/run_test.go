package difftest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"alleria/cab"
	"alleria/engine"
	"alleria/engine/launch"
	"alleria/engine/step"
	"alleria/engine/x86"
	"alleria/internal/records"
)

// runTimeout is after how long a target is killed: far more than any needs, so
// that a translation that loops fails its test instead of the whole binary.
const runTimeout = 20 * time.Second

// outputMax is more than any program writes.
const outputMax = 8 << 20

// outcome is how a run ended, whatever ran it.
type outcome struct {
	status string
	output string
}

// ringChunks is what rings may grow to, from two chunks.
const ringChunks = 16

// variant is a way to run a program under the translator.
type variant struct {
	name  string
	mode  engine.Mode
	want  records.InsFlags // ModeRecord: of every instruction
	regs  []records.Reg    // likewise
	chunk int              // bytes
	drain time.Duration    // how often open chunks are drained; 0: never before the end
	opts  func(*engine.Options)
	few   bool // only return addresses' addresses are recorded
	// of everything that is executed; nil: nothing is counted
	budgets *budgets
}

const everything = records.InsRecorded | records.InsAddrs | records.InsValues | records.InsBranch

// recorder is the translator's client: it keeps all raw words.
type recorder struct {
	engine.Handler // nil: calls that are not defined below are not made in these tests
	v              variant
	pool           *cab.Pool
	rings          map[*engine.Thread]*cab.Ring
	words          []uint64
	blocks         *records.Blocks
	timer          *time.Timer
	poolErr        error
	counted        uint64 // ModeCount: executed instructions
	pid            int
}

// alone is the client of a run in which one process is traced, and nothing that it creates.
type alone struct{ *recorder }

func (alone) Born(int, int) engine.Fate                    { return engine.Detach }
func (alone) Executed(int) engine.Fate                     { return engine.Trace }
func (a alone) Traced(*engine.Process) engine.Handler      { return a.recorder }
func (alone) Untraced(int, error)                          {}
func (alone) Orphaned(int, int) engine.Fate                { return engine.Detach }
func (alone) CallSites(int) []engine.CallSite              { return nil }
func (alone) FollowedSites(int) []engine.CallSite          { return nil }
func (alone) LibrarySites(int) []engine.CallSite           { return nil }
func (alone) Exited(int, engine.End)                       {}
func (alone) Poll()                                        {}
func (alone) NamesOf([]byte, records.Highest) engine.Names { return nil }

func (c *recorder) Started(p *engine.Process) error {
	pid := p.PID()
	c.pid = pid
	c.timer = time.AfterFunc(runTimeout, func() { unix.Kill(pid, unix.SIGKILL) })
	p.SetMode(c.v.mode)
	if c.v.budgets != nil {
		p.CountExecuted(c.v.budgets.metrics...)
	}
	if c.v.regs != nil {
		p.KeepFlags()
	}
	if c.v.mode == engine.ModeRecord {
		c.blocks = p.Blocks()
		interval := c.v.drain
		if interval == 0 {
			interval = time.Hour
		}
		c.pool = cab.NewPool(cab.NewBell(p.BellMemory()), interval, []cab.Sink{&sink{rec: c}}, func(err error) { c.poolErr = err })
	}
	return step.FixRandom(pid)
}

func (c *recorder) ThreadStarted(t *engine.Thread) error {
	if c.pool != nil {
		c.rings[t] = cab.NewRing(t.SlotMemory(), ringChunks, c.blocks.Committed)
		c.pool.Add(c.rings[t], t)
	}
	if c.v.budgets != nil {
		c.v.budgets.grant(t, amounts{})
	}
	return nil
}

func (c *recorder) ThreadEnded(t *engine.Thread) {
	t.Counts(func(_ uint64, instructions int, times uint64) { c.counted += uint64(instructions) * times })
	if c.v.budgets != nil {
		c.v.budgets.end(t)
	}
	if c.pool != nil {
		c.pool.Remove(c.rings[t])
	}
}

func (c *recorder) Ended(*engine.Process, *engine.End) {
	if c.pool != nil {
		c.pool.Close()
	}
	c.timer.Stop()
}

// BudgetLow is asked for by those that give budgets.
func (c *recorder) BudgetLow(t *engine.Thread, addr uint64) { c.v.budgets.low(t, addr) }

func (c *recorder) Notified(*engine.Thread, uint64, engine.NotifiedRegs) {}
func (c *recorder) Entering(*engine.Thread)                              {}
func (c *recorder) ImagesChanged(*engine.Process)                        {}
func (c *recorder) Unmapped(*engine.Process, uint64, uint64)             {}
func (c *recorder) Mapped(*engine.Process, engine.Mapped)                {}
func (c *recorder) Forked(*engine.Thread, int)                           {}
func (c *recorder) Orphan(int) engine.Fate                               { return engine.Detach }
func (c *recorder) Executing(*engine.Thread)                             {}
func (c *recorder) Ending(*engine.Thread)                                {}

func (c *recorder) RecordsLike(*engine.Process) string                   { return "" }
func (c *recorder) Names(*engine.Process) engine.Names                   { return nil }
func (c *recorder) TakeNames(*engine.Process, engine.Names, uint64) bool { return false }

func (c *recorder) Plan(_ *engine.Process, _ int, _ []x86.Insn, want []engine.Want) uint32 {
	for i := range want {
		want[i].Flags, want[i].Regs = c.v.want, c.v.regs
	}
	return 0
}

// sink takes what the rings hold.
type sink struct {
	cab.Sink // nil, as above
	rec      *recorder
}

func (s *sink) Consume(_ any, ch cab.Chunk) error {
	s.rec.words = append(s.rec.words, ch.Words...)
	return nil
}

func (s *sink) Flush() error { return nil }

func (s *sink) Leave(any) error { return nil }

// environment is what every run of a program gets.
func environment() []string { return []string{"ALLERIA=test"} }

// translate runs a program under the translator.
func translate(t testing.TB, path string, v variant) (outcome, *recorder) {
	t.Helper()
	c := &recorder{v: v, rings: map[*engine.Thread]*cab.Ring{}}
	o := engine.Options{Program: launch.Program{Path: path, Argv: []string{path}, Env: environment(), NoASLR: true}, ChunkBytes: v.chunk, Chunks: 2}
	if o.ChunkBytes == 0 {
		o.ChunkBytes = 256 << 10
	}
	if v.opts != nil {
		v.opts(&o)
	}
	before := runtime.NumGoroutine()
	var st engine.Status
	var err error
	out := captured(t, func() {
		defer func() {
			if p := recover(); p != nil {
				buf := make([]byte, 4096)
				err = fmt.Errorf("panic: %v\n%s", p, buf[:runtime.Stack(buf, false)])
			}
		}()
		st, err = engine.New(o, alone{c}).Run()
	})
	if err != nil {
		t.Errorf("%s: translator: %v", v.name, err)
		killChildren()
	}
	if c.poolErr != nil {
		t.Errorf("%s: ring: %v", v.name, c.poolErr)
	}
	settle(before)
	return outcome{ended(st.Exited, st.Code, int(st.Signal)), out}, c
}

// settle waits for the tracer's waiting goroutine to find that nothing is left:
// until then it would take the reports of the next run's target.
func settle(goroutines int) {
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(end); {
		time.Sleep(200 * time.Microsecond)
	}
}

// killChildren ends what a failed run left behind.
func killChildren() {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, f := range tasks {
		more, _ := os.ReadFile(f)
		b = append(b, more...)
	}
	for _, f := range strings.Fields(string(b)) {
		var pid int
		if _, err := fmt.Sscan(f, &pid); err == nil {
			unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// native runs a program as it is, started like the others.
func native(t testing.TB, path string) outcome {
	t.Helper()
	var st unix.WaitStatus
	out := captured(t, func() {
		l, err := launch.Start(&launch.Program{Path: path, Argv: []string{path}, Env: environment(), NoASLR: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Proceed(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(runTimeout, func() { unix.Kill(l.PID(), unix.SIGKILL) })
		defer timer.Stop()
		if err := l.ExecError(); err != nil {
			t.Error(err)
		}
		for {
			if _, err := unix.Wait4(l.PID(), &st, 0, nil); err != unix.EINTR {
				break
			}
		}
	})
	return outcome{ended(st.Exited(), st.ExitStatus(), int(st.Signal())), out}
}

// single runs a program under the oracle.
func single(t testing.TB, path string, o step.Options, visit func(*step.Ins) error) outcome {
	t.Helper()
	o.Path, o.Argv, o.Env, o.NoASLR, o.FixRandom = path, []string{path}, environment(), true, true
	o.MaxIns = 2e6
	started, timer := o.Started, (*time.Timer)(nil)
	o.Started = func(pid int) error {
		timer = time.AfterFunc(runTimeout, func() { unix.Kill(pid, unix.SIGKILL) })
		if started == nil {
			return nil
		}
		return started(pid)
	}
	before := runtime.NumGoroutine()
	var st step.Status
	out := captured(t, func() {
		var err error
		if st, err = step.Run(o, visit); err != nil {
			t.Errorf("oracle: %v", err)
		}
		if timer != nil {
			timer.Stop()
		}
	})
	settle(before)
	return outcome{ended(st.Exited, st.Code, int(st.Signal)), out}
}

func ended(exited bool, code, signal int) string {
	if exited {
		return fmt.Sprintf("exit %d", code)
	}
	return fmt.Sprintf("signal %d", signal)
}

// captured returns what was written to standard output during body. Targets
// inherit the descriptor, so it is the descriptor that changes.
func captured(t testing.TB, body func()) string {
	t.Helper()
	f, err := os.CreateTemp(buildDir(t), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	keep, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(keep)
	if err := unix.Dup2(int(f.Fd()), 1); err != nil {
		t.Fatal(err)
	}
	defer unix.Dup2(keep, 1)
	body()
	b := make([]byte, outputMax)
	n, err := f.ReadAt(b, 0)
	if err == nil {
		t.Errorf("the program has written more than %d bytes", outputMax)
	}
	return string(b[:n])
}
