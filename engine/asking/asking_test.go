package asking

import (
	"bytes"
	"fmt"
	"testing"

	"alleria/internal/sys"
)

// memory is a process's from address 0.
type memory []byte

func (m memory) ReadAt(b []byte, at int64) (int, error) {
	if at < 0 || int(at)+len(b) > len(m) {
		return 0, fmt.Errorf("no memory at %#x", at)
	}
	return copy(b, m[at:]), nil
}

func (m memory) WriteAt(b []byte, at int64) (int, error) {
	if at < 0 || int(at)+len(b) > len(m) {
		return 0, fmt.Errorf("no memory at %#x", at)
	}
	return copy(m[at:], b), nil
}

// code makes memory with a site of each kind, and a stack.
func code() (memory, []Site) {
	sites := []Site{{At: 16, Call: Ptrace}, {At: 32, Call: Ptrace, Kind: C, To: 80}, {At: 48, Call: Ptrace, Kind: Go, To: 8}, {At: 64, Call: Ptrace, Kind: C, To: 96, Slot: true}}
	m := make(memory, 256)
	for i := range sites {
		copy(m[sites[i].At:], sites[i].code())
	}
	m[96] = 120 // the slot
	return m, sites
}

// TestExecute executes each kind in a thread's name, with its breakpoint in place.
func TestExecute(t *testing.T) {
	for i, want := range []struct {
		rip, back uint64
		regs      sys.Regs
	}{
		{rip: 21, regs: sys.Regs{Rdi: Attach, Rsi: 77}},
		{rip: 80, back: 37, regs: sys.Regs{Rdi: Ptrace, Rsi: Attach, Rdx: 77}},
		{rip: 8, back: 53, regs: sys.Regs{Rax: Ptrace, Rbx: Attach, Rcx: 77}},
		{rip: 120, back: 70, regs: sys.Regs{Rdi: Ptrace, Rsi: Attach, Rdx: 77}},
	} {
		m, sites := code()
		var s Set
		s.Place(m, sites)
		r := want.regs
		r.Rip, r.Rsp = sites[i].At+1, 240
		hit, _ := s.Hit(&r)
		if m[sites[i].At] != int3 || hit == nil || hit.At != sites[i].At {
			t.Fatalf("%d: no breakpoint, or %v", i, hit)
		}
		if what, tid, ok := hit.Request(&r); what != Attach || tid != 77 || !ok {
			t.Errorf("%d: request %d of %d, %t", i, what, tid, ok)
		}
		if err := hit.Execute(&r, m); err != nil || r.Rip != want.rip {
			t.Errorf("%d: goes on at %d: %v", i, r.Rip, err)
		}
		if want.back != 0 && (r.Rsp != 232 || uint64(m[232]) != want.back) || want.back == 0 && r.Rax != Ptrace {
			t.Errorf("%d: stack %d, %d there, %d in rax", i, r.Rsp, m[232], r.Rax)
		}
	}
	m, sites := code()
	r := sys.Regs{Rdi: 39}
	if _, _, ok := sites[1].Request(&r); ok {
		t.Error("another call is taken for ptrace")
	}
	if sites[1].Execute(&r, m) == nil { // there is no stack
		t.Error("a call without a stack was made")
	}
}

// TestAny: of the C library's syscall() itself the number is the thread's, and its last argument comes from the stack.
func TestAny(t *testing.T) {
	m, site := make(memory, 256), Site{At: 16, Call: Ptrace, Kind: Any}
	copy(m[16:], site.code())
	m[208] = 66
	r := sys.Regs{Rip: 17, Rsp: 200, Rax: Ptrace, Rdi: Seize, Rsi: 78}
	if what, tid, ok := site.Request(&r); !site.Lies(m) || what != Seize || tid != 78 || !ok {
		t.Errorf("request %#x of %d, %t", what, tid, ok)
	}
	if call, ok := site.Registers(&r); !ok || call.Rax != Ptrace || call.Rdi != Seize {
		t.Errorf("%+v, %t", call, ok)
	}
	if err := site.Execute(&r, m); err != nil || r.Rip != 21 || r.R9 != 66 || r.Rax != Ptrace || r.Rsp != 200 {
		t.Errorf("%+v: %v", r, err)
	}
	if r.Rax = 39; site.Execute(&sys.Regs{Rsp: 252}, m) == nil {
		t.Error("an argument without a stack was loaded")
	}
	if _, _, ok := site.Request(&r); ok {
		t.Error("another call is taken for ptrace")
	}
}

// TestArgs: what calls are made with is where each kind has it, and the flag of clone that hides what is created is taken out there.
func TestArgs(t *testing.T) {
	const flags = Untraced | 17
	for _, c := range []struct {
		site Site
		regs sys.Regs
		want [4]uint64
		ok   bool
	}{
		{Site{Call: Clone}, sys.Regs{Rdi: flags, Rsi: 2, Rdx: 3, R10: 4}, [4]uint64{flags, 2, 3, 4}, true},
		{Site{Call: Prlimit, Zeroed: true}, sys.Regs{Rdi: flags, Rsi: 2, Rdx: 3, R10: 4}, [4]uint64{0, 2, 3, 4}, true},
		{Site{Call: Clone, Kind: C}, sys.Regs{Rdi: Clone, Rsi: flags, Rdx: 2, Rcx: 3, R8: 4}, [4]uint64{flags, 2, 3, 4}, true},
		{Site{Call: Clone, Kind: Go}, sys.Regs{Rax: Clone, Rbx: flags, Rcx: 2, Rdi: 3, Rsi: 4}, [4]uint64{flags, 2, 3, 4}, true},
		{Site{Call: Clone, Kind: C}, sys.Regs{Rdi: Ptrace, Rsi: flags}, [4]uint64{flags}, false},
	} {
		r := c.regs
		args, ok := c.site.Args(&r)
		call, _ := c.site.Registers(&r)
		if args != c.want || ok != c.ok || [4]uint64{call.Rdi, call.Rsi, call.Rdx, call.R10} != c.want || call.Rax != uint64(c.site.Call) {
			t.Errorf("%+v: %v, %t, %+v", c.site, args, ok, call)
		}
		c.site.TakeFlag(&r)
		if args, _ := c.site.Args(&r); ok && c.site.Call == Clone && args[0] != 17 || (!ok || c.site.Call != Clone) && r != c.regs {
			t.Errorf("%+v: %#x, %+v", c.site, args[0], r)
		}
	}
}

// TestSet: breakpoints come and go, in copies as well, and only where the code is.
func TestSet(t *testing.T) {
	m, sites := code()
	plain := bytes.Clone(m)
	m[33]++ // other code
	var s Set
	s.Place(m, sites)
	if s.Len() != 3 || m[32] == int3 {
		t.Errorf("%d breakpoints, %#x in other code", s.Len(), m[32])
	}
	forked := bytes.Clone(plain)
	copy(forked[:20], m) // the copy was made in the middle
	c := s.Copy(false)
	if c.Place(memory(forked), s.Sites()); c.Len() != 3 || forked[16] != int3 || forked[48] != int3 {
		t.Errorf("%d breakpoints in the copy", c.Len())
	}
	if s.Copy(true).Len() != 3 {
		t.Error("a whole copy lacks some")
	}
	if c.Remove(memory(forked)); !bytes.Equal(forked, plain) {
		t.Error("the copy has not got its code back")
	}
	r := sys.Regs{Rip: 17}
	if hit, _ := c.Hit(&r); hit == nil {
		t.Error("a thread that was underway is not known")
	}
	if c.Place(memory(forked), sites[:1]); c.Len() != 1 {
		t.Error("it is not put back")
	}
	for n := range Most {
		if _, enough := s.Hit(&r); enough != (n == Most-1) {
			t.Errorf("hit %d: enough %t", n, enough)
		}
	}
	s.Remove(m)
	if s.Place(m, sites); !s.Over() || s.Len() != 0 || !s.Copy(true).Over() {
		t.Error("it goes on")
	}
}
