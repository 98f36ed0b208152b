package engine

import (
	"fmt"
	"math"
	"sync"

	"golang.org/x/sys/cpu"

	"alleria/engine/launch"
	"alleria/engine/shm"
	"alleria/engine/translate"
	"alleria/engine/x86"
	"alleria/internal/diskcache"
	"alleria/internal/layout"
)

// Options is what to run and how.
// The zero value of every switch is the faster way, so that a client need not know
// them.
type Options struct {
	launch.Program

	// The rings: Chunks chunks to begin with, of ChunkBytes each, a
	// power of two; 0: nothing can be recorded. Who consumes them lets them grow. With a single chunk a thread waits
	// until that is consumed.
	ChunkBytes, Chunks int
	// Rings says the two instead, while the launcher starts: what they go by may take a while to find out. nil: they stand above.
	Rings     func() (chunkBytes, chunks int)
	Lossy     bool // a thread without room overwrites its latest records instead of waiting
	Bursts    bool // threads are recorded in bursts, whose ends need not be exact
	Buffering int  // layout.Buffer…, how records are exchanged otherwise; with slots, Chunks is a power of two

	// Asked says what is recorded from the first program's beginning on, for whoever looks for translations before there is a process (reuse.Disk.ReadAhead); empty: nothing.
	Asked string

	// Kept is where translations stay for later runs; nil: nowhere. KeptRead is told of how many bytes of them were read, and
	// Log what goes wrong there; nil: nobody.
	Kept     *diskcache.Dir
	KeptRead func(bytes int)
	Log      func(format string, args ...any)

	// Unpatched has processes stay in the cache for as long as anything of them is watched: natively breakpoints and jumps would lie
	// in their code, which programs that read it find.
	Unpatched bool

	// Ending, if any, is called before Run returns, while the page of BellMemory is still there.
	Ending func()

	Switches
}

// Switches turn optimisations off, or on those that did not pay where they were measured: for comparison.
type Switches struct {
	NoFollow     bool // blocks don't continue along direct jumps and calls
	Ahead        bool // more is translated than was asked for; slower where it was measured
	NoHuge       bool // code cache and look-up tables in small pages only
	NoSpread     bool // blocks count against one word of each budget
	SpreadBursts bool // those that record bursts against several, like others
	NoToggle     bool // code asks at each opening and closing
	NoDetach     bool // a process is traced to its end
	NoMemo       bool // each instruction is decoded anew
	NoJumps      bool // native probes are int3s, all of them
	NoStartSites bool // a native start stops at all of its system calls
	NoSafePoint  bool // threads in the middle of a block are stepped out of it
	NoReturn     bool // a thread that returns from a handler is stopped for it
	NoFrames     bool // the kernel writes all frames of signals
	NoBatch      bool // each system call at the start has stops of its own
	ReuseSwitches
	WaitSwitches
	CaptureSwitches
	StartSwitches
	BranchSwitches
	SmallCache bool // the code cache is renewed after a megabyte
	GuardSwitches
	NoBusy bool // a process never stays in the cache because native probes are hit often
	RecordingSwitches
}

// WaitSwitches are those of how the tracer waits.
type WaitSwitches struct {
	NoHandover  bool // who waits for the other side spins, wherever that is
	StopSignals bool // the kernel signals each stop and end
	StopAtEnds  bool // every process that is followed stops in front of its end
	NoOwnWait   bool // another thread waits for reports also where they are all that the tracer waits for
}

// CaptureSwitches are those of captured calls.
type CaptureSwitches struct {
	// Calls are captured by the tracer where they are made natively, or in the cache.
	NoNativeCapture, NoCodeCapture bool
	NoPlaceAhead                   bool // each int3 of a capture is written by itself
	NoSharedScans                  bool // branches of an image are looked for in each process
	NoCapturePages                 bool // captures by the tracer read each value by itself, and have memory of their own
	NoTrapNotes                    bool // native code does not note what the program does with SIGTRAP
	NoBehindCheck                  bool // functions that begin with a look at their stack are captured at it
	NoGoroutines                   bool // calls of functions in Go belong to threads
}

// StartSwitches are those of what counts where programs do nothing but start.
type StartSwitches struct {
	AskPointers bool // the tracer looks at each x87 pointer that may have been written
	AskOpens    bool // and at each file that is opened
}

// BranchSwitches are those of indirect branches.
type BranchSwitches struct {
	Predict      bool // calls and returns go by the return predictor; slower where it was measured
	NoFastReturn bool // each return that is awaited is looked at in general
	NoTargetLoad bool // none loads from its target
	PlainCounts  bool // blocks that count borrow rax for it, and look no further than themselves for what becomes of the flags
}

// GuardSwitches are those of code that the program makes, or may write.
type GuardSwitches struct {
	NoAside   bool // it is translated anew whenever its rights have changed
	NoGuard   bool // it compares itself, also where it has long been quiet
	GuardSoon bool // it is guarded when it has been quiet for a moment
	// pages of files are looked at behind each stretch of native code, whether there were page faults or not
	NoFaultCount bool
}

// ReuseSwitches are those of what processes take over from others.
type ReuseSwitches struct {
	NoSpare     bool // tables and code memory of processes that are gone are not used again
	NoInherit   bool // forked children begin with an empty code cache
	NoReuse     bool // each process begins with an empty code cache
	NoDiskCache bool // nothing is kept from one run to the next
	// recording code is not taken over by other processes
	NoKeptRecords bool
	// nothing is taken over by, or left by, processes whose blocks count against budgets, or that have run natively
	NoKeptBursts  bool
	NoKeptEntries bool // nor by processes that count how often functions are entered
	NoKeptPatched bool // nothing is kept of an image of which the program could write a page
	CopyFacts     bool // facts of recorded blocks are copied where they are the process's alone, too
	CopyIndex     bool // what is known by address of what was taken over gets into the process's own tables at once
	CheckFacts    bool // all facts of recorded blocks are looked at when they are read from a file
	KeepFew       bool // translations of small processes are kept, too, for which that is no gain
	KeepRarely    bool // translations take the place of others only where one process has enough more than the one before
	NoPrefetch    bool // what a program asked for when it ran before is not translated ahead
}

// RecordingSwitches are those of code that records.
type RecordingSwitches struct {
	NoWideCompare bool // code that may change compares itself by words

	NoSuper   bool // recorded blocks end at every branch
	Sizes     bool // records begin with their size besides the number (records.Number)
	NoLazy    bool // all side exits of recorded blocks are written with them
	NoState   bool // what saves and restores processor state is executed by the tracer where it is recorded
	NoCallees bool // what a group calls before any condition is not translated with it
	// records are written whether conditions hold or not
	NoConditions bool
	FewAddresses bool // see translate.Switches: for readers that follow calls
	NoBehind     bool // what lies behind calls that superblocks go along is translated when they return
	NoShort      bool // superblocks of large programs are as long as those of small ones
	Short        bool // superblocks of small programs are as short as those of large ones
}

// newSettings translates the options, and asks the processor.
func newSettings(o *Options) translate.Settings {
	s := translate.Settings{Budgets: translate.Budgets{Words: layout.BudgetWords}}
	s.Switches = translate.Switches{NoFollow: o.NoFollow, NoHuge: o.NoHuge, NoSuper: o.NoSuper, Sizes: o.Sizes, NoLazy: o.NoLazy,
		Predict: o.Predict, NoFastReturn: o.NoFastReturn, NoState: o.NoState, NoBehind: o.NoBehind, NoCallees: o.NoCallees, NoWideCompare: o.NoWideCompare, NoConditions: o.NoConditions, AskPointers: o.AskPointers, NoTargetLoad: o.NoTargetLoad, PlainCounts: o.PlainCounts, FewAddresses: o.FewAddresses,
		Buffering: o.buffering(), ShortAfter: translate.ManyBlocks}
	switch {
	case o.NoShort:
		s.ShortAfter = math.MaxUint32
	case o.Short:
		s.ShortAfter = 0
	}
	if o.NoSpread {
		s.Words = 1
	}
	s.RecordedInOne = o.Bursts && !o.SpreadBursts
	x := &cpu.X86
	s.Features = translate.Features{HasAVX: x.HasAVX, HasBMI2: x.HasBMI2, HasVBMI2: x.HasAVX512VBMI2, States: sync.OnceValue(x86.States), HasRTM: sync.OnceValue(x86.HasRTM),
		HasAVX512: x.HasAVX512F && x.HasAVX512VL && x.HasAVX512BW && x.HasAVX512DQ}
	return s
}

// codeKey is what translations depend on besides the code, and that is the same in all of a run: whoever begins with those of another run compares it. What may
// differ between processes is looked at for each (Process.general, RecordsLike). The layout of state areas is in code that records alone; to ask for it takes 70 µs.
func (o *Options) codeKey(records bool) string {
	s := newSettings(o)
	var states []x86.State
	if records {
		states = s.States()
	}
	s.States, s.HasRTM = nil, nil
	return fmt.Sprintf("%+v %+v %+v chunk %d %d %t states %v", s, cpu.X86, o.Switches, o.ChunkBytes, o.Chunks, o.Lossy, states)
}

// mostCode is how much code a region of the cache holds at most, 0: as much as it has room for.
func (o *Options) mostCode() int {
	if o.SmallCache {
		return 1 << 20
	}
	return 0
}

// buffering is how producers and consumers of rings exchange words.
func (o *Options) buffering() uint64 {
	if o.Lossy {
		return layout.BufferLossy
	}
	return uint64(o.Buffering)
}

// ring is what threads' rings begin with.
func (o *Options) ring() shm.Ring {
	return shm.Ring{ChunkBytes: uint64(o.ChunkBytes), Chunks: uint64(o.Chunks), Buffering: o.buffering()}
}
