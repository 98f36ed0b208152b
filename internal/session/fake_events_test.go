package session

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"alleria/abp"
	"alleria/engine"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// rowsAre compares openings and closings with what they are to be.
func rowsAre(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("rows\n%q, want\n%q", got, want)
	}
}

// TestNested: a window opens and closes within another, twice, and the thread's marks say which are open.
func TestNested(t *testing.T) {
	f := newFakeRun(t, `<Window name="o" reopenable="true"><On><Call name="outer"/></On><Till><Return name="outer"/></Till></Window>
		<Window name="i" reopenable="true"><On><Call name="inner"/></On><Till><Return name="inner"/></Till></Window>`)
	p, th := f.begin()
	for range 2 {
		th.calls("outer")
		th.calls("inner")
		if p.mode != engine.ModeRecord {
			t.Errorf("mode %v with both open", p.mode)
		}
		th.returns("inner")
		th.returns("outer")
		if p.mode != engine.ModeNative {
			t.Errorf("mode %v with none open", p.mode)
		}
	}
	p.exits()
	if want := []string{"0", "1", "3", "1", "0", "1", "3", "1", "0"}; !slices.Equal(th.marks, want) {
		t.Errorf("marks %q, want %q", th.marks, want)
	}
	once := []string{"o opens: Call outer", "i opens: Call inner", "i closes: Return inner", "o closes: Return outer"}
	rowsAre(t, f.end()["1"], append(once, once...)...)
}

// TestThresholds: the run asks to be told of the nth entry alone, and of the next nth once the window has closed.
func TestThresholds(t *testing.T) {
	f := newFakeRun(t, `<Window name="w" reopenable="true"><On><Call name="inner" threshold="3"/></On><Till><Return name="outer" threshold="2"/></Till></Window>`)
	p, th := f.begin()
	at := point{f.function("inner"), "entry"}
	for range 2 {
		for n := range 3 {
			if left := p.points[at].left; left != int64(3-n) {
				t.Errorf("behind %d entries the run wants to be told of entry %d more", n, left)
			}
			th.calls("inner")
		}
		th.returns("outer")
		if p.mode != engine.ModeRecord {
			t.Errorf("mode %v in front of the second return", p.mode)
		}
		th.returns("outer")
	}
	p.exits()
	rowsAre(t, f.end()["1"], "w opens: Call inner 3", "w closes: Return outer 2", "w opens: Call inner 3", "w closes: Return outer 2")
}

// TestThread: an event that names a thread is none of others', whose entries are counted in the same word.
func TestThread(t *testing.T) {
	f := newFakeRun(t, `<Window name="w"><On><Call name="inner" thread="2"/></On></Window>`)
	p, first := f.begin()
	second := p.creates()
	for _, th := range []*fakeThread{first, first} {
		th.calls("inner")
		if p.mode != engine.ModeNative {
			t.Fatal("it has opened early")
		}
	}
	second.calls("inner")
	if p.mode != engine.ModeRecord {
		t.Error("it has not opened")
	}
	p.exits()
	rowsAre(t, f.end()["1"], "w opens: Call inner", "w closes: end of the process")
}

// TestInstructions: one thread's count is exact, and asked about once.
func TestInstructions(t *testing.T) {
	f := newFakeRun(t, `<Window name="w"><On><Instructions threshold="1000"/></On><Till><Instructions threshold="500" since="open"/></Till></Window>`)
	p, th := f.begin()
	if p.mode != engine.ModePlain {
		t.Errorf("mode %v while instructions are counted", p.mode)
	}
	th.runs(999)
	if p.mode != engine.ModePlain || th.asked != 0 {
		t.Errorf("behind 999 instructions: mode %v, asked %d times", p.mode, th.asked)
	}
	th.runs(1)
	if p.mode != engine.ModeRecord {
		t.Errorf("behind 1000 instructions: mode %v", p.mode)
	}
	th.runs(499)
	if p.mode != engine.ModeRecord {
		t.Errorf("behind 1499 instructions: mode %v", p.mode)
	}
	th.runs(1)
	if p.mode == engine.ModeRecord || th.asked != 2 {
		t.Errorf("behind 1500 instructions: mode %v, asked %d times", p.mode, th.asked)
	}
	p.exits()
}

// TestShares: the count of two threads together is reached by one of them, with none beyond it, and for few questions.
func TestShares(t *testing.T) {
	f := newFakeRun(t, `<Window name="w"><On><Instructions threshold="100000"/></On></Window>`)
	p, a := f.begin()
	b := p.creates()
	done := 0
	for p.mode != engine.ModeRecord {
		a.runs(1)
		if done++; p.mode == engine.ModeRecord {
			break
		}
		b.runs(1)
		done++
	}
	if done != 100000 || a.asked+b.asked > 100 {
		t.Errorf("opened behind %d instructions, for %d questions", done, a.asked+b.asked)
	}
	p.exits()
}

// TestImages: what a library brings is watched when it is there, its coming and going are events, and All waits for both of
// its own in any order.
func TestImages(t *testing.T) {
	f := newFakeRun(t, `<Window name="there" reopenable="true"><On><Load name="plugin.so"/></On><Till><Unload name="plugin.so"/></Till></Window>
		<Window name="in"><On><Call name="plugged" imageName="plugin.so"/></On></Window>
		<Window name="both"><On><All><Threads largerEqual="2"/><Load name="plugin.so"/></All></On></Window>`)
	plugin := fixture(t, "plugin.so", "-shared", "-fPIC")
	p, th := f.begin()
	alone := f.mappings[p.pid]
	with := append(slices.Clone(alone), mapped(t, plugin, 0x7f0000000000)...)
	p.creates()
	p.images(with)
	p.images(alone)
	p.images(with)
	l := p.ps.image.tables.Symbols.Images()[1]
	th.arrives(l.Image.Find("plugged", true)[0].Addr+l.Bias, "entry")
	p.exits()
	rowsAre(t, f.end()["1"], "there opens: Load plugin.so", "both opens: Load plugin.so", "there closes: Unload plugin.so", "there opens: Load plugin.so",
		"in opens: Call plugged", "there closes: end of the process", "in closes: end of the process", "both closes: end of the process")
}

// TestKernel: what the kernel reports is asked for as long as an event that is armed needs it, and no longer.
func TestKernel(t *testing.T) {
	f := newFakeRun(t, `<Window name="w"><On><Syscall name="write"/></On><Till><Signal number="10"/></Till></Window>`)
	p, th := f.begin()
	const write = 1
	if !p.calls[write] || p.signals {
		t.Errorf("closed: calls %v, signals %v", p.calls, p.signals)
	}
	p.ps.CallEntered(th, &engine.Call{Number: write, Next: 0x1000})
	if p.calls[write] || !p.signals {
		t.Errorf("open: calls %v, signals %v", p.calls, p.signals)
	}
	p.ps.Signalled(th, new(sys.Siginfo), 12, 0x1000)
	if p.mode != engine.ModeRecord {
		t.Error("another signal has closed it")
	}
	p.ps.Signalled(th, new(sys.Siginfo), 10, 0x1000)
	if p.signals || p.goes == nil || *p.goes != engine.Follow {
		t.Errorf("over: signals %v, what becomes of it %v", p.signals, p.goes)
	}
	p.exits()
	rowsAre(t, f.end()["1"], "w opens: Syscall write", "w closes: Signal 10")
}

// TestThreadsAndTime: threads that come and go, and time that passes.
func TestThreadsAndTime(t *testing.T) {
	f := newFakeRun(t, `<Window name="many" reopenable="true"><On><Threads largerEqual="3"/></On><Till><Termination process="1" thread="2"/></Till></Window>
		<Window name="late"><On><Time threshold="1ms"/></On></Window>`)
	p, _ := f.begin()
	if !p.ends || p.alarm.IsZero() {
		t.Errorf("ends %v, alarm %v", p.ends, p.alarm)
	}
	second := p.creates()
	p.creates()
	second.ends()
	p.creates()
	time.Sleep(time.Until(p.alarm))
	p.ps.Alarm()
	if !p.alarm.IsZero() {
		t.Error("it is still to be woken")
	}
	p.exits()
	rowsAre(t, f.end()["1"], "many opens: Threads at least 3", "many closes: Termination", "many opens: Threads at least 3", "late opens: Time 1ms",
		"many closes: end of the process", "late closes: end of the process")
}

// TestExec: windows and counts go on in the next program, which has a profile of its own.
func TestExec(t *testing.T) {
	f := newFakeRun(t, `<Window name="stays"><On><Call name="inner" threshold="3"/></On></Window>
		<Window name="ends" reopenable="true"><On><Call name="outer"/></On><Till><Exec/></Till></Window>
		<Window name="begins"><On><Exec number="2"/></On></Window><Window name="crowd"><On><Threads largerEqual="3"/></On></Window>`)
	first, th := f.begin()
	first.creates()
	th.calls("inner")
	th.calls("inner")
	th.calls("outer")
	p, th := th.executes()
	if p.mode != engine.ModeNative {
		t.Errorf("mode %v behind the first execve", p.mode)
	}
	th.calls("inner")
	p, _ = th.executes()
	if p.mode != engine.ModeRecord {
		t.Errorf("mode %v behind the second", p.mode)
	}
	p.exits()
	rows := f.end()
	rowsAre(t, rows["1"], "ends opens: Call outer", "ends closes: Exec")
	rowsAre(t, rows["1.2"], "stays opens: Call inner 3", "stays closes: the process executed another program")
	rowsAre(t, rows["1.3"], "stays opens: open since before the program was executed", "begins opens: Exec 2",
		"stays closes: end of the process", "begins closes: end of the process")
}

// TestExecUnseen: a child that shares its creator's memory until it executes a program (vfork) has no image before; that it executes one is an event for its own windows and for others'.
// Its first thread is created there.
func TestExecUnseen(t *testing.T) {
	f := newFakeRun(t, `<Window name="own"><On><Exec number="1"/></On></Window><Window name="named"><On><Exec process="2"/></On></Window>
		<Window name="created"><On><Creation process="2"/></On></Window><Window name="ended"><Till><Exec process="2"/></Till></Window>
		<Window name="second"><On><Exec number="2" process="2"/></On></Window>`)
	p, th := f.begin()
	th.forks(firstPID + 100)
	child, cth := f.program(firstPID + 100)
	if p.mode != engine.ModeRecord || child.mode != engine.ModeRecord {
		t.Errorf("modes %v and %v behind the execve", p.mode, child.mode)
	}
	child, _ = cth.executes()
	child.exits()
	p.exits()
	rows := f.end()
	rowsAre(t, rows["1"], "ended opens: start of the process", "ended closes: Exec", "named opens: Exec", "created opens: Creation", "second opens: Exec 2",
		"named closes: end of the process", "created closes: end of the process", "second closes: end of the process")
	rowsAre(t, rows["2"], "ended opens: start of the process", "ended closes: Exec", "own opens: Exec 1", "named opens: Exec", "created opens: Creation",
		"own closes: the process executed another program", "named closes: the process executed another program", "created closes: the process executed another program")
}

// TestFork: children are numbered in order, have windows of their own, and those of their creator hear of them.
func TestFork(t *testing.T) {
	f := newFakeRun(t, `<Window name="second"><On><Fork number="2"/></On></Window><Window name="inner"><On><Call name="inner"/></On></Window>`)
	p, th := f.begin()
	if fate := th.forks(firstPID + 100); fate != engine.Trace || p.mode != engine.ModeNative {
		t.Errorf("fate %v, mode %v", fate, p.mode)
	}
	child, cth := f.traces(firstPID + 100)
	cth.calls("inner")
	if p.mode != engine.ModeNative || child.mode != engine.ModeRecord {
		t.Errorf("modes %v and %v: only the child has called it", p.mode, child.mode)
	}
	if th.forks(firstPID + 200); p.mode != engine.ModeRecord {
		t.Errorf("mode %v behind the second fork", p.mode)
	}
	grand, _ := f.traces(firstPID + 200)
	for _, o := range []*fakeProcess{grand, child, p} {
		o.exits()
	}
	rows := f.end()
	rowsAre(t, rows["1"], "second opens: Fork 2", "second closes: end of the process")
	rowsAre(t, rows["2"], "inner opens: Call inner", "inner closes: end of the process")
	rowsAre(t, rows["3"])
}

// TestCrossing: an event of process 2 opens the windows of process 1, which began before it was there.
func TestCrossing(t *testing.T) {
	f := newFakeRun(t, `<Window name="w" reopenable="true"><On><Call name="inner" process="2"/></On><Till><Call name="outer" process="1"/></Till></Window>`)
	p, th := f.begin()
	th.calls("inner")
	th.forks(firstPID + 100)
	child, cth := f.traces(firstPID + 100)
	if p.mode != engine.ModeNative {
		t.Error("its own call has opened the window")
	}
	cth.calls("inner")
	if p.mode != engine.ModeRecord || child.mode != engine.ModeRecord {
		t.Errorf("modes %v and %v: all processes' windows open", p.mode, child.mode)
	}
	th.calls("outer")
	if p.mode != engine.ModeNative || child.mode != engine.ModeNative {
		t.Errorf("modes %v and %v: all are closed", p.mode, child.mode)
	}
	if cth.calls("inner"); p.mode != engine.ModeRecord {
		t.Error("it has not opened again")
	}
	child.exits()
	p.exits()
	for _, rows := range f.end() {
		rowsAre(t, rows, "w opens: Call inner", "w closes: Call outer", "w opens: Call inner", "w closes: end of the process")
	}
}

// TestBeginsLater: windows of a process that begins later are as they would be if it had been there, whatever events of others have opened and
// closed, and counted, and whatever its creator's own have.
func TestBeginsLater(t *testing.T) {
	f := newFakeRun(t, `<Window name="opened"><On><Call name="inner" process="1"/></On></Window>
		<Window name="closed"><Till><Call name="inner" process="1"/></Till></Window>
		<Window name="again" reopenable="true"><On><Call name="inner" process="1"/></On><Till><Call name="outer" process="1"/></Till></Window>
		<Window name="third"><On><Call name="outer" process="1" threshold="3"/></On></Window>
		<Window name="both"><On><All><Call name="inner" process="1"/><Call name="outer"/></All></On></Window>
		<Window name="either"><On><One><Call name="outer"/><Call name="outer" process="2" threshold="2"/></One></On></Window>`)
	p, th := f.begin()
	for _, name := range []string{"inner", "outer", "outer", "inner"} {
		th.calls(name)
	}
	th.forks(firstPID + 100)
	child, cth := f.traces(firstPID + 100)
	th.calls("outer")
	cth.calls("outer")
	th.forks(firstPID + 200)
	grand, _ := f.traces(firstPID + 200)
	for _, o := range []*fakeProcess{grand, child, p} {
		o.exits()
	}
	rows, since := f.end(), "open since before the process began"
	rowsAre(t, rows["1"], "closed opens: start of the process", "opened opens: Call inner", "closed closes: Call inner", "again opens: Call inner", "again closes: Call outer",
		"both opens: Call outer", "either opens: Call outer", "again opens: Call inner", "again closes: Call outer", "third opens: Call outer 3",
		"opened closes: end of the process", "third closes: end of the process", "both closes: end of the process", "either closes: end of the process")
	rowsAre(t, rows["2"], "opened opens: "+since, "again opens: "+since, "again closes: Call outer", "third opens: Call outer 3", "both opens: Call outer", "either opens: Call outer",
		"opened closes: end of the process", "third closes: end of the process", "both closes: end of the process", "either closes: end of the process")
	rowsAre(t, rows["3"], "opened opens: "+since, "third opens: "+since, "opened closes: end of the process", "third closes: end of the process")
}

// TestGivenUp: a recording that is to end closes every window for good and lets everything go.
func TestGivenUp(t *testing.T) {
	f := newFakeRun(t, `<Window name="w"><Till><Return name="outer"/></Till></Window>`)
	p, th := f.begin()
	if p.mode != engine.ModeRecord {
		t.Errorf("mode %v, and nothing is waited for", p.mode)
	}
	f.run.end("the test ends it")
	f.Poll()
	if p.mode != engine.ModeNative || p.goes == nil || *p.goes != engine.Detach || !f.goes {
		t.Errorf("mode %v, what becomes of it %v, of all %v", p.mode, p.goes, f.goes)
	}
	if len(p.points) != 0 {
		t.Errorf("%d points are still watched", len(p.points))
	}
	if fate := th.forks(firstPID + 100); fate != engine.Detach {
		t.Errorf("a child's fate is %v", fate)
	}
	p.exits()
	rowsAre(t, f.end()["1"], "w opens: start of the process", "w closes: end of the process")
}

// TestQuiet: what could not be recorded is told with -q, too, and nothing else.
func TestQuiet(t *testing.T) {
	f := newFakeRun(t, `<Window name="w"></Window>`)
	var told strings.Builder
	f.opts.Messages, f.opts.Warnings = io.Discard, &told
	p, _ := f.begin()
	p.exits()
	f.note("nobody has to know")
	f.warn(errors.New("calls of f are not captured"))
	f.closePool()
	if err := f.finish(engine.Status{Untraced: errors.New("no room"), DetachedThreads: 1}, nil); err != nil {
		t.Fatal(err)
	}
	f.background.Wait()
	want := []string{"alleria: calls of f are not captured", fmt.Sprintf("alleria: 1 thread ran untraced: only %d can be traced at a time", layout.MaxSlots),
		"alleria: the program that was executed last ran untraced: no room", ""}
	if got := strings.Split(told.String(), "\n"); !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

// TestNotThere: a function that no image has is told of.
func TestNotThere(t *testing.T) {
	f := newFakeRun(t, `<Window name="w"><On><Call name="iner"/></On></Window>`)
	p, _ := f.begin()
	p.exits()
	f.end()
	run, err := abp.ReadRun(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := "test:1:51: there is no function iner in the main executable; the nearest: inner"; !slices.Contains(run.Notes, want) {
		t.Errorf("notes %q", run.Notes)
	}
}

// TestArmingEndsWithProcess: of a process that is killed while its functions are armed the others are not tried, and nothing is said of them.
func TestArmingEndsWithProcess(t *testing.T) {
	f := newFakeRunOf(t, `<Window><Profile><Process><Thread><Image><Function name="*"><Intercept/></Function></Image></Thread></Process></Profile></Window>`)
	f.mappings[firstPID] = mapped(t, f.image, 0)
	if fate := f.Executed(firstPID); fate != engine.Trace {
		t.Fatal(fate)
	}
	p, _ := f.tracesUntil(firstPID, 1)
	if len(p.armed) != 2 || len(f.lacking) != 0 {
		t.Errorf("%d functions were tried instead of 2; said: %q", len(p.armed), f.lacking)
	}
	p.over(&engine.End{Exited: true})
	f.end()
}

// TestForkedHasItsCreatorsCaptures: a forked process has what was made of its creator's functions, under the same numbers, and its profile has their types; by itself
// each process makes the same once more.
func TestForkedHasItsCreatorsCaptures(t *testing.T) {
	for _, alone := range []bool{false, true} {
		f := newFakeRunOf(t, `<Window><Profile><Process><Thread><Image><Function name="*"><Intercept/></Function></Image></Thread></Process></Profile></Window>`)
		if alone {
			f.opts.Engine = []string{captureAlone}
		}
		p, thread := f.begin()
		if fate := thread.forks(firstPID + 1); fate != engine.Trace {
			t.Fatal(fate)
		}
		child, _ := f.traces(firstPID + 1)
		if len(p.armed) == 0 || !slices.Equal(slices.Sorted(slices.Values(child.armed)), slices.Sorted(slices.Values(p.armed))) {
			t.Errorf("alone %v: %x armed in the creator, %x in the child", alone, p.armed, child.armed)
		}
		of, own := p.ps.image.capture, child.ps.image.capture
		for entry, a := range of.at {
			b := own.at[entry]
			if b == nil || b.armed == nil || b.armed.Number != a.armed.Number || b.name != a.name || (b.armed.Capture == a.armed.Capture) == alone {
				t.Errorf("alone %v: %s is %+v in the creator and %+v in the child", alone, a.name, a, b)
			}
		}
		child.exits()
		p.exits()
		f.end()
		profile, err := abp.Open(f.dir)
		if err != nil {
			t.Fatal(err)
		}
		var numbers []int
		for _, proc := range profile.Processes() {
			c, err := proc.Calls()
			if err != nil || c == nil {
				t.Fatal(err)
			}
			numbers = append(numbers, len(c.Signatures))
			c.Close()
		}
		profile.Close()
		if len(numbers) != 2 || numbers[0] != len(p.armed) || numbers[1] != numbers[0] {
			t.Errorf("alone %v: signatures of %v functions, of %d armed", alone, numbers, len(p.armed))
		}
	}
}
