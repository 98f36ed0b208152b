package tracee

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"alleria/internal/sys"
)

const sigUsr1, sigChld = 10, 17

// numbers are the numbers of signals.
func numbers(held []Signal) (n []int) {
	for _, h := range held {
		n = append(n, int(h.Number))
	}
	return n
}

// TestHalt stops a thread that reports what it likes instead, and looks at what became of that.
func TestHalt(t *testing.T) {
	asked := stop(tid, EventStop, SIGTRAP)
	for _, c := range []struct {
		name     string
		owner    owner
		reports  []sys.Stop
		info     sys.Siginfo
		err      error
		held     []int
		aside    int // stops that are kept for later
		stopped  bool
		byJob    bool
		answered []answer // further requests
	}{
		{name: "the stop that was asked for", reports: []sys.Stop{asked}, stopped: true},
		{name: "job control", reports: []sys.Stop{stop(tid, EventStop, SIGTSTP)}, stopped: true, byJob: true},
		{name: "others before it", reports: []sys.Stop{stop(99, 0, sigUsr1), stop(98, EventFork, SIGTRAP), asked}, aside: 2, stopped: true},
		{name: "a signal", reports: []sys.Stop{stop(tid, 0, sigUsr1)}, info: siginfo(sigUsr1, CodeUser, 1), held: []int{sigUsr1}, stopped: true},
		{name: "a fault of ours", owner: owner{fault: (*Signal).Fault}, reports: []sys.Stop{stop(tid, 0, SIGSEGV)}, info: siginfo(SIGSEGV, 1, 0), stopped: true},
		{name: "a trap of its owner's", owner: owner{trap: true}, reports: []sys.Stop{stop(tid, 0, SIGTRAP)}, err: ErrBusy, aside: 1},
		{name: "a system call", reports: []sys.Stop{stop(tid, 0, CallStop)}, err: ErrBusy, aside: 1},
		{name: "another program", reports: []sys.Stop{stop(tid, EventExec, SIGTRAP)}, err: ErrBusy, aside: 1},
		{name: "its end", reports: []sys.Stop{exit(tid)}, err: ErrEnded, aside: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, th := newMachine(t, &c.owner, append([]answer{{request: "interrupt", reports: c.reports}}, c.answered...)...)
			m.info[tid] = c.info
			_, err := th.Halt()
			if !errors.Is(err, c.err) || th.Stopped != c.stopped || th.GroupStopped != c.byJob || !slices.Equal(numbers(th.held), c.held) {
				t.Errorf("%v, stopped %v, by job control %v, held %v", err, th.Stopped, th.GroupStopped, numbers(th.held))
			}
			var aside []sys.Stop
			for s, ok := th.stops.Aside(); ok; s, ok = th.stops.Aside() {
				aside = append(aside, s)
			}
			if want := c.reports[:c.aside]; !slices.Equal(aside, want) {
				t.Errorf("kept for later: %v, want %v", aside, want)
			}
			m.expect("interrupt 0")
		})
	}
}

// TestHaltBehindFault stops a thread that has hit an int3 which is not reported yet: it is let on to that first, but where job
// control keeps it in front.
func TestHaltBehindFault(t *testing.T) {
	int3 := siginfo(SIGTRAP, CodeKernel, 0)
	for _, c := range []struct {
		name     string
		by       sys.Signal
		native   bool
		pending  []sys.Siginfo
		mask     uint64
		err      error
		requests []string
		held     int
	}{
		{"in the cache", SIGTRAP, false, []sys.Siginfo{int3}, 0, nil, []string{"interrupt 0"}, 0},
		{"natively", SIGTRAP, true, []sys.Siginfo{int3}, 0, nil, []string{"interrupt 0", "cont 0"}, 1},
		{"the ninth that waits", SIGTRAP, true, append(slices.Repeat([]sys.Siginfo{siginfo(40, CodeQueue, 1)}, 8), int3), 0, nil, []string{"interrupt 0", "cont 0"}, 1},
		{"sent, not raised", SIGTRAP, true, []sys.Siginfo{siginfo(SIGTRAP, CodeUser, 1)}, 0, nil, []string{"interrupt 0"}, 0},
		{"blocked", SIGTRAP, true, []sys.Siginfo{int3}, 1 << (SIGTRAP - 1), nil, []string{"interrupt 0"}, 0},
		{"job control", SIGTSTP, true, []sys.Siginfo{int3}, 0, ErrBusy, []string{"interrupt 0"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &owner{native: c.native}
			answers := []answer{{request: "interrupt", reports: []sys.Stop{stop(tid, EventStop, c.by)}}}
			m, th := newMachine(t, o)
			if len(c.requests) > 1 {
				answers = append(answers, answer{request: "cont", reports: []sys.Stop{stop(tid, 0, SIGTRAP)}, then: func() { m.pending = nil }})
			}
			m.answers, m.pending, m.mask, m.info[tid] = answers, c.pending, c.mask, int3
			if _, err := th.Halt(); !errors.Is(err, c.err) || len(th.held) != c.held {
				t.Errorf("%v, %d held", err, len(th.held))
			}
			if want := len(c.requests) - 1; c.err == nil && o.behind != want {
				t.Errorf("found behind %d times, want %d", o.behind, want)
			}
			m.expect(c.requests...)
		})
	}
}

// TestStep steps a thread that blocks SIGTRAP, and that is sent a signal meanwhile: the step is repeated, the mask as it was.
func TestStep(t *testing.T) {
	m, th := newMachine(t, &owner{})
	m.mask = 1<<(SIGTRAP-1) | 1<<(sigUsr1-1)
	th.Stopped = true
	m.info[tid] = siginfo(sigChld, CodeUser, 1)
	m.answers = []answer{
		{request: "step", reports: []sys.Stop{stop(tid, 0, sigChld)}},
		{request: "step", reports: []sys.Stop{stop(tid, 0, SIGTRAP)}, then: func() { m.info[tid] = siginfo(SIGTRAP, CodeTrace, 0) }},
	}
	if err := th.Step(nil); err != nil || !slices.Equal(numbers(th.held), []int{sigChld}) {
		t.Errorf("%v, held %v", err, numbers(th.held))
	}
	m.expect("mask 0x200", "step 0", "mask 0xfffffffffffffb27", "step 0", "mask 0x200", "mask 0x210")
}

// TestStepLetsTrapThrough: a SIGTRAP that somebody sent, and that the thread blocks, comes with the step. It goes back to the kernel.
func TestStepLetsTrapThrough(t *testing.T) {
	m, th := newMachine(t, &owner{})
	m.mask = 1 << (SIGTRAP - 1)
	m.info[tid] = siginfo(SIGTRAP, CodeTKill, 77)
	m.answers = []answer{
		{request: "step", reports: []sys.Stop{stop(tid, 0, SIGTRAP)}},
		{request: "step", reports: []sys.Stop{stop(tid, 0, SIGTRAP)}, then: func() { m.info[tid] = siginfo(SIGTRAP, CodeTrace, 0) }},
	}
	if err := th.Step(nil); err != nil || len(th.held) > 0 {
		t.Errorf("%v, held %v", err, numbers(th.held))
	}
	m.expect("mask 0x0", "step 0", "mask 0xfffffffffffffb27", "step 0", "mask 0x0", "mask 0x10", "send 5")
	h := Signal{SIGTRAP, siginfo(SIGTRAP, CodeTKill, os.Getpid())}
	if !th.SentAgain(&h) || h.Info.Sender() != 77 {
		t.Errorf("the signal that comes again is of %d, want its first sender", h.Info.Sender())
	}
	if th.stops.AwaitsSignal(pid) {
		t.Error("it is still waited for")
	}
}

// TestCall makes a system call in a thread's name, from borrowed code, with a signal in between.
func TestCall(t *testing.T) {
	m, th := newMachine(t, &owner{})
	code := memory{0x90, 0x90, 0x90, 0x90}
	before := sys.Regs{Rip: 0x5555, Rax: 7, Rdi: 8, Orig_rax: 9}
	m.regs, m.info[tid] = before, siginfo(sigUsr1, CodeUser, 1)
	enter := answer{request: "call", reports: []sys.Stop{stop(tid, 0, CallStop)}}
	m.answers = []answer{enter, {request: "call", reports: []sys.Stop{stop(tid, 0, sigUsr1)}}, {request: "call", reports: enter.reports, then: func() {
		if r := &m.regs; r.Rip != 1 || r.Rax != SysMunmap || r.Rdi != 0x1000 || r.Rsi != 0x2000 || r.Rdx != 0 || r.Orig_rax != ^uint64(0) {
			t.Errorf("the call is made with %+v", r)
		}
		m.regs.Rax = ^uint64(21) // EINVAL
	}}}
	in, err := th.InjectAt(code, 1)
	if err != nil {
		t.Fatal(err)
	}
	if code[1] != 0x0f || code[2] != 0x05 {
		t.Errorf("code is % x", code)
	}
	if _, err := in.Call(SysMunmap, 0x1000, 0x2000); err == nil || !errors.Is(err, sys.Errno(22)) {
		t.Errorf("error %v, want EINVAL", err)
	}
	if err := in.Close(); err != nil || m.regs != before || !slices.Equal(code, memory{0x90, 0x90, 0x90, 0x90}) {
		t.Errorf("%v; put back: %+v, % x", err, m.regs, code)
	}
	if !slices.Equal(numbers(th.held), []int{sigUsr1}) {
		t.Errorf("held %v", numbers(th.held))
	}
	m.expect("mask 0xfffffffffffffb27", "call 0", "call 0", "call 0", "mask 0x0")
}

// TestCallUnderStorm makes a call of the program's own. A signal that comes in front of it, and would come again each time, is kept away until the call is entered: that
// it then ends the call is the program's business.
func TestCallUnderStorm(t *testing.T) {
	m, th := newMachine(t, &owner{})
	m.mask, m.info[tid] = 1<<(sigChld-1), siginfo(sigUsr1, CodeUser, 1)
	m.answers = []answer{
		{request: "call", reports: []sys.Stop{stop(tid, 0, sigUsr1)}},
		{request: "call", reports: []sys.Stop{stop(tid, 0, CallStop)}},
		{request: "call", reports: []sys.Stop{stop(tid, 0, CallStop)}},
	}
	if err := th.Call(); err != nil || !slices.Equal(numbers(th.held), []int{sigUsr1}) {
		t.Errorf("%v, held %v", err, numbers(th.held))
	}
	m.expect("call 0", "mask 0xfffffffffffffb27", "call 0", "mask 0x10000", "call 0")
}

// memory is a process's, from address 0.
type memory []byte

func (m memory) ReadAt(b []byte, at int64) (int, error)  { return copy(b, m[at:]), nil }
func (m memory) WriteAt(b []byte, at int64) (int, error) { return copy(m[at:], b), nil }

// TestCallEnds: a thread that ends within its call is not waited for.
func TestCallEnds(t *testing.T) {
	m, th := newMachine(t, &owner{}, answer{request: "call", reports: []sys.Stop{exit(tid)}})
	if err := th.Call(); !errors.Is(err, ErrEnded) || !th.stops.AnyAside() {
		t.Errorf("%v, put aside: %v", err, th.stops.AnyAside())
	}
	m.expect("call 0")
}

// TestPostponedFirst: what was postponed comes before a signal of another number, where another thread could have taken it.
func TestPostponedFirst(t *testing.T) {
	const sigUsr2 = 12
	for _, c := range []struct {
		name        string
		owner       owner
		sent        bool
		next        sys.Signal
		code        int
		first, held int
	}{
		{name: "another one", next: sigUsr2, first: sigUsr1, held: 1},
		{name: "the same", next: sigUsr1, first: sigUsr1},
		{name: "one that has been sent again", sent: true, next: sigUsr2, first: sigUsr2},
		{name: "a thread that is alone", owner: owner{alone: true}, next: sigUsr2, first: sigUsr2},
		{name: "a fault", next: SIGSEGV, code: 1, first: int(SIGSEGV)},
	} {
		_, th := newMachine(t, &c.owner)
		th.stops.postponed = []postponed{{t: th, held: Signal{sigUsr1, siginfo(sigUsr1, CodeUser, 77)}, sent: c.sent}}
		h := Signal{c.next, siginfo(int(c.next), c.code, 5)}
		th.PostponedFirst(&h)
		if int(h.Number) != c.first || len(th.held) != c.held || len(th.stops.postponed) != 1-c.held {
			t.Errorf("%s: %v comes first, held %v, %d postponed", c.name, h.Number, numbers(th.held), len(th.stops.postponed))
		}
	}
}

// TestStorm sends a thread signals one after the other while it does not move: the fifth is postponed, and comes with what it came
// with first. Faults, and what the thread has sent itself, are never.
func TestStorm(t *testing.T) {
	m, th := newMachine(t, &owner{alone: true})
	m.caught = 1<<(sigUsr1-1) | 1<<(SIGSEGV-1)
	regs := &sys.Regs{Rip: 0x1000, Orig_rax: ^uint64(0)}
	th.LetInAt(regs.Rip)
	usr := Signal{sigUsr1, siginfo(sigUsr1, CodeUser, 77)}
	for n := 1; n <= stormLength; n++ {
		if th.Postpone(regs, &usr) {
			t.Fatalf("signal %d is postponed", n)
		}
	}
	own, fault := Signal{sigUsr1, siginfo(sigUsr1, CodeUser, pid)}, Signal{SIGSEGV, siginfo(SIGSEGV, 1, 0)}
	if th.Postpone(regs, &own) || th.Postpone(regs, &fault) {
		t.Error("postponed: the thread's own signal, or a fault")
	}
	inCall := *regs
	inCall.Orig_rax = 39
	if th.Postpone(&inCall, &usr) {
		t.Error("postponed behind a system call")
	}
	if !th.Postpone(regs, &usr) || !th.stops.AnyPostponed() || !th.stops.AwaitsSignal(pid) {
		t.Fatal("the fifth is not postponed")
	}
	th.stops.postponed[0].due = time.Time{}
	th.stops.SendPostponed()
	again := Signal{sigUsr1, siginfo(sigUsr1, CodeTKill, os.Getpid())}
	if !th.SentAgain(&again) || again.Info != usr.Info {
		t.Errorf("sent again by %d, want %d", again.Info.Sender(), 77)
	}
	if th.SentAgain(&again) || th.stops.AnyPostponed() {
		t.Error("one signal comes twice")
	}
	m.expect("send 10")
}

// TestShelter gives a thread signals that nobody handles, two in a row: it is sheltered until it stops, which is at its next system call.
func TestShelter(t *testing.T) {
	m, th := newMachine(t, &owner{}, answer{request: "call"})
	m.mask = 1
	regs := &sys.Regs{Rip: 0x1000, Orig_rax: ^uint64(0)}
	th.LetInAt(regs.Rip)
	child := Signal{sigChld, siginfo(sigChld, 1, 77)}
	for range 2 {
		if err := th.Shelter(regs, &child); err != nil {
			t.Fatal(err)
		}
	}
	if err := th.Resume(sigChld, false, false); err != nil {
		t.Fatal(err)
	}
	if err := th.Unshelter(); err != nil || m.mask != 1 {
		t.Errorf("%v, mask %#x", err, m.mask)
	}
	m.expect("mask 0x10001", "call 17", "mask 0x1")
}

// TestEndedFirst: of the first thread of several that has ended nothing is reported; it is not waited for.
func TestEndedFirst(t *testing.T) {
	for _, c := range []struct {
		name  string
		alone bool
		want  error
	}{{"others live", false, ErrEnded}, {"alone", true, nil}} {
		t.Run(c.name, func(t *testing.T) {
			m, th := newMachine(t, &owner{alone: c.alone})
			th.TID, m.zombie = pid, true
			th.stops.await = func() { m.over = c.alone }
			if _, err := th.Wait(); c.want != nil && !errors.Is(err, c.want) || err == nil {
				t.Errorf("%v, want %v", err, c.want)
			}
			if th.Ending != (c.want != nil) {
				t.Errorf("it has ended: %v", th.Ending)
			}
		})
	}
}

// TestForget: what is still to be sent to a thread is forgotten with it, and a rest of it stops nobody.
func TestForget(t *testing.T) {
	_, th := newMachine(t, &owner{})
	regs := &sys.Regs{Rip: 0x1000}
	th.storm.length, th.storm.sig = stormLength, 40
	if err := th.RestFrom(regs); err != nil || !th.stops.AnyPostponed() {
		t.Fatalf("%v: the thread does not rest", err)
	}
	th.stops.Forget(th)
	if th.stops.AnyPostponed() || len(th.stops.Rested()) > 0 {
		t.Error("it is still remembered")
	}
}

// TestBare lets threads that nobody owns go on from what they have reported as if nobody had looked.
func TestBare(t *testing.T) {
	for _, c := range []struct {
		s    sys.Stop
		want string
	}{
		{stop(tid, 0, 10), "cont 10"},
		{stop(tid, EventStop, SIGTSTP), "listen 0"},
		{stop(tid, EventStop, SIGTRAP), "cont 0"},
		{stop(tid, EventVforkDone, SIGTRAP), "cont 0"},
	} {
		request, _, _ := strings.Cut(c.want, " ")
		m, th := newMachine(t, &owner{}, answer{request: request})
		if err := th.stops.Bare(tid).PassOn(c.s); err != nil {
			t.Error(err)
		}
		m.expect(c.want)
	}
}

// TestSetInfo has signals delivered to threads in stops of all kinds: but for a signal's own, they are brought to one before.
func TestSetInfo(t *testing.T) {
	const urg, winch, none = 23, 28, ^uint64(0)
	goaded := func(sig int) []string {
		return []string{fmt.Sprintf("mask %#x", none&^(1<<(sig-1))), fmt.Sprintf("send %d", sig), "cont 0"}
	}
	for _, c := range []struct {
		name    string
		at      sys.Siginfo
		pending []sys.Siginfo
		reports []sys.Stop
		want    []string
		held    int
	}{
		{name: "a signal", at: siginfo(sigUsr1, CodeUser, 1)},
		{name: "a step", at: siginfo(SIGTRAP, CodeTrace, 0)},
		{name: "an int3", at: siginfo(SIGTRAP, CodeKernel, 0)},
		{name: "behind a call", at: siginfo(SIGTRAP, CallStop, 0), reports: []sys.Stop{stop(tid, 0, urg)}, want: append(goaded(urg), "mask 0x40")},
		{name: "at a handler", at: siginfo(SIGTRAP, SIGTRAP, 0), reports: []sys.Stop{stop(tid, 0, urg)}, want: append(goaded(urg), "mask 0x40")},
		{name: "a stop that was asked for", at: siginfo(SIGTRAP, EventStop<<8|SIGTRAP, 0), reports: []sys.Stop{stop(tid, 0, urg)}, want: append(goaded(urg), "mask 0x40")},
		{name: "one that waits already", at: siginfo(SIGTRAP, CallStop, 0), pending: []sys.Siginfo{siginfo(urg, CodeTKill, 1)}, reports: []sys.Stop{stop(tid, 0, winch)},
			want: append(goaded(winch), "mask 0x40")},
		{name: "another comes first", at: siginfo(SIGTRAP, CallStop, 0), reports: []sys.Stop{stop(tid, 0, SIGSTOP), stop(tid, 0, urg)},
			want: append(goaded(urg), "cont 0", "mask 0x40"), held: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, th := newMachine(t, &owner{})
			for i := range c.reports {
				m.answers = append(m.answers, answer{request: "cont", reports: c.reports[i : i+1]})
			}
			th.Stopped, m.mask, m.pending, m.info[tid] = true, 0x40, c.pending, c.at
			h := Signal{Number: sigUsr1, Info: siginfo(sigUsr1, CodeQueue, 7)}
			if err := th.SetInfo(&h); err != nil {
				t.Fatal(err)
			}
			m.expect(c.want...)
			if m.info[tid] != h.Info || len(th.held) != c.held {
				t.Errorf("it comes with %v, %d held", m.info[tid], len(th.held))
			}
		})
	}
}

// words is a slot.
type words map[int]uint64

func (w words) Get(off int) uint64    { return w[off] }
func (w words) Set(off int, v uint64) { w[off] = v }

// TestTrapMask gives a thread back that it blocks SIGTRAP, where a hit of ours has taken that, and asks for nothing else of one that does nothing with it.
func TestTrapMask(t *testing.T) {
	const bit = 1 << (SIGTRAP - 1)
	borrow := func() (b Borrowed, ok bool) {
		t.Error("a call is made in the name of a program that does nothing with the signal")
		return b, false
	}
	var d Trap
	m, th := newMachine(t, &owner{})
	if err := d.Mend(th, borrow); err != nil || d.Known() {
		t.Errorf("%v, known: %v", err, d.Known())
	}
	m.expect()
	m.mask = ^uint64(bit) // it blocks everything that it can, and the hit has unblocked this one
	if err := d.Mend(th, borrow); err != nil {
		t.Error(err)
	}
	m.expect(fmt.Sprintf("mask %#x", ^uint64(0)))
}

// TestTrapNoted gives a program back what its own code has noted that it asked for, though it was never asked itself.
func TestTrapNoted(t *testing.T) {
	const bit, off = 1 << (SIGTRAP - 1), 0x40
	slot := words{}
	borrow := func() (Borrowed, bool) { return Borrowed{Call: 0xcac4e, Addr: 0x51040, Words: slot, Off: off}, true }
	var d Trap
	m, th := newMachine(t, &owner{})
	if d.Noted([4]uint64{100, 101, 102, 103}); !d.Known() || d.Ignores() {
		t.Error("it is not known")
	}
	m.answers = []answer{{request: "call", reports: []sys.Stop{stop(tid, 0, CallStop)}},
		{request: "call", reports: []sys.Stop{stop(tid, 0, CallStop)}, then: func() { m.regs.Rax = 0 }}}
	if err := d.Mend(th, borrow); err != nil || slot[off] != 100 || slot[off+24] != 103 || m.mask&bit == 0 {
		t.Errorf("it is given %v back, with the mask %#x: %v", slot, m.mask, err)
	}
	if d.Noted([4]uint64{ignore}); !d.Known() || !d.Ignores() {
		t.Error("it is not known to ignore the signal")
	}
	if d.Noted([4]uint64{0, 1}); d.Known() || d.Ignores() {
		t.Error("the default is taken for something")
	}
}

// TestTrapHandled reads what a program does with SIGTRAP while it does, and gives it back when a hit of ours has taken it away.
func TestTrapHandled(t *testing.T) {
	const bit, off = 1 << (SIGTRAP - 1), 0x40
	slot := words{}
	for i := range 4 {
		slot[off+8*i] = uint64(100 + i)
	}
	borrow := func() (Borrowed, bool) { return Borrowed{Call: 0xcac4e, Addr: 0x51040, Words: slot, Off: off}, true }
	call := func(m *machine, set, get uint64) []answer { // entry and end of the call
		return []answer{{request: "call", reports: []sys.Stop{stop(tid, 0, CallStop)}, then: func() {
			if m.regs.Rax != SysSigaction || m.regs.Rsi != set || m.regs.Rdx != get {
				t.Errorf("call %d of %#x, %#x, want to set %#x and get %#x", m.regs.Rax, m.regs.Rsi, m.regs.Rdx, set, get)
			}
		}}, {request: "call", reports: []sys.Stop{stop(tid, 0, CallStop)}, then: func() { m.regs.Rax = 0 }}}
	}
	var d Trap
	m, th := newMachine(t, &owner{})
	m.caught, m.answers = bit, call(m, 0, 0x51040)
	if err := d.Mend(th, borrow); err != nil || !d.Known() {
		t.Fatalf("%v, known: %v", err, d.Known())
	}
	clear(slot)
	m.log, m.caught, m.answers = nil, 0, call(m, 0x51040, 0)
	if err := d.Mend(th, borrow); err != nil {
		t.Error(err)
	}
	if slot[off] != 100 || slot[off+24] != 103 || m.mask&bit == 0 {
		t.Errorf("it is given %v back, with the mask %#x", slot, m.mask)
	}
	// Where it comes from code that nobody hears of it may do another thing with it, or nothing any more.
	for i := range 4 {
		slot[off+8*i] = uint64(200 + i)
	}
	m.log, m.caught, m.answers = nil, bit, call(m, 0, 0x51040)
	if err := d.Learn(th, borrow); err != nil || !d.Known() || d.words[0] != 200 {
		t.Errorf("%v, known: %v, handler %d", err, d.Known(), d.words[0])
	}
	m.log, m.caught = nil, 0
	if err := d.Learn(th, borrow); err != nil || d.Known() {
		t.Errorf("%v, known: %v, though it does nothing with it", err, d.Known())
	}
	m.expect()
}

// TestPutBack asks a thread to stop whose stop was put aside: that keeps its turn, before those that came later.
func TestPutBack(t *testing.T) {
	m, th := newMachine(t, &owner{}, answer{request: "interrupt"}, answer{request: "interrupt"})
	first, second := stop(tid, 0, SIGTRAP), stop(99, 0, SIGTRAP)
	th.stops.PutAside(stop(98, 0, SIGTRAP))
	th.stops.PutAside(first)
	th.stops.PutAside(second)
	for range 2 {
		if ok, err := th.Freeze(); ok || err != nil {
			t.Fatalf("%v, %v", ok, err)
		}
	}
	th.stops.PutAside(stop(97, 0, SIGTRAP))
	for _, want := range []int{98, tid, 99, 97} {
		if s, ok := th.stops.Aside(); !ok || s.TID != want {
			t.Errorf("%v, %v, want thread %d", s, ok, want)
		}
	}
	m.expect("interrupt 0", "interrupt 0")
}

// TestEndComesInstead: a thread that is to report one stop begins to end, or another one has its id by then. No further request is made, and the
// report is left for whoever takes the next one.
func TestEndComesInstead(t *testing.T) {
	first := func(m *machine, th *Thread) error { return th.CallStops(1) }
	for _, c := range []struct {
		name    string
		request string
		is      func(*machine, *Thread) error
	}{
		{"a call", "call", first},
		{"a step", "step", func(_ *machine, th *Thread) error { return th.Step(nil) }},
		{"a run", "cont", func(_ *machine, th *Thread) error { _, err := th.RunTo((*Signal).Breakpoint); return err }},
		{"a signal", "cont", func(_ *machine, th *Thread) error { return th.SetInfo(&Signal{Number: sigUsr1}) }},
	} {
		for _, s := range []sys.Stop{stop(tid, EventExit, SIGTRAP), stop(tid, EventExec, SIGTRAP)} {
			m, th := newMachine(t, &owner{}, answer{request: c.request, reports: []sys.Stop{s}})
			m.info[tid], m.message = siginfo(SIGTRAP, SIGTRAP|s.Event()<<8, 0), 77
			if err := c.is(m, th); !errors.Is(err, ErrEnded) {
				t.Errorf("%s, %d instead: %v", c.name, s.Event(), err)
			}
			if got, ok := th.stops.Aside(); !ok || got != s {
				t.Errorf("%s, %d instead: %v is left", c.name, s.Event(), got)
			}
		}
	}
	m, th := newMachine(t, &owner{}, answer{request: "call", reports: []sys.Stop{stop(tid, EventExec, SIGTRAP)}}, answer{request: "call", reports: []sys.Stop{stop(tid, 0, CallStop)}})
	m.info[tid], m.message = siginfo(SIGTRAP, SIGTRAP|EventExec<<8, 0), tid
	if err := first(m, th); err != nil {
		t.Errorf("its own execve: %v", err)
	}
}

// TestAtEnd: a thread in front of its end is let go once, behind what is done about it, or while that waits for another thread.
func TestAtEnd(t *testing.T) {
	for _, waits := range []bool{false, true} {
		m, th := newMachine(t, &owner{})
		m.info[tid] = siginfo(SIGTRAP, SIGTRAP|EventExit<<8, 0)
		err := th.AtEnd(func() {
			m.answers = []answer{{request: "cont"}} // none is expected before
			if waits {
				th.stops.resumeEnding()
			}
		})
		if err != nil {
			t.Error(err)
		}
		m.expect("cont 0")
	}
}

// TestGoToEnd: a thread that was reported in front of its end is let go on if it still stands there, not if another one has its id by now; also
// while another thread is waited for.
func TestGoToEnd(t *testing.T) {
	for event, want := range map[int][]string{EventExit: {"cont 0"}, EventExec: nil} {
		m, th := newMachine(t, &owner{})
		if want != nil {
			m.answers = []answer{{request: "cont"}, {request: "cont"}}
		}
		m.info[tid] = siginfo(SIGTRAP, SIGTRAP|event<<8, 0)
		if err := th.GoToEnd(); !Passing(err) {
			t.Error(err)
		}
		th.stops.PutAside(stop(tid, EventExit, SIGTRAP))
		th.stops.resumeEnding()
		m.expect(append(want, want...)...)
	}
}
