package syscalls

import (
	"encoding/binary"
	"slices"
	"syscall"
	"testing"

	"alleria/engine/appcode"
	"alleria/engine/tracee"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// TestReached: what a call may write to is found by its arguments, and by what these point to.
func TestReached(t *testing.T) {
	p, c, _ := start(t)
	const page, size = 0x7f0000001000, 0x1000
	guarded := func(from, to uint64) []appcode.Stretch {
		if from < page+size && to > page {
			return []appcode.Stretch{{Start: page, End: page + size}}
		}
		return nil
	}
	words := func(at uint64, w ...uint64) uint64 {
		for i, v := range w {
			p.put(at+8*uint64(i), binary.LittleEndian.AppendUint64(nil, v)...)
		}
		return at
	}
	const far = 0x7f0000100000
	one := words(0x100000, far, 8, page+8, 8)
	message := words(0x101000, 0, 0, one, 2, 0, 0, 0)
	name := words(0x102000, page, 16, 0, 0, 0, 0, 0)
	for _, v := range []struct {
		what    string
		nr      uint64
		regs    sys.Regs
		reached bool
		written bool
	}{
		{"read there", syscall.SYS_READ, sys.Regs{Rsi: page + 8, Rdx: 8}, true, true},
		{"read up to there", syscall.SYS_READ, sys.Regs{Rsi: page - 0x20000, Rdx: 0x20001}, true, true},
		{"read elsewhere", syscall.SYS_READ, sys.Regs{Rsi: page - 0x20000, Rdx: 0x20000}, false, true},
		{"events in front of it", syscall.SYS_EPOLL_WAIT, sys.Regs{Rsi: page - 3600, Rdx: 301}, true, true},
		{"written from there", sysWrite, sys.Regs{Rsi: page + 8, Rdx: 8}, false, false},
		{"a structure", syscall.SYS_FSTAT, sys.Regs{Rsi: page - 16}, true, true},
		{"vectors", sysReadv, sys.Regs{Rsi: one, Rdx: 2}, true, true},
		{"one vector", sysReadv, sys.Regs{Rsi: one, Rdx: 1}, false, true},
		{"a message's vectors", sysRecvmsg, sys.Regs{Rsi: message}, true, true},
		{"a message's name", sysRecvmsg, sys.Regs{Rsi: name}, true, true},
		{"many messages", sysRecvmmsg, sys.Regs{}, true, true},
		{"fork", sysFork, sys.Regs{}, true, false},
		{"clone without memory", Clone, sys.Regs{Rdi: 17}, true, false},
		{"a thread", Clone, sys.Regs{Rdi: cloneVM | cloneThread}, false, true},
		{"vfork", sysVfork, sys.Regs{}, false, true},
		{"mprotect around it", sysMprotect, sys.Regs{Rdi: page - 0x100000, Rsi: 0x200000}, true, false},
		{"moved there", sysMremap, sys.Regs{Rdi: far, Rsi: size, Rdx: size, R10: 3, R8: page}, true, false},
		{"a handler of SIGSEGV", sysSigaction, sys.Regs{Rdi: tracee.SIGSEGV}, true, false},
		{"another handler", sysSigaction, sys.Regs{Rdi: 10}, false, true},
		{"a filter", Prctl, sys.Regs{Rdi: prSetSeccomp}, true, false},
	} {
		pages, written := c.Reached(v.nr, &v.regs, guarded)
		if reached := len(pages) > 0; reached != v.reached || written != v.written {
			t.Errorf("%s: reached %t, written %t", v.what, reached, written)
		}
	}
	if c.Unguarded() {
		t.Error("the kernel writes by itself")
	}
	c.Reached(sysIOUringSetup, &sys.Regs{}, guarded)
	if !c.Unguarded() || !slices.Contains(asked(), sysIOUringSetup) {
		t.Error("what a ring of the kernel's is told to write is not asked about")
	}
}

// TestGuardWithin: once it is known where guarded pages are, code asks before calls that write where their arguments point to only by these.
func TestGuardWithin(t *testing.T) {
	_, c, _ := start(t)
	const page = 0x7f0000400000
	c.Guard(true)
	c.GuardWithin(page, page+0x3000)
	for nr, want := range map[int]byte{
		syscall.SYS_READ: layout.SyscallReach, syscall.SYS_PREAD64: layout.SyscallReach, sysReadv: layout.SyscallTracer, sysRecvmsg: layout.SyscallTracer,
		sysMprotect: layout.SyscallTracer, sysSigaltstack: layout.SyscallTracer, sysWrite: layout.SyscallPlain,
	} {
		if got := c.shm.Ctl.Mem[layout.SyscallTable+nr]; got != want {
			t.Errorf("call %d: %d, want %d", nr, got, want)
		}
	}
	below, span := c.shm.Ctl.U64(layout.GuardBelow).Load(), c.shm.Ctl.U64(layout.GuardSpan).Load()
	if below+page != layout.GuardMargin || span != layout.GuardMargin+0x3000 {
		t.Errorf("they begin at %#x and are %#x long", -below, span)
	}
	if c.Guard(true); c.shm.Ctl.Mem[layout.SyscallTable+syscall.SYS_READ] != layout.SyscallTracer {
		t.Error("while bounds change a read is not asked about")
	}
}

// TestGuardAsks: translated code asks before calls that may write memory while pages are guarded, and makes them by itself then.
func TestGuardAsks(t *testing.T) {
	_, c, th := start(t)
	table := func(nr int) byte { return c.shm.Ctl.Mem[layout.SyscallTable+nr] }
	for _, on := range []bool{true, false} {
		c.Guard(on)
		for nr, want := range map[int]byte{syscall.SYS_READ: layout.SyscallPlain, sysMprotect: layout.SyscallNotify, sysWrite: layout.SyscallPlain} {
			if on && nr != sysWrite {
				want = layout.SyscallTracer
			}
			if got := table(nr); got != want {
				t.Errorf("guarding %t, call %d: %d, want %d", on, nr, got, want)
			}
		}
		if notify, ok := th.MayMake(syscall.SYS_READ); ok != on || notify {
			t.Errorf("guarding %t: a read may be made: %t, and tells: %t", on, ok, notify)
		}
		if notify, ok := th.MayMake(sysMprotect); ok != on || notify != on {
			t.Errorf("guarding %t: mprotect may be made: %t, and tells: %t", on, ok, notify)
		}
	}
}
