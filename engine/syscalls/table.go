package syscalls

import (
	"io"

	"alleria/engine/shm"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Host is a process as its system calls see it.
type Host interface {
	// Native tells whether its threads are to run their own code.
	Native() bool
	// Changed says that some thread may run otherwise than it should.
	Changed()
	// ChangedCode says that it can execute something else than before, or may.
	ChangedCode()
	// StayTranslated has it stay in the cache for good.
	StayTranslated()
	// ImagesChanged and Unmapped tell of its address space what a client has to know.
	ImagesChanged()
	Unmapped(start, end uint64)
	// Mapped tells what calls map, once WatchMappings asked for it.
	Mapped(m Mapped)
	// Lost says that nothing is left of probes in a stretch of memory, Touched that what lies there may be no file's any more, and Replaced that a file was mapped there for writing.
	Lost(start, end uint64)
	Touched(start, end uint64)
	Replaced(start, end uint64)
	// Ours tells whether the tracer has mapped what is there.
	Ours(addr uint64) bool
	// OwnCall is the cache address of a syscall instruction.
	OwnCall() uint64
}

// Code is what is known of the application's code: appcode.Pages.
type Code interface {
	MayExecute(start, end uint64) bool
	Overlaps(start, end uint64) bool
	HasCode(start, end uint64) bool
	Followed(start, end uint64) bool
	Protect(start, end, prot uint64) (changed [][2]uint64, known bool)
	SetAside(start, end uint64)
	Invalidate(start, end uint64)
	Remapped()
	OpenedToWrite(inode uint64) [][2]uint64
	ReadPersonality()
}

// Memory is the application's memory.
type Memory interface {
	io.ReaderAt
	io.WriterAt
}

// Calls is what system calls mean for one process.
type Calls struct {
	host Host
	code Code
	pid  int
	mem  Memory
	shm  *shm.Memory
	own  sys.Filters // that the tracer is under

	hushed   bool   // see Hush
	Filtered bool   // it has installed a filter of system calls; stays so through execve
	Widened  uint64 // what its limit of memory was raised by; see MakeRoom

	watched   map[uint32]bool // that the client watches
	told      bool            // the client is told of all
	mappings  bool            // and of what is mapped
	judged    bool            // translated code asks before each; see judge
	guarding  bool            // and before those that may write memory; see Guard
	reach     bool            // of these only where an argument points to guarded pages; see GuardWithin
	unguarded bool            // the kernel may write memory while no call is being made
	special   map[int]byte    // what translated code does with them, but for those
	starting  int             // stops at calls that are left to a native start
	sequences bool            // it has registered restartable sequences; see BornWithSequences
	handlers  handlers
	writes    writes
}

// Init makes c that of a process. memory is what it shares with the tracer, which may not be mapped yet.
func (c *Calls) Init(h Host, code Code, pid int, mem Memory, memory *shm.Memory, own sys.Filters) {
	*c = Calls{host: h, code: code, pid: pid, mem: mem, shm: memory, own: own, watched: make(map[uint32]bool), special: make(map[int]byte)}
	for _, nr := range asked() {
		c.special[nr] = layout.SyscallTracer
	}
	for _, nr := range changesMemory() {
		c.special[nr] = layout.SyscallNotify
	}
	c.special[sysOpenat] = layout.SyscallOpens
}

// TellOpens has the process be asked about files that are opened for reading, too.
func (c *Calls) TellOpens() { c.special[sysOpenat] = layout.SyscallNotify }

// InitTable fills the table of the control area, which has just been mapped.
// A filter of system calls survives execve, and so does what it forbids.
func (c *Calls) InitTable() {
	if c.Filtered || c.hushed {
		c.noCalls().Store(1)
	}
	for nr, what := range c.special {
		c.shm.Ctl.Mem[layout.SyscallTable+nr] = what
	}
}

// Watch has calls of a number be told of when they are entered, or no longer. In the cache only calls
// with that number pay for it; a native thread stops at every call while any is
// watched.
//
// Refused: a filter of seccomp, which would stop at that number alone: it stays
// for good, is inherited by children that are detached, and fails their calls once
// no tracer is there; and installing it needs a privilege, or no_new_privs, which
// changes what the program may execute.
func (c *Calls) Watch(nr uint32, on bool) {
	if on == c.watched[nr] || nr >= layout.SyscallEntries {
		return
	}
	if on {
		c.watched[nr] = true
	} else {
		delete(c.watched, nr)
	}
	c.setTable(nr)
	c.host.Changed()
}

// WatchReturns has all calls be told of, or no longer. Translated code makes
// calls by itself and then tells of them through the mailbox, with the time when
// they began: no stop. What is not told of is a call that was under way when the
// process, or the recording, came to its end.
func (c *Calls) WatchReturns(on bool) {
	if c.told == on {
		return
	}
	c.told = on
	c.setTables()
}

// judge has translated code ask before each call, of this process and from now on.
func (c *Calls) judge() {
	if !c.judged {
		c.judged = true
		c.setTables()
	}
}

func (c *Calls) setTables() {
	for nr := range uint32(layout.SyscallEntries) {
		c.setTable(nr)
	}
}

// setTable says what translated code does with a call: it asks where calls are judged.
func (c *Calls) setTable(nr uint32) {
	what := c.table(nr)
	switch {
	case c.judged || c.handlers.asked && changesHandlers(nr):
		what = layout.SyscallTracer
	case !c.guarding || !mayWrite(nr):
	case c.reach && what == layout.SyscallPlain && byArguments(nr):
		what = layout.SyscallReach
	default:
		what = layout.SyscallTracer
	}
	c.shm.Ctl.Mem[layout.SyscallTable+int(nr)] = what
}

// table is what is to be done with a call.
func (c *Calls) table(nr uint32) byte {
	what := c.special[int(nr)]
	switch {
	case c.watched[nr], c.told && leaves(uint64(nr)):
		what = layout.SyscallTracer
	case c.told && (what == layout.SyscallPlain || what == layout.SyscallOpens):
		what = layout.SyscallNotify
	}
	return what
}

// Plain tells calls that the tracer has no part in.
func (c *Calls) Plain(nr uint32) bool {
	if creating(uint64(nr)) || leaves(uint64(nr)) && nr != Sigreturn {
		return false
	}
	return c.shm.Ctl.Mem[layout.SyscallTable+int(nr&(layout.SyscallEntries-1))] == layout.SyscallPlain
}

// Hears tells whether calls of a number are heard of.
func (c *Calls) Hears(nr uint32) bool { return c.watched[nr] || c.told }

// StopNatively tells whether native threads stop at system calls.
func (c *Calls) StopNatively() bool { return c.starting > 0 || len(c.watched) > 0 }

// Starting is how many stops at calls are left to a native start, and SetStarting sets it.
func (c *Calls) Starting() int     { return c.starting }
func (c *Calls) SetStarting(n int) { c.starting = n }

// At tells a syscall instruction, and By32Bits whether the instruction in front of an address, which has entered the
// kernel, is int 0x80: its calls have numbers in a table of their own.
func (c *Calls) At(addr uint64) bool { return c.instruction(addr) == [Length]byte{0x0f, 0x05} }
func (c *Calls) By32Bits(next uint64) bool {
	return c.instruction(next-Length) == [Length]byte{0xcd, 0x80}
}

func (c *Calls) instruction(addr uint64) (code [Length]byte) {
	if n, _ := c.mem.ReadAt(code[:], int64(addr)); n < Length {
		return [Length]byte{}
	}
	return code
}

// handlers is what is known of what the process does with signals: nothing but whether it may have changed.
type handlers struct {
	asked   bool // translated code asks before it changes any
	shared  bool // with a process that is no thread of it
	changes int
}

// changesHandlers tells calls that change what an entry into a handler depends on.
func changesHandlers(nr uint32) bool { return nr == sysSigaction || nr == sysSigaltstack }

// Dispositions is another number as soon as an entry into a handler may be another one.
func (c *Calls) Dispositions() int { return c.handlers.changes }

// HandlersChange says that the process may change them, or a thread's alternate stack, unseen.
func (c *Calls) HandlersChange() { c.handlers.changes++ }

// AskOfHandlers has translated code ask before it changes any, from now on. Until then it does so unseen.
func (c *Calls) AskOfHandlers() {
	if !c.handlers.asked {
		c.handlers.asked = true
		c.setTable(sysSigaction)
		c.setTable(sysSigaltstack)
	}
}

// SharesHandlers tells whether another process may change them.
func (c *Calls) SharesHandlers() bool { return c.handlers.shared }
