package abp

// Rows of the tables of a process. Rows of one section type add up over all
// sections of that type; a later row with the same number replaces an earlier
// one (an image is written when it is loaded and again when it is unloaded).

// CPUIDLeaf is one leaf of one processor package.
type CPUIDLeaf struct {
	Package            uint32
	Leaf, Subleaf      uint32
	EAX, EBX, ECX, EDX uint32
}

// Segment is a mapped part of an image.
type Segment struct {
	Start, End uint64
	Offset     uint64 // in the file
	Prot       uint32 // PROT_… bits
}

// Image is a row of IMAGE_TABLE.
type Image struct {
	Number   uint32 // from 1
	Main     bool
	Path     string
	BuildID  []byte
	Base     uint64 // what has to be added to the file's addresses
	Loaded   uint64 // TSC
	Unloaded uint64 // TSC, 0: still loaded at the end
	Segments []Segment
}

// Function is a row of FUNC_TABLE.
type Function struct {
	Number    uint32 // from 1
	Image     uint32
	Name      string // as linked
	Demangled string // empty: as Name
	Addr      uint64
	Size      uint64
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
type FamilyRow struct {
	Number     uint32 // in order of creation, from 1
	PID        uint32
	Parent     uint32 // its number, 0 none
	Followed   bool
	Started    int64 // Unix time in nanoseconds
	Ended      int64 // 0: still running when the recording ended
	Exited     bool
	ExitStatus int32 // exit code, or minus the signal that killed it
	Command    []string
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
	Name        string
	Description string
}

// WindowEvent is an opening or a closing of a window in this process.
type WindowEvent struct {
	Window uint32
	Opened bool
	Reason string // which event fired
	TSC    uint64
	Thread uint32 // in which it fired, 0: none in particular
	Addr   uint64 // address of the thread's next instruction, 0 unknown
	// The process's counts so far.
	Instructions, Loads, Stores uint64
	// Overshoot is by how many instructions a count over several threads was
	// exceeded.
	Overshoot uint64
}

// Syscall is a row of SYSCALLS.
type Syscall struct {
	Thread  uint32
	Number  uint32
	Ordinal uint64 // instructions recorded in the thread before it
	TSC     uint64 // at entry
	EndTSC  uint64 // at return, 0: it did not return
	Args    [6]uint64
	Result  int64
	Errno   int32
}

// Signal is a row of SIGNALS.
type Signal struct {
	Thread  uint32
	Number  uint32
	Ordinal uint64
	TSC     uint64
	Code    int32  // si_code
	Sender  uint32 // OS id, 0: the kernel
	Addr    uint64 // si_addr, where it has one
	IP      uint64 // where the thread was
}

// Region is one mapping of a Snapshot.
type Region struct {
	Start, End uint64
	Prot       uint32
	Shared     bool
	Kind       uint8 // a Region… constant
	Offset     uint64
	Label      string // path, [heap], [stack] …
	Resident   uint64 // bytes in memory, 0 also where not looked up
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

// Snapshot is a row of LLW: the address space at one moment.
type Snapshot struct {
	TSC     uint64
	Reason  string
	Regions []Region
}

// SubProfile is a row of SUBPROFILES: where a processing thread's file is.
type SubProfile struct {
	Number uint32
	Path   string // relative to the main profile's directory, else absolute
}

// QueryMessage is a row of QUERIES: a message or a counter of a relational
// query.
type QueryMessage struct {
	Query  string
	Text   string
	Value  int64
	TSC    uint64
	Thread uint32
}

// EndInfo is the END section, the last facts of a file that was closed in order.
type EndInfo struct {
	Ended                   int64 // Unix time in nanoseconds
	EndTSC                  uint64
	Counts                  Counts
	LowestAddr, HighestAddr uint64
	Reason                  string // why the recording of the process ended
}
