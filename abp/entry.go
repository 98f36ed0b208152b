package abp

// EntryKind says which fields of an Entry mean something.
// They are the entries of the published profiler's PROFILE section (Alleria,
// section 2.8), plus Branch and Windows.
type EntryKind uint8

// Kinds of entries.
const (
	EntryHeader    EntryKind = iota + 1 // a thread's (or in another order its next) stretch begins
	EntryIns                            // an instruction
	EntryMem                            // an access of the instruction before it
	EntryBranch                         // what the instruction before it branched to
	EntryWindows                        // the set of open windows changed
	EntrySyscall                        // a system call
	EntryProcessor                      // the thread runs on this processor from here on
	EntryRegion                         // a region of a snapshot
)

// Entry is one entry of a profile. It and what it points at are valid until the
// next call on the Reader that it came from.
//
// One struct for all kinds, and not an interface: entries come by the hundred million,
// and a value of an interface type would be an allocation each. Fields of other kinds
// hold what they held before.
type Entry struct {
	Kind    EntryKind // says which of the fields below hold
	Process uint32    // number in the run
	Program uint32    // which of its recorded programs, from 1; 0: not known
	Thread  uint32    // number in the process
	OSID    uint32    // the thread's
	Windows uint64    // bit i: window i is open

	Ins     Instruction // Ins; for Mem and Branch the instruction they belong to
	Mem     Mem         // Mem
	Branch  Branch      // Branch
	Syscall *Syscall    // Syscall
	Region  *Region     // Region
	Package uint32      // Processor
	Core    uint32      // Processor
}

// Instruction is one executed instruction.
// Code and Block are the profile's own and must not be changed.
type Instruction struct {
	Ordinal uint64 // within its thread's recorded instructions, from 0
	Addr    uint64
	Phys    uint64 // 0: not recorded
	Func    uint32 // in the function table, 0: none or not recorded
	// TSC is the block's time stamp if Timed, else when the chunk was opened.
	TSC   uint64
	Timed bool
	// Part: iterations of a repeated string instruction that has not retired yet.
	// It has the ordinal that the next instruction has.
	Part  bool
	Code  []byte // its encoding
	Block *Block
	Index int // in Block.Ins
	// Registers is what registers held before it, where they were asked for.
	Registers []RegisterValue
}

// Branch is what a block's last instruction did.
type Branch struct {
	Kind   BranchKind // of the instruction
	Taken  bool       // only conditional ones may not be
	Target uint64     // 0: unknown
}

// Trace is an instruction with what hangs on it.
// It is what AbpHelp's trace iterators give (Alleria, section 2.8).
type Trace struct {
	Process uint32 // number in the run
	Thread  uint32 // number in the process
	OSID    uint32 // the kernel's thread id
	Windows uint64 // bit i: window i is open
	Ins     Instruction
	Mems    []Mem    // in the order in which they happened
	Branch  *Branch  // nil: none or not recorded
	Syscall *Syscall // nil: none or not recorded
}

// LastBranch returns what the execution's last instruction did, if that is recorded.
// An emulated execution has no words, so that only its direct branches have a target.
func (x *Exec) LastBranch(br *Branch) bool {
	b := x.Block
	last := len(b.Ins) - 1
	if last < 0 || x.Completed <= last || b.Ins[last].Flags&InsBranch == 0 {
		return false
	}
	*br = Branch{Kind: b.Branch, Taken: true, Target: b.Target}
	var w uint64
	known := b.BranchWord >= 0 && !x.IsEmulated
	if known {
		w = x.Words[b.BranchWord]
	}
	switch b.Branch {
	case BranchNone, BranchSyscall:
		return false
	case BranchCond:
		br.Taken = w != 0
		return known
	case BranchIndJump, BranchIndCall, BranchRet:
		br.Target = w
	}
	return true
}
