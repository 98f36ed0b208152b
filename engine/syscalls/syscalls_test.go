package syscalls

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"alleria/engine/shm"
	"alleria/engine/tracee"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// program is a process that nobody executes: memory, and what was told of it.
type program struct {
	*testing.T
	native, shares bool
	mem            map[uint64]byte
	log            []string
	code           bool // there is code everywhere
	regs           sys.Regs
	area           uint64 // where it has registered restartable sequences
	kernel                // what the kernel is asked
	several        bool   // it has several threads
}

// kernel answers nothing but what the tests use.
type kernel struct{ tracee.Kernel }

func (p *program) GetRegs(_ int, r *sys.Regs) error { *r = p.regs; return nil }
func (p *program) SetRegs(_ int, r *sys.Regs) error { p.regs = *r; return nil }

func (p *program) ReadSequences(_ int, s *sys.Sequences) error { s.Area = p.area; return nil }

func (p *program) note(format string, args ...any) {
	p.log = append(p.log, fmt.Sprintf(format, args...))
}

func (p *program) Away() bool                       { return false }
func (p *program) Native() bool                     { return p.native }
func (p *program) Shares() bool                     { return p.shares }
func (p *program) Alone() bool                      { return !p.several }
func (p *program) Changed()                         { p.note("changed") }
func (p *program) ChangedCode()                     { p.note("code") }
func (p *program) StayTranslated()                  { p.note("stay") }
func (p *program) ImagesChanged()                   { p.note("images") }
func (p *program) Unmapped(s, e uint64)             { p.note("unmapped %x-%x", s, e) }
func (p *program) Lost(s, e uint64)                 { p.note("lost %x-%x", s, e) }
func (p *program) Mapped(m Mapped)                  { p.note("mapped %+v", m) }
func (p *program) Touched(s, e uint64)              { p.note("touched %x-%x", s, e) }
func (p *program) Ours(uint64) bool                 { return false }
func (p *program) OwnCall() uint64                  { return 0xcac4e }
func (p *program) CallEntered(c *Call)              { p.note("entered %d", c.Number) }
func (p *program) CallReturned(c *Call)             { p.note("returned %d %v %d", c.Number, c.Returned, c.Result) }
func (p *program) MayExecute(_, _ uint64) bool      { return p.code }
func (p *program) Overlaps(_, _ uint64) bool        { return p.code }
func (p *program) HasCode(_, _ uint64) bool         { return p.code }
func (p *program) Followed(_, _ uint64) bool        { return true }
func (p *program) OpenedToWrite(uint64) [][2]uint64 { return nil }
func (p *program) Replaced(s, e uint64)             { p.note("replaced %x-%x", s, e) }
func (p *program) Protect(s, e, _ uint64) ([][2]uint64, bool) {
	return [][2]uint64{{s, e}}, p.code
}
func (p *program) SetAside(s, e uint64)   { p.note("aside %x-%x", s, e) }
func (p *program) Invalidate(s, e uint64) { p.note("forgotten %x-%x", s, e) }
func (p *program) Remapped()              { p.note("remapped") }
func (p *program) ReadPersonality()       { p.note("personality") }

func (p *program) ReadAt(b []byte, at int64) (int, error) {
	for i := range b {
		v, ok := p.mem[uint64(at)+uint64(i)]
		if !ok {
			return i, fmt.Errorf("nothing at %#x", at)
		}
		b[i] = v
	}
	return len(b), nil
}

func (p *program) WriteAt(b []byte, at int64) (int, error) {
	for i, v := range b {
		p.mem[uint64(at)+uint64(i)] = v
	}
	return len(b), nil
}

// put writes bytes into the program's memory.
func (p *program) put(at uint64, b ...byte) { p.WriteAt(b, int64(at)) }

// expect compares what was told with what should have been, and forgets it.
func (p *program) expect(want ...string) {
	p.Helper()
	if !slices.Equal(p.log, want) {
		p.Errorf("told %q, want %q", p.log, want)
	}
	p.log = nil
}

// start makes a process and a thread of it, which has stopped.
func start(t *testing.T) (*program, *Calls, *Thread) {
	p := &program{T: t, mem: make(map[uint64]byte)}
	memory := &shm.Memory{Ctl: &shm.Control{Mem: make([]byte, layout.ControlSize)}}
	c, th, tt := new(Calls), new(Thread), new(tracee.Thread)
	c.Init(p, p, 10, p, memory, sys.Filters{})
	c.InitTable()
	tt.Init(tracee.NewStops(p, nil, nil, nil), nil, 12, 10, true)
	th.Init(c, p, tt)
	th.UseSlot(&shm.Slot{Base: 0x51000, Mem: make([]byte, 1<<20)})
	return p, c, th
}

const sysGetpid = 39

// TestMapped: who asked for it hears what calls map, and translated code tells of brk.
func TestMapped(t *testing.T) {
	p, c, _ := start(t)
	all := func() {
		c.Ended(tracee.SysMmap, 0x7000, &sys.Regs{Rsi: 0x1001, Rdx: tracee.ProtRead, R10: tracee.MapAnonymous | 2})
		c.Ended(tracee.SysMmap, 0x7000, &sys.Regs{Rsi: 0x1000, R10: tracee.MapAnonymous | tracee.MapShared})
		c.Ended(sysMremap, 0xa000, &sys.Regs{Rdi: 0x7000, Rsi: 0x1000, Rdx: 0x2000})
		c.Ended(tracee.SysBrk, 0x9000, &sys.Regs{Rdi: 0x9000})
		c.Ended(sysShmat, 0x9000, &sys.Regs{})
		minus := int64(-12)
		c.Ended(tracee.SysMmap, uint64(minus), &sys.Regs{Rsi: 0x1000})
		p.log = slices.DeleteFunc(p.log, func(s string) bool { return !strings.HasPrefix(s, "mapped") })
	}
	all()
	p.expect()
	c.WatchMappings()
	if got := c.shm.Ctl.Mem[layout.SyscallTable+tracee.SysBrk]; got != layout.SyscallNotify {
		t.Errorf("brk has %d in the table", got)
	}
	all()
	p.expect("mapped {How:0 Start:28672 End:36864 Prot:1 From:0 FromEnd:0 By:0}", "mapped {How:1 Start:28672 End:32768 Prot:0 From:0 FromEnd:0 By:0}",
		"mapped {How:2 Start:40960 End:49152 Prot:0 From:28672 FromEnd:32768 By:0}", "mapped {How:3 Start:0 End:36864 Prot:0 From:0 FromEnd:0 By:0}",
		"mapped {How:4 Start:0 End:0 Prot:0 From:0 FromEnd:0 By:0}")
	// Who asks: what the function of the call returns to, if it has been called, or the call itself.
	p.code = true
	for _, c2 := range []struct {
		before []byte
		want   uint64
	}{
		{[]byte{0x90, 0x90, 0xe8, 1, 2, 3, 4}, 0x4007}, {[]byte{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0}, 0x4007},
		{[]byte{0x90, 0xff, 0x15, 1, 2, 3, 4}, 0x4007}, {[]byte{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0}, 0x5002},
	} {
		p.put(0x4000, c2.before...)
		p.put(0x8000, 7, 0x40, 0, 0, 0, 0, 0, 0)
		if got := c.calledFrom(&sys.Regs{Rsp: 0x8000, Rip: 0x5002}); got != c2.want {
			t.Errorf("behind % x: asked by %#x, want %#x", c2.before, got, c2.want)
		}
	}
	if got := c.calledFrom(&sys.Regs{Rsp: 0x9000, Rip: 0x5002}); got != 0x5002 {
		t.Errorf("without a stack: asked by %#x", got)
	}
}

// TestTable holds what translated code does with a call to what is asked for, whatever that is.
func TestTable(t *testing.T) {
	p, c, th := start(t)
	table := func(nr int) byte { return c.shm.Ctl.Mem[layout.SyscallTable+nr] }
	want := func(when string, nr int, what byte) {
		t.Helper()
		if got := table(nr); got != what {
			t.Errorf("%s: call %d has %d in the table, want %d", when, nr, got, what)
		}
	}
	want("at first", sysGetpid, layout.SyscallPlain)
	want("at first", tracee.SysMmap, layout.SyscallNotify)
	want("at first", Sigreturn, layout.SyscallTracer)
	c.Watch(sysGetpid, true)
	p.expect("changed")
	want("watched", sysGetpid, layout.SyscallTracer)
	c.Watch(sysGetpid, true)
	p.expect() // nothing changes
	c.Watch(sysGetpid, false)
	c.WatchReturns(true)
	want("told of", sysGetpid, layout.SyscallNotify)
	want("told of", sysExit, layout.SyscallTracer) // which returns nowhere
	c.judge()
	want("judged", sysGetpid, layout.SyscallTracer)
	if notify, ok := th.MayMake(sysGetpid); !ok || !notify {
		t.Errorf("a judged call that is told of: %v %v, want it made and told of", notify, ok)
	}
	if _, ok := th.MayMake(Sigreturn); ok {
		t.Error("the tracer's own call is made without it")
	}
	c.WatchReturns(false)
	want("judged", sysGetpid, layout.SyscallTracer)
	if c.Plain(sysGetpid) || c.Plain(sysExit) || c.Plain(Clone) {
		t.Error("a call is taken for one that the tracer has no part in")
	}
}

// TestChangesOfHandlers: a thread that changes a handler asks before, and tells of it where others may go by what was meanwhile.
func TestChangesOfHandlers(t *testing.T) {
	p, c, th := start(t)
	if _, ok := th.MayMake(sysSigaction); ok {
		t.Error("nobody has asked for it")
	}
	c.AskOfHandlers()
	was := c.Dispositions()
	if notify, ok := th.MayMake(sysSigaction); !ok || notify || th.ChangesHandler() || c.Dispositions() == was {
		t.Error("a thread that is alone need not tell of it")
	}
	p.several = true
	regs := &sys.Regs{}
	for what, end := range map[string]func(){
		"told of":                     func() { th.Noted(sysSigaction, regs, false) },
		"seen to end":                 func() { th.Done(0) },
		"to be made behind a handler": th.Interrupted,
	} {
		if notify, ok := th.MayMake(sysSigaltstack); !ok || !notify || !th.ChangesHandler() {
			t.Errorf("%s: others do not know that it is made", what)
		}
		if end(); th.ChangesHandler() {
			t.Errorf("%s: it is still under way", what)
		}
	}
	c.Watch(sysSigaction, true)
	if _, ok := th.MayMake(sysSigaction); ok || !th.ChangesHandler() {
		t.Error("others do not know of one that is watched")
	}
	if th.MayMake(sysGetpid); th.ChangesHandler() {
		t.Error("another call changes none")
	}
}

// TestMemory has calls that change memory end, well and not, with code in the way and without.
func TestMemory(t *testing.T) {
	const at, length = 0x10000, 0x1800
	einval, enomem := ^uint64(21), ^uint64(11)
	for _, c := range []struct {
		what    string
		nr, res uint64
		third   uint64
		r10     uint64
		code    bool
		want    []string
	}{
		{what: "mmap of code", nr: tracee.SysMmap, res: 0x70000, third: tracee.ProtExec, want: []string{"lost 70000-72000", "code", "remapped", "images"}},
		{what: "mmap of a file for writing", nr: tracee.SysMmap, res: 0x70000, third: tracee.ProtWrite, want: []string{"replaced 70000-72000", "lost 70000-72000"}},
		{what: "munmap", nr: tracee.SysMunmap, want: []string{"lost 10000-12000", "unmapped 10000-12000"}},
		{what: "munmap of code", nr: tracee.SysMunmap, code: true,
			want: []string{"lost 10000-12000", "code", "remapped", "remapped", "aside 10000-12000", "unmapped 10000-12000"}},
		{what: "munmap that was not begun", nr: tracee.SysMunmap, res: einval},
		{what: "munmap that failed halfway", nr: tracee.SysMunmap, res: enomem, want: []string{"lost 10000-12000", "code", "remapped", "images"}},
		{what: "mprotect of code", nr: sysMprotect, code: true, third: tracee.ProtWrite,
			want: []string{"touched 10000-11800", "code", "lost 10000-12000", "aside 10000-12000"}},
		{what: "advice that drops pages", nr: tracee.SysMadvise, third: madvDontNeed, code: true, want: []string{"lost 10000-12000", "code", "forgotten 10000-12000"}},
		{what: "other advice", nr: tracee.SysMadvise, third: 3, code: true},
		{what: "shmat", nr: sysShmat, want: []string{"code", "remapped", "forgotten 0-800000000000"}},
		{what: "personality", nr: sysPersonality, want: []string{"personality"}},
		{what: "a call that changes nothing", nr: sysGetpid},
	} {
		p, calls, _ := start(t)
		p.code = c.code
		calls.Ended(c.nr, c.res, &sys.Regs{Rdi: at, Rsi: length, Rdx: c.third, R10: c.r10})
		if !slices.Equal(p.log, c.want) {
			t.Errorf("%s: told %q, want %q", c.what, p.log, c.want)
		}
	}
}

// TestOwnMemoryAsFile has writes to files looked at from when a process opens its memory.
func TestOwnMemoryAsFile(t *testing.T) {
	p, c, _ := start(t)
	p.put(0x2000, []byte("/proc/self/maps\x00................")...)
	c.Ended(sysOpenat, 3, &sys.Regs{Rsi: 0x2000})
	if c.special[sysWrite] != layout.SyscallPlain {
		t.Error("writes are looked at though no memory was opened")
	}
	p.put(0x2000, []byte("/proc/self/mem\x00.................")...)
	c.Ended(sysOpenat, 3, &sys.Regs{Rsi: 0x2000})
	if c.special[sysWrite] != layout.SyscallNotify || c.shm.Ctl.Mem[layout.SyscallTable+sysPwrite64] != layout.SyscallNotify {
		t.Error("writes are not looked at after a process has opened its memory")
	}
}

// TestLimits widens and narrows limits, which is undone by the other but where there is none.
func TestLimits(t *testing.T) {
	for _, l := range []sys.Limit{{Cur: 1 << 30, Max: sys.Unlimited}, {Cur: 0, Max: 1 << 40}, {Cur: sys.Unlimited, Max: sys.Unlimited}} {
		if got := narrow(widen(l, ourMappings), ourMappings); got != l {
			t.Errorf("%v: %v behind widening and narrowing", l, got)
		}
	}
	if w := widen(sys.Limit{Cur: sys.Unlimited - 1, Max: 5}, 10); w.Cur != sys.Unlimited || w.Max != 15 {
		t.Errorf("widened to %v", w)
	}
	_, c, _ := start(t)
	for _, x := range []struct {
		regs     sys.Regs
		set, get bool
		ok       bool
	}{
		{sys.Regs{Rax: sysSetrlimit, Rdi: limitAS}, true, false, true},
		{sys.Regs{Rax: sysGetrlimit, Rdi: limitAS}, false, true, true},
		{sys.Regs{Rax: sysGetrlimit, Rdi: 7}, false, true, false},
		{sys.Regs{Rax: sysPrlimit64, Rdi: 10, Rsi: limitAS}, true, true, true},
		{sys.Regs{Rax: sysPrlimit64, Rdi: 11, Rsi: limitAS}, true, true, false}, // another process's
	} {
		set, get, ok := c.limits(&x.regs)
		if ok != x.ok || (set != nil) != x.set || (get != nil) != x.get {
			t.Errorf("call %d of limit %d: %v %v %v", x.regs.Rax, x.regs.Rdi, set, get, ok)
		}
	}
}

// TestJudged decides on calls by where they are made from, without a selector.
func TestJudged(t *testing.T) {
	_, _, th := start(t)
	for _, c := range []struct {
		mode, next uint64
		refused    bool
	}{{dispatchOff, 0x500, false}, {dispatchOn, 0x500, true}, {dispatchOn, 0x1008, false}, {dispatchIn, 0x1008, true}, {dispatchIn, 0x1010, false}} {
		th.refuses = sys.UserDispatch{Mode: c.mode, Offset: 0x1000, Length: 0x10}
		if got := th.IsRefused(c.next); got != c.refused {
			t.Errorf("mode %d, call in front of %#x: refused %v, want %v", c.mode, c.next, got, c.refused)
		}
	}
}

// TestBorn tells what calls of the clone family bring forth, by either table.
func TestBorn(t *testing.T) {
	p, c, _ := start(t)
	p.put(0x3000, binary.LittleEndian.AppendUint64(nil, cloneVM)...)
	p.put(0x4000, 0xcd, 0x80)
	for _, x := range []struct {
		regs sys.Regs
		want int
	}{
		{sys.Regs{Orig_rax: Clone, Rdi: cloneVM | cloneThread}, tracee.EventClone},
		{sys.Regs{Orig_rax: Clone, Rdi: 17}, tracee.EventFork},
		{sys.Regs{Orig_rax: Clone3, Rdi: 0x3000}, tracee.EventVfork},
		{sys.Regs{Orig_rax: sysFork}, tracee.EventFork}, // as the kernel says
		{sys.Regs{Orig_rax: sys32Clone, Rbx: cloneVM, Rip: 0x4002}, tracee.EventVfork},
	} {
		got, err := c.BornAs(&x.regs, tracee.EventFork)
		if err != nil || got != x.want {
			t.Errorf("call %d with %#x: %d, %v, want %d", x.regs.Orig_rax, x.regs.Rdi, got, err, x.want)
		}
	}
	if _, err := c.BornAs(&sys.Regs{Orig_rax: Clone3, Rdi: 0x9000}, tracee.EventFork); err == nil {
		t.Error("arguments that cannot be read are no error")
	}
}

// TestHidden takes the flag out that would keep a child from us, in a register and in memory, and puts it back.
func TestHidden(t *testing.T) {
	p, c, th := start(t)
	if !c.PlainClone(&sys.Regs{Rax: Clone, Rdi: 17}) || c.PlainClone(&sys.Regs{Rax: Clone, Rdi: cloneUntraced}) {
		t.Error("which clones need something of the tracer is wrong")
	}
	regs := sys.Regs{Rax: Clone, Rdi: cloneUntraced | 17}
	if next, err := th.Answer(&regs, 0xcac50); next != Resume || err != nil || p.regs.Rdi != 17 || p.regs.Rip != 0xcac50 || !th.Awaits() {
		t.Fatalf("%v, %v: the call is made with %#x at %#x", next, err, p.regs.Rdi, p.regs.Rip)
	}
	h, err := th.Unhide()
	if err != nil || p.regs.Rdi != cloneUntraced|17 {
		t.Errorf("%v: behind the call the flags are %#x", err, p.regs.Rdi)
	}
	child := sys.Regs{Rdi: 17}
	if h.Restore(&child); child.Rdi != cloneUntraced|17 {
		t.Errorf("the child's flags are %#x", child.Rdi)
	}
	p.put(0x3000, binary.LittleEndian.AppendUint64(nil, cloneUntraced)...)
	regs = sys.Regs{Rax: Clone3, Rdi: 0x3000}
	if _, err := th.Answer(&regs, 0xcac50); err != nil || p.mem[0x3002] != 0 {
		t.Errorf("%v: clone3 is made with %#x", err, p.mem[0x3002])
	}
	if _, err := th.Unhide(); err != nil || p.mem[0x3002] != 0x80 {
		t.Errorf("%v: behind clone3 memory holds %#x", err, p.mem[0x3002])
	}
	if h, err := th.Unhide(); h != nil || err != nil {
		t.Errorf("a flag that was not taken out: %v, %v", h, err)
	}
}

// TestStops has a thread stop at calls, whose two stops look alike.
func TestStops(t *testing.T) {
	p, c, th := start(t)
	p.native = true
	c.Watch(sysGetpid, true)
	c.WatchReturns(true)
	p.expect("changed")
	at := func(rax uint64, want Next, told ...string) {
		t.Helper()
		regs := sys.Regs{Orig_rax: sysGetpid, Rax: rax, Rip: 0x1002}
		next, err := th.Stop(&regs)
		if next != want || err != nil {
			t.Errorf("%v, %v, want %v", next, err, want)
		}
		p.expect(told...)
	}
	enosys := NoSuchCall() // what the kernel has in rax at the entry
	at(enosys, Resume, "entered 39")
	at(7, Over, "returned 39 true 7")
	restart := ^uint64(511) // -ERESTARTSYS
	at(enosys, Resume, "entered 39")
	at(restart, Over)
	if !th.IsAgain() {
		t.Error("a call that the kernel makes again is over")
	}
	at(enosys, Resume) // the same call
	at(8, Over, "returned 39 true 8")
	p.shares = true // the calls of a child that shares the memory are nobody's
	at(enosys, Resume)
	at(9, Over)
}

// TestStart answers the registration of restartable sequences as a kernel without it, and no other call of a start.
func TestStart(t *testing.T) {
	p, c, th := start(t)
	p.native = true
	c.SetStarting(3)
	if !th.Stops() {
		t.Error("a native start stops at no calls")
	}
	p.regs.Orig_rax = 1
	if err := th.Natively(&sys.Regs{Orig_rax: sysGetpid}); err != nil || c.Starting() != 2 || p.regs.Orig_rax != 1 {
		t.Errorf("%v: %d stops are left", err, c.Starting())
	}
	if err := th.Natively(&sys.Regs{Orig_rax: Rseq}); err != nil || c.Starting() != 0 || p.regs.Orig_rax != ^uint64(0) {
		t.Errorf("%v: %d stops are left, and the call is %d", err, c.Starting(), int64(p.regs.Orig_rax))
	}
	regs := sys.Regs{Rax: Rseq, Rip: 0x1000, Eflags: 0x246}
	if next, err := th.Answer(&regs, 0); next != Enter || err != nil || regs.Rax != NoSuchCall() || regs.Rip != 0x1002 || regs.R11 != 0x246 {
		t.Errorf("%v, %v, %+v", next, err, regs)
	}
}

// TestSequences has a process without restartable sequences be answered as by a kernel without them, and one that has some make its calls like others, as soon as the kernel says so.
func TestSequences(t *testing.T) {
	p, c, th := start(t)
	table := func(want byte) {
		t.Helper()
		for _, nr := range []int{Rseq, sysMembarrier} {
			if got := c.shm.Ctl.Mem[layout.SyscallTable+nr]; got != want {
				t.Errorf("call %d has %d in the table, want %d", nr, got, want)
			}
		}
	}
	answer := func(nr, command uint64, want Next) {
		t.Helper()
		if next, err := th.Answer(&sys.Regs{Rax: nr, Rdi: command, Rip: 0x1000}, 0xcac50); next != want || err != nil {
			t.Errorf("call %d is followed by %d, %v, want %d", nr, next, err, want)
		}
	}
	if err := th.SeeSequences(); err != nil || c.HasSequences() {
		t.Errorf("%v, has sequences: %v", err, c.HasSequences())
	}
	if err := th.BornWithSequences(false); err != nil || c.HasSequences() {
		t.Errorf("born: %v, has sequences: %v", err, c.HasSequences())
	}
	table(layout.SyscallTracer)
	answer(Rseq, 0, Enter)
	answer(sysMembarrier, barrierRegisterRseq, Enter)
	p.area = 0x7000
	if err := th.SeeSequences(); err != nil || !c.HasSequences() {
		t.Errorf("%v, has sequences: %v", err, c.HasSequences())
	}
	p.area = 0 // the thread that had them is gone: the others go on as they have begun
	if err := th.SeeSequences(); err != nil || !c.HasSequences() {
		t.Errorf("%v, has sequences: %v", err, c.HasSequences())
	}
	table(layout.SyscallPlain)
	c.Watch(Rseq, true) // which the client may
	c.Watch(sysMembarrier, true)
	table(layout.SyscallTracer)
	answer(Rseq, 0, Resume)
	answer(sysMembarrier, barrierRegisterRseq, Resume)
	p.native = true
	c.SetStarting(3)
	p.regs.Orig_rax = Rseq
	if err := th.Natively(&sys.Regs{Orig_rax: Rseq}); err != nil || c.Starting() != 0 || p.regs.Orig_rax != Rseq {
		t.Errorf("%v: natively the call is %d, with %d stops left", err, int64(p.regs.Orig_rax), c.Starting())
	}
	_, c, th = start(t)
	if err := th.BornWithSequences(true); err != nil || !c.HasSequences() {
		t.Errorf("a child of a process with sequences: %v, has some: %v", err, c.HasSequences())
	}
}
