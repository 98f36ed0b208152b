package abp

import "alleria/abp/internal/linux"

// Rows of the tables of a process. Rows of one section type add up over all
// sections of that type; a later row with the same number replaces an earlier
// one (an image is written when it is loaded and again when it is unloaded).

// CPUIDLeaf is one leaf of one processor package.
type CPUIDLeaf struct {
	Package            uint32 // physical package, from 0
	Leaf, Subleaf      uint32 // EAX and ECX of the question
	EAX, EBX, ECX, EDX uint32 // the answer
}

// Segment is a mapped part of an image.
type Segment struct {
	Start, End uint64 // addresses in the process, End not included
	Offset     uint64 // in the file
	Prot       uint32 // PROT_… bits
}

// Image is a row of IMAGE_TABLE.
type Image struct {
	Number   uint32 // from 1
	Main     bool   // the program itself
	Path     string // as /proc/PID/maps shows it, or a name in brackets
	BuildID  []byte // of the ELF note, empty: none
	Base     uint64 // what has to be added to the file's addresses
	Loaded   uint64 // TSC
	Unloaded uint64 // TSC, 0: still loaded at the end
	Segments []Segment
}

// Function is a row of FUNC_TABLE.
// It is there for functions that executions refer to, not for all that the image
// has.
type Function struct {
	Number    uint32 // from 1
	Image     uint32 // number in IMAGE_TABLE, 0: none
	Name      string // as linked
	Demangled string // empty: as Name
	Addr      uint64 // in the process
	Size      uint64 // bytes, 0: the symbol has none
	File      string // source file, where known
	Line      uint32
}

// Display returns the name that people want to see.
func (f *Function) Display() string {
	if f.Demangled != "" {
		return f.Demangled
	}
	return f.Name
}

// FamilyRow is a row of PROCESS_FAMILY: one process of the tree.
// Numbers count every process that was created in the tree, followed or not
// (Alleria, section 2.5), so that they are the same in every run of a deterministic
// program.
type FamilyRow struct {
	Number     uint32   // in order of creation, from 1
	PID        uint32   // the kernel's
	Parent     uint32   // its number, 0 none
	Followed   bool     // it ran under the engine; else natively
	Started    int64    // Unix time in nanoseconds
	Ended      int64    // 0: still running when the recording ended
	Exited     bool     // its end was seen: ExitStatus holds
	ExitStatus int32    // exit code, or minus the signal that killed it
	Command    []string // its command line, one argument each
}

// ShellStatus is the exit status as a shell's $? has it: 128 plus the signal for
// a process that one ended. It means nothing while Exited is false.
func (r *FamilyRow) ShellStatus() int {
	if r.ExitStatus < 0 {
		return 128 - int(r.ExitStatus)
	}
	return int(r.ExitStatus)
}

// WindowDef is a window of the configuration.
type WindowDef struct {
	Index       uint32 // bit in MarkWindows and in Exec.Windows
	Name        string // as reports show it: the configuration's, else made up
	Description string // the configuration's words, may be empty
}

// WindowEvent is an opening or a closing of a window in this process.
// The marks in the stream say where in each thread the set of windows changed;
// these rows say why.
type WindowEvent struct {
	Window uint32 // WindowDef.Index
	Opened bool   // else closed
	Reason string // which event fired
	TSC    uint64 // when
	Thread uint32 // in which it fired, 0: none in particular
	Addr   uint64 // address of the thread's next instruction, 0 unknown
	// The process's counts so far where the configuration has them counted, executed
	// and not only recorded; of a window that toggles in translated code, what was
	// recorded of its thread; 0: not known.
	Instructions, Loads, Stores uint64
	// Overshoot is by how many instructions a count over several threads was
	// exceeded.
	Overshoot uint64
	// Caller is where the function returns to whose call it was (since 1.12); 0: another event, or not known.
	// The call is the instruction in front of it, or a jump that a call in front of it led to.
	Caller uint64
}

// Syscall is a row of SYSCALLS.
type Syscall struct {
	Thread  uint32    // number within the process
	Number  uint32    // of the x86-64 table, arch/x86/entry/syscalls/syscall_64.tbl
	Ordinal uint64    // instructions recorded in the thread before its own, see Place
	TSC     uint64    // at entry
	EndTSC  uint64    // at return, 0: it did not return
	Args    [6]uint64 // as in rdi, rsi, rdx, r10, r8, r9, used or not
	Result  int64     // what rax held
	Errno   int32     // positive; 0: it succeeded
	Place   CallPlace // what Ordinal is
}

// CallPlace says what has the ordinal of a system call.
type CallPlace uint32

// Places of system calls.
const (
	// CallUnknown: the file is older than 1.8. It is the call's own instruction if that is recorded,
	// which the instruction of that ordinal tells: it is a `syscall` then.
	CallUnknown CallPlace = iota
	CallOwn               // the `syscall` instruction itself
	CallBetween           // the next instruction that is recorded: the call's own is not
)

// Signal is a row of SIGNALS.
type Signal struct {
	Thread  uint32 // number within the process
	Number  uint32 // SIGHUP is 1, and so on
	Ordinal uint64 // instructions recorded in the thread before it
	TSC     uint64 // when it was delivered
	Code    int32  // si_code
	Sender  uint32 // OS id, 0: the kernel
	Addr    uint64 // si_addr, where it has one
	IP      uint64 // where the thread was
}

// Region is one mapping of a Snapshot.
type Region struct {
	Start, End uint64 // End not included
	Prot       uint32 // PROT_… bits
	Shared     bool   // MAP_SHARED
	Kind       uint8  // a Region… constant
	Offset     uint64 // in the mapped file
	Label      string // path, [heap], [stack] …; of anonymous shared memory what the kernel calls it
	Resident   uint64 // bytes in memory, 0 also where not looked up
	// What is mapped, as of a file: it tells anonymous shared memory, which has one name, apart. Since 1.14.
	Device uint64 // major number in the upper half, minor in the lower one
	Inode  uint64 // 0: private memory
	// By is where the function returns to that has asked for private memory without a name, by the call for it or one of a C library's function; 0: not
	// known, as of all that was there when a window opened first. Since 1.16.
	By uint64
}

// Kinds of regions.
const (
	RegionOther uint8 = iota
	RegionImage
	RegionHeap
	RegionStack
	RegionAnonymous
	RegionFile
	RegionKernel // vdso and the like
)

// Snapshot is a row of LLW: the address space at one moment, or what has become different of it since the row before.
// It is what the paper's Live Lands Walker notes (Alleria, section 2.2).
//
// A change tells what lies where something else or nothing was known to lie. What is unmapped is not told: it stays what it was until
// something else is there, and nobody can access it.
type Snapshot struct {
	TSC     uint64   // when it was taken
	Reason  string   // what it was taken for, in words
	Regions []Region // of a whole one by address, without gaps filled in; of a change in order: the later one holds
	Change  bool     // since 1.14
}

// SubProfile is a row of SUBPROFILES: where a processing thread's file is.
type SubProfile struct {
	Number uint32 // of the stream, from 1
	Path   string // relative to the main profile's directory, else absolute
}

// QueryMessage is a row of QUERIES: a message or a counter of a relational
// query.
// Relational queries are those of the relational profiling paper, section 2.
type QueryMessage struct {
	Query  string // its name in the configuration
	Text   string // the message, empty for a counter
	Value  int64  // the counter's, or what the message is about
	TSC    uint64
	Thread uint32 // number within the process
}

// EndInfo is the END section, the last facts of a file that was closed in order.
// A file without one was cut off.
type EndInfo struct {
	Ended                   int64 // Unix time in nanoseconds
	EndTSC                  uint64
	Counts                  Counts
	LowestAddr, HighestAddr uint64
	Reason                  string // why the recording of the process ended
}

// SyscallName returns the name of a system call of x86-64 by its number, empty if
// it has none here: a kernel may be newer than the table.
func SyscallName(nr uint32) string { return linux.SyscallName(nr) }

// SyscallNumber is the inverse of SyscallName.
func SyscallNumber(name string) (nr uint32, ok bool) { return linux.SyscallNumber(name) }

// SyscallNames returns all names that SyscallNumber knows, by number.
func SyscallNames() []string { return linux.SyscallNames() }

// SignalName returns the name of a signal of Linux on x86-64: SIGHUP and so on,
// SIGRT+n for real-time signals.
func SignalName(nr uint32) string { return linux.SignalName(nr) }
