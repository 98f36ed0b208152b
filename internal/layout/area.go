package layout

// Geometry of a thread slot, in bytes from its start, which is where the
// thread's gs base points. One file and one mapping hold all slots, so that
// nothing has to be mapped in the target when a thread starts.
const (
	SlotSize = 64 << 20 // distance between the slots of two threads
	MaxSlots = 1024     // threads of one process that can be recorded at a time

	// One look-up table a variant of translated code: TableEntries code-cache
	// addresses each, by the low 16 bits of an application address.
	TableOff     = 1 << 20
	TableEntries = 1 << 16
	TableSize    = 8 * TableEntries
	Variants     = 17

	CounterOff  = 10 << 20        // block counters: one uint64 a counted block
	MaxCounters = (16 << 20) / 8  // counted blocks a process can have
	MaxLeft     = MaxCounters / 2 // blocks whose records can be left out: see LeftAt
	RingOff     = 32 << 20        // the ring's chunks
	RingMax     = 32 << 20        // most bytes that a ring can grow to
)

// Words of the thread area, in bytes from the slot's start. "code" is the
// thread's translated code, "tracer" the engine, "consumer" the processing
// thread that owns the ring at the time.
const (
	// Spill words of the block or the stub that runs (code).
	S0 = 0x00
	S1 = 0x08
	S2 = 0x10
	S3 = 0x18

	Buf    = 0x40 // where the next raw record goes (code; tracer while the thread is stopped)
	End    = 0x48 // Buf beyond this: change chunk at the next check (code)
	NegEnd = 0x50 // minus End, for the check that leaves the flags alone (code)
	Tgt    = 0x58 // where a stub jumps to last (code)
	Clear  = 0x60 // uint64: what is in a slot that is free (tracer, immutable; see SlotClear)

	// Await is minus the stack pointer that the innermost awaited return finds (see
	// Frame…): rsp plus Await is negative as long as it has not been reached. Top
	// is the frame's number (code; tracer while the thread is stopped or waits).
	Await = 0x68
	Top   = 0x70
	Place = 0x78 // uint32: the place whose count ran out (code)

	// The mailbox. Req is written by code and cleared by the tracer; Resp the
	// other way round. They lie in cache lines of their own.
	Req    = 0x080 // uint32: what is asked, 0 nothing
	Ask    = 0x090 // uint32: what will be asked in Req once the registers are saved (code)
	ReqArg = 0x088 // uint64: the address the dispatch is about
	ReqCPU = 0x098 // uint32: the processor that the thread asked from last (code)
	// Of rings whose slots say whether they are free.
	NegClear = 0x0a0 // uint64: minus Clear, for the check that leaves the flags alone (tracer, immutable)
	Last     = 0x0a8 // uint64: Buf beyond this: leave the chunk (code; tracer while the thread is stopped)
	Resp     = 0x0c0 // uint64: code-cache address to continue at, 0 not answered yet
	Asleep   = 0x0c8 // uint32: 1 while code waits for Resp in a futex

	// Ring control. Head is written by code (release after the chunk's words),
	// Tail by the consumer.
	Head       = 0x100 // uint64: chunks that the producer has completed
	RingBase   = 0x108 // uint64: target address of the ring's memory (tracer, immutable)
	ChunkBytes = 0x110 // uint64: size of a chunk (tracer, immutable)
	Chunks     = 0x118 // uint64: chunks in the ring now, at least two (tracer before the thread runs; then consumer, downwards only while Head is Tail)
	Waits      = 0x120 // uint64: times the producer waited for room (code)
	WaitTSC    = 0x128 // uint64: TSC ticks spent waiting (code)
	Tail       = 0x140 // uint64: chunks the consumer has released
	Starved    = 0x148 // uint32: 1 while the producer waits for room in a futex (code)
	Taken      = 0x150 // uint64: bytes that the consumer has made free, of a ring with slots, counted from the start

	// A lossy ring's producer waits for no room: it goes on at Floor, behind the last words of the open
	// chunk that must not be lost, over what it has written since.
	Buffering = 0x130 // uint64: how producer and consumer exchange words, Buffer… (tracer, immutable)
	Floor     = 0x138 // uint64: target address in the open chunk (code; tracer while the thread is stopped or waits)
	Lost      = 0x1e0 // uint64: how often words were overwritten (code; tracer likewise)
	LostWords = 0x1e8 // uint64: and how many (code; tracer likewise)

	// Code reaches the control area, and the bell page in front of it, through this pointer.
	ControlPtr = 0x180 // uint64: target address of the control area (tracer, immutable)
	AppGS      = 0x188 // uint64: the application's own gs base (tracer)
	SlotIndex  = 0x190 // uint64: which slot this is (tracer, immutable)
	Carry      = 0x198 // uint64: words of a partial record to carry into the next chunk (code)
	Resume     = 0x1a0 // uint64: where a routine returns to (code)
	SlotsBase  = 0x1a8 // uint64: target address of slot 0 (tracer, immutable)
	SignMask   = 0x1b0 // uint64: 1<<63, for pext (tracer, immutable)
	Back       = 0x1b8 // uint64: where a return goes on that was looked at (code)
	Pop        = 0x1c0 // uint32: how many bytes that return takes off the stack (code)
	Inside     = 0x1c8 // uint64: 1 while the toggled window is open (code, tracer)
	Toggles    = 0x1d0 // uint64: how often code has opened or closed it (code)
	After      = 0x1d8 // uint64: where a block goes on after the change to the next chunk (code)

	CallTSC = 0x1f0 // uint64: when the last system call that is notified began (code)
	CallEnd = 0x1f8 // uint64: and when it returned

	// Save area of the assembly routines (code): rax, rcx, rdx, rbx, rsp, rbp,
	// rsi, rdi, r8 … r15, then the flags as lahf and seto leave them.
	Save      = 0x200
	SaveFlags = Save + 16*8

	// What recording code keeps while one instruction executes (code): general
	// registers beyond the two that a block borrows, a copy of a memory operand that
	// the instruction is led to instead, a vector register.
	Scratch0 = 0x2c0
	Scratch1 = 0x2c8
	Scratch2 = 0x2d0
	Operand  = 0x300 // 64 bytes, aligned for any instruction
	VecSave  = 0x340 // 64 bytes
	FXSave   = 0xc00 // 512 bytes: the x87 and MMX registers (code)

	// What counting code keeps around one instruction (code): a register, rax, the
	// flags, and the lanes that the instruction will access, or rcx before it.
	CountReg   = 0x380
	CountRax   = 0x388
	CountFlags = 0x390
	CountLanes = 0x398

	// 1 if the latest record that was under conditions is one, 0 if none of them held (code).
	Kept = 0x3a0

	// A block that records under the condition that a line is followed (translate.OfLine) looks at the lines' hashes: those up to Follow are (tracer before the thread
	// runs, then consumer, downwards only).
	Follow = 0x3c0

	// What code that counts where an indirect branch leads keeps meanwhile: rax and the target; and which branch it is that asks (code).
	EdgeRAX  = 0x3a8
	EdgeTo   = 0x3b0
	EdgeSite = 0x3b8 // uint32: its number, plus one; the tracer clears it

	// What is left of the budgets of instructions, accesses, reads and writes:
	// BudgetWords words each, which together are the budget, and of which each block
	// uses one (code, tracer). A subtraction has to wait for the one before it from the
	// same word, which was the whole cost of counting with one word for all blocks.
	Budgets     = 0x400
	BudgetWords = 1 << BudgetLog
	BudgetLog   = 4

	// Arguments of calls that the tracer has a thread make: 216 bytes (tracer).
	Scratch = 0x800

	// A return from a handler: the stack pointer for the call, which is where the copy of the frame's ucontext lies.
	SigCopy      = 0x8d8 // uint64 (tracer)
	SigFrame     = 0x900 // SigFrameSize bytes (tracer)
	SigFrameSize = 304

	// Chunk control: for chunk number n (counted from the start, never reset),
	// entry n mod MaxChunks. ChunkBase is good for the chunks from Tail to
	// Tail+Chunks-1, those that the producer may open: a chunk that is released
	// passes its memory on to the chunk that lies Chunks further.
	ChunkCtl  = 0x1000
	MaxChunks = 1024
	// An entry: how many bytes of the chunk hold words, the TSC when it was
	// opened and completed (code), and its target address (tracer, consumer).
	ChunkCtlSize  = 32
	ChunkUsed     = 0
	ChunkOpened   = 8
	ChunkComplete = 16
	ChunkBase     = 24
)

// Frames of awaited returns: a stack of FrameMax entries of each thread, which
// wraps, so that the innermost are the ones that are kept. FrameSP is where the
// return address lies (FrameNone: there is no frame), FrameSite the address, and
// FramePlace the number of the place that counts the function's returns (uint16).
const (
	FramePlace = 0x20000
	FrameSP    = 30 << 20 // behind the counters
	FrameSite  = FrameSP + 8*FrameMax
	FrameMax   = 1 << 16
	FrameNone  = 1 << 56 // no address, and so that minus it plus any address has ones in its top byte, by which returns know that they have not reached it
)

// How often indirect branches have led where: two tables of EdgeEntries words each. Which entry is a branch's to a target is the
// branch's hash added to the target's low bits, so that an entry's place and the target tell which branch it is. EdgeKeys has minus the
// target (tracer, while the thread is stopped or waits), EdgeCounts the count (code).
const (
	EdgeKeys    = 31 << 20 // behind the frames
	EdgeCounts  = EdgeKeys + 8*EdgeEntries
	EdgeEntries = 1 << 16
)

// What captures of intercepted calls keep of a thread.
const (
	// Frames of intercepted calls whose returns are awaited: a stack of CaptureMax entries,
	// which wraps. CaptureTop is where the innermost lies, in bytes from CaptureFrames;
	// CaptureAwait is minus its stack pointer, as Await is (code; tracer while the thread is stopped or waits).
	CaptureFrames = 26 << 20 // behind the counters
	CaptureMax    = 1 << 15
	CaptureFrame  = 128 // bytes of one
	CaptureSP     = 0   // where the return address lies; FrameNone: there is no frame
	CaptureSite   = 8   // the return address
	CapturePoint  = 16  // number of the intercepted function
	CaptureSaves  = 32  // eight words

	CaptureAwait = 0x9000
	CaptureTop   = 0x9008
	CaptureBack  = 0x9010 // where code goes on behind a capture (code)
	CaptureAsked = 0x9018 // uint32: the number of the intercepted function that the tracer is asked about (code)
	CaptureOurs  = 0x9020 // CaptureMagic: gs leads to a slot (tracer, immutable)
	CaptureSlow  = 0x9028 // calls that the tracer has captured (tracer)
	// Whose the frames are, these and those of awaited returns: FramesG has the goroutine, whose stack ends at FramesHi, or OwnStack, NoStack, or an odd number for one of a program's
	// stacks that is known to lie from FramesLo to FramesHi, as the thread's own may. FramesNotG, FramesNotHi and FramesNotLo are minus what they are, for code that must not change a
	// flag, FramesNotG0 minus the goroutine of the thread's scheduler, as far as it is known. While the frames are a goroutine's, CaptureGoAwait and GoAwait are what
	// CaptureAwait and Await are otherwise, and these are of the thread's own frames, which are elsewhere (tracer; both also code).
	FramesG        = 0x9030
	FramesHi       = 0x9038
	FramesNotG     = 0x9180
	FramesNotHi    = 0x9188
	FramesNotG0    = 0x9190
	CaptureGoAwait = 0x9198
	GoAwait        = 0x91a0
	FramesLo       = 0x91a8
	FramesNotLo    = 0x91b0
	// What capturing code keeps (code).
	CaptureSpill  = 0x9040 // rax, rcx, rdx, and the flags
	CaptureNext   = 0x9060 // where a routine goes on
	CaptureNative = 0x9068 // uint32: 1 while it is native code that captures
	CaptureAskAt  = 0x9070 // code that has the tracer capture instead
	CaptureLeftSP = 0x9078 // what a return that is being looked at took its address from, and the address
	CaptureLeftTo = 0x9080
	CaptureEnters = 0x9088 // number of the function that is entered
	CaptureText   = 0x9090 // six words of the routine that copies strings
	CapturePtr    = 0x90c0 // sixteen pointers that have been followed
	CaptureLevel  = 0x9140 // where the part of each of eight levels lies
	CaptureVec    = 0x9200 // vector registers 0 to 15, 64 bytes each (code)

	CaptureMagic = 0x63617074

	// Of a goroutine (Go's runtime.g): where it says where its stack begins and ends, and where its thread (runtime.m) is, which begins with the goroutine of the scheduler.
	GoStackStart = 0
	GoStackEnd   = 8
	GoThread     = 48

	// What no goroutine's address is.
	OwnStack = 1 // frames are of the thread's own stack
	NoStack  = 2 // there are none: those that were there are another thread's by now
)

// LeftAt is where a thread's slot has how often the record of a block, by its number in the table of blocks, was left out (code; tracer while the thread is
// stopped). These count from the end of the counters on backwards, as counted blocks do not have such numbers.
func LeftAt(id uint32) int { return CounterOff + 8*(MaxCounters-1-int(id)) }

// RingSlack is how many bytes before the end of a chunk End lies: more than
// two of the largest records, so that a block checks once.
const RingSlack = 8192

// MaxRecordWords bounds a block's record, its id included.
const MaxRecordWords = RingSlack / 8 / 2

// The bell page, which all traced processes share, lies BellBelow bytes before each
// process's control area.
const (
	BellBelow    = 0x1000
	Doorbell     = 0x00 // uint32: futex word, incremented by code after a dispatch
	TracerAsleep = 0x40 // uint32: 1 while the tracer waits on Doorbell
	TracerCPU    = 0x44 // uint32: the processor that the tracer was on last, all ones while it sleeps
	Crowded      = 0x48 // uint32: 1 where the tracer woke on the target's processor last
	// One pool of processing threads serves the rings of all processes.
	ConsumerBell   = 0x80 // uint32: futex word, incremented by code after a chunk
	ConsumerAsleep = 0xc0 // uint32: number of processing threads waiting on ConsumerBell
)

// Control area: one for each process, in front of its slots.
const (
	NoCalls = 0x100 // uint32: 1: code makes no system calls of ours, since a filter could kill for them (tracer)
	ErrnoAt = 0x108 // where errno of each thread is, from the base of fs on; 0: not known (tracer)
	// While pages of code are guarded (engine/appcode): where they begin, less GuardMargin, negated, and from there to where they end (tracer).
	GuardBelow = 0x110
	GuardSpan  = 0x118
	// What the program has last asked the kernel to do with SIGTRAP natively: four words as rt_sigaction has them, and a word that is 1 when they are
	// there (code; the tracer takes them).
	NotedAction    = 0x140
	NotedLast      = 0x160
	SyscallTable   = 0x1000
	SyscallEntries = 1 << 16 // one byte a system call, by the low 16 bits of its number: see Syscall…
	// Places, whose entries code counts: see Place….
	PlaceTable = 0x20000
	MaxPlaces  = 4096
	PlaceSize  = 128

	// Where native returns are caught: addresses, each in one of CaptureProbes entries from a hash on (tracer).
	CaptureSites     = PlaceTable + MaxPlaces*PlaceSize
	MaxCaptureSites  = 1 << 15
	CaptureProbes    = 8
	CaptureSiteShift = 3 // the hash: the address and itself shifted, exclusive or

	// Target addresses of the code that captures a function's return, by the function's number; 0: the tracer does.
	CaptureLeaves    = 0x100000
	MaxCaptureLeaves = 1 << 16

	ControlSize = CaptureLeaves + 8*MaxCaptureLeaves
)

// Words of a place: a function's entry or its returns. Code counts Left down, and
// when it reaches zero asks the tracer or, where PlaceCode is not zero, opens or
// closes a window by itself: it writes a MarkSwitch with the payload of
// PlaceMark, counts in Toggles, sets Inside to PlaceInside, stores two words that
// set other places' counts, and goes on at PlaceCode or, behind a return, through
// the look-up table at PlaceTo.
const (
	PlaceLeft   = 0x00 // code, tracer
	PlaceCode   = 0x08 // the others: tracer, while no thread can be about to read them
	PlaceMark   = 0x10
	PlaceAddr   = 0x18 // the application's address for the mark; 0: where the return leads
	PlaceInside = 0x20
	PlaceTo     = 0x28
	PlaceSet    = 0x30 // two pairs: target address of a word (of the control area always) and its value
	PlaceGone   = 0x50 // entries that were left otherwise than by a return (code, tracer; counted up by both)
)

// GuardMargin is how far in front of guarded pages a call's memory may begin whose length is less; longer ones are asked for.
const GuardMargin = 1 << 16

// What translated code does with a system call, by number.
const (
	SyscallPlain  = 0 // execute it
	SyscallTracer = 1 // stop for the tracer, which executes it or answers
	SyscallNotify = 2 // execute it, then leave through an exit, so that the tracer looks at what it did
	SyscallOpens  = 3 // openat: SyscallPlain where it is for reading only, else SyscallNotify
	SyscallReach  = 4 // SyscallPlain where no argument points to guarded pages, else SyscallTracer
)

// Dispatches in Req: one of these, the number of an exit plus one, or ReqSideExit with the number of a
// side exit of a superblock.
const (
	ReqSideExit = 0x80000000
	ReqIndirect = 0xf0000001 // ReqArg: the application address that an indirect branch goes to
	ReqEntered  = 0xf0000002 // the count of Place, an entry, ran out
	ReqReturned = 0xf0000003 // the count of Place, a function's returns, ran out; ReqArg: where it returned to
	ReqCapture  = 0xf0000004 // the function CaptureAsked is entered; code goes on at CaptureBack
	ReqBranched = 0xf0000006 // as ReqIndirect; that the branch EdgeSite has led there is not counted yet
	ReqLeft     = 0xf0000005 // a return, not executed yet, has reached a captured frame; likewise
	ReqTurn     = 0xf0000007 // another goroutine runs than the slot has frames of; likewise, and at CaptureAskAt where there is none
	ReqOwn      = 0xf0000008 // code on the thread's own stack wants its frames; likewise
	ReqSuspect  = 0xf0000009 // the innermost awaited frame is to be dropped, which may be of another stack; likewise, and at CaptureAskAt where it is
)
