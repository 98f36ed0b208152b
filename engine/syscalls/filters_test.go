package syscalls

import (
	"testing"

	"alleria/internal/layout"
)

// TestHush: code makes no calls while it is hushed, while the process is filtered, and behind what the program's own code has said, which is taken back where it has come to nothing.
func TestHush(t *testing.T) {
	_, c, _ := start(t)
	is := func(what string, word uint32, may bool) {
		t.Helper()
		if got := c.noCalls().Load(); got != word || c.May() != may {
			t.Errorf("%s: %d, may make calls %t", what, got, c.May())
		}
	}
	c.Hush(true)
	is("hushed", 1, true)
	c.Hush(false)
	is("not any more", 0, true)
	c.shm.Ctl.U32(layout.NoCalls).Store(1) // as the program's code does
	c.Hush(false)
	is("said by code", 1, true)
	c.Unmute()
	is("taken back", 0, true)
	c.Hush(true)
	c.forbid()
	c.Hush(false)
	is("filtered meanwhile", 1, false)
	c.Unmute()
	is("filtered", 1, false)
}

// TestLookAtWrites: writes are told of behind native code, so many of them, and for good once a process's memory was written.
func TestLookAtWrites(t *testing.T) {
	_, c, _ := start(t)
	told := func() bool { return c.shm.Ctl.Mem[layout.SyscallTable+sysPwrite64] == layout.SyscallNotify }
	c.LookAtWrites()
	for n := range mostLooks {
		if !told() {
			t.Fatalf("told of %d writes", n)
		}
		c.wroteFile(1, 0, 8)
	}
	if told() {
		t.Error("told of more")
	}
	c.LookAtWrites()
	c.writes.always = true
	for range 2 * mostLooks {
		c.wroteFile(1, 0, 8)
	}
	if c.LookAtWrites(); !told() {
		t.Error("not told of writes, though a process's memory was open")
	}
}
