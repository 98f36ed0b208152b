package records

// Raw records. A ring is a sequence of 64-bit words. A word whose upper half is
// zero is the id of a Block, and Block.Words words follow it: what the block's
// execution yielded that its static facts cannot tell. A word with a non-zero
// top byte is a mark.
//
// Who reads records has to know a block's Words to find the next, and waits for memory at each.
// The engine can be asked to write them beside the number (Number).
//
// A record may not lie in two chunks.
const (
	MarkShift   = 56
	MarkPayload = 1<<MarkShift - 1
)

// Marks: the top byte of a word, with the payload in the others and the words
// that follow.
const (
	// MarkCut: of the block record that follows directly, only the first
	// payload instructions completed (a fault, a signal, a window's exact end);
	// the words of the others are meaningless.
	MarkCut = 0x81
	// MarkFS and MarkGS: from here on the thread's segment base is the next word.
	MarkFS = 0x82
	MarkGS = 0x83
	// MarkWindows: the set of open windows changed; payload bit i: window i is
	// open. The next word is the TSC.
	MarkWindows = 0x84
	// MarkThread: the thread's record starts (payload 1) or ends (payload 0);
	// the next words: its number within the process, its OS id, the TSC.
	MarkThread = 0x85
	// MarkSkip: payload words follow that mean nothing.
	MarkSkip = 0x86
	// MarkEmulated: the payload is a block id; the tracer executed the block's
	// one instruction itself. The next word is the number of accesses n, then n
	// times two words: address, and size | store<<63; they replace the block's
	// own accesses. Registers and values are in MarkBeside.
	MarkEmulated = 0x87
	// MarkSwitch: as MarkWindows, but it is code that opened or closed a window;
	// the next words are the TSC, the address that the thread executes next, and, where that is a function
	// that was entered, the address that it returns to, else 0.
	MarkSwitch = 0x89
	// MarkNote: payload words follow that are a row of one of the profile's tables,
	// which belongs to this place of the thread's records. What they mean is between
	// who writes profiles and who asks for the mark; translated code writes none.
	MarkNote = 0x8a
	// MarkCall: payload words follow that are a call of an intercepted function, or a part of one:
	// see internal/capture.
	MarkCall = 0x8b
	// MarkGap: a burst has ended, where only bursts are recorded: what comes does not follow on what is in front.
	MarkGap = 0xa0
	// MarkBeside: words of the execution by the tracer that follows (MarkEmulated), as many as bits 48 to 55 of the payload
	// say; bits 0 to 15: the number of the first. Those below the block's Words are its words, of which the ones of
	// registers are filled in; behind them come the values of the accesses, in their order and each in whole words.
	MarkBeside = 0xa1
	// MarkCallers: words that say who had called whom where a burst begins (abp.Stack), as many as in MarkBeside.
	MarkCallers = 0xa2
)

// maxBeside is how many words a MarkBeside can have.
const maxBeside = 255

// Beside appends the marks that say words of an execution by the tracer.
func Beside(dst, words []uint64) []uint64 { return pieces(dst, MarkBeside, words) }

// Callers appends the marks that say who had called whom.
func Callers(dst, words []uint64) []uint64 { return pieces(dst, MarkCallers, words) }

// pieces appends words in as many marks of a kind as it takes.
func pieces(dst []uint64, kind uint8, words []uint64) []uint64 {
	for at := 0; at < len(words); at += maxBeside {
		part := words[at:min(at+maxBeside, len(words))]
		dst = append(append(dst, Mark(kind, uint64(len(part))<<besideShift|uint64(at))), part...)
	}
	return dst
}

// besideShift is where a MarkBeside's payload has the number of its words.
const besideShift = 48

// A record's first word as Number makes it: the block's id in the lower bits, and above them the
// record's size.
const (
	NumberBits = 24
	maxSize    = 127 // or code, which has 32 bits with a sign for it, would make it negative
)

// Number makes the first word of a record of so many words behind it. The size is left out where it
// does not fit.
func Number(id uint32, words int) uint32 {
	if words >= maxSize {
		return id
	}
	return uint32(words+1)<<NumberBits | id
}

// SplitNumber takes a record's first word apart. size counts that word; 0: not known.
func SplitNumber(w uint64) (id uint32, size int) {
	return uint32(w) & (1<<NumberBits - 1), int(w >> NumberBits)
}

// Mark makes a mark's first word.
func Mark(kind uint8, payload uint64) uint64 {
	return uint64(kind)<<MarkShift | payload&MarkPayload
}

// AccessKind tells how an Access's addresses and sizes come out of a record.
type AccessKind uint8

const (
	// AccessPlain: one access of Size bytes at the address.
	AccessPlain AccessKind = iota
	// AccessString: a string instruction with a repeat prefix. Word is the
	// pointer before, AuxWord the pointer after the instruction; accesses of
	// Size bytes each lie from before to after, downwards if after < before;
	// none if equal. The accesses of one iteration come together: where an
	// instruction has two string accesses, they alternate. Where values are
	// recorded there are Lanes of them, in the order of iterations: iteration i has
	// number i modulo Lanes.
	AccessString
	// AccessMasked: Lanes elements of Size bytes from the address upwards; bit
	// i of the word AuxWord says whether lane i is accessed.
	AccessMasked
	// AccessPacked: as many consecutive elements of Size bytes as bits are set
	// in the low Lanes bits of AuxWord, together one access (expand, compress).
	AccessPacked
	// AccessGather: Lanes elements of Size bytes; lane i is accessed if bit i of
	// AuxWord is set, at address + index i * Scale, with the signed indices of
	// IndexSize bytes packed in the words from IndexWord. Also scatter.
	AccessGather
	// AccessSized: one access whose size in bytes is the word AuxWord; none if
	// that is zero (xsave families: header and marked components).
	AccessSized
	// AccessBits: a bit string (bt, bts, btr, btc with a register): the word
	// AuxWord is the sign-extended bit offset; the access of Size bytes lies at
	// address + (offset >> log2(8*Size)) * Size.
	AccessBits
)

// Segments of an Access.
const (
	SegNone uint8 = iota
	SegFS         // add the thread's fs base
	SegGS         // add the thread's gs base
)

// NoWord stands where an Access has no such word.
const NoWord = -1

// Access is one memory operand of an instruction, explicit or implicit.
type Access struct {
	Kind  AccessKind // how addresses come out of the words
	Store bool       // else a load
	Seg   uint8      // Seg… constant
	Lanes uint8      // of a vector operand
	Scale uint8      // of a gather's index
	// IndexSize is the size in bytes of a gather's index.
	IndexSize uint8
	// AddrBits is 64, or 32 where the address is to be cut to 32 bits before the
	// segment's base is added.
	AddrBits uint8
	Size     uint32
	// Word is the index, in the words after the id, of the word that Offset is
	// added to; NoWord where the address is Offset alone.
	Word      int16
	AuxWord   int16
	IndexWord int16
	// Value is the index of the first word of the bytes read or written, packed
	// from the lowest address (for masked and gather accesses: Lanes elements,
	// also the inactive ones); NoWord where values are not recorded.
	Value  int16
	Offset int64
}

// InsFlags says what is recorded of one instruction and what it is.
type InsFlags uint16

const (
	InsRecorded InsFlags = 1 << iota // it is part of the profile
	InsAddrs                         // with its accesses' addresses and sizes
	InsValues                        // with their values
	InsTime                          // with a time stamp: the block's TimeWord
	InsRoutine                       // with its function
	InsBranch                        // with its direction and target: the block's BranchWord
	InsMemory                        // reads or writes memory (static fact, whether recorded or not)
	// InsPart: the record is of iterations of a repeated string instruction that
	// has not retired with them. Further records of it follow, or it was
	// interrupted. It does not count as an instruction.
	InsPart
	InsRegs // with registers: Block.Regs
)

// Reg is a register that is recorded before an instruction: its class in the
// upper byte, its number in the lower.
type Reg uint16

// Classes of registers.
const (
	RegGPR64 = iota << 8
	RegGPR32 // parts of a general register: the word has all of it
	RegGPR16
	RegGPR8
	RegHigh // ah, ch, dh, bh: numbers of rax to rbx
	RegXMM
	RegYMM
	RegZMM
	RegMask // k0 … k7
	RegMMX
	RegX87     // two words
	RegSpecial // the following
)

// Registers of class RegSpecial.
const (
	RegRIP Reg = RegSpecial + iota // no word
	RegFlags
	RegMXCSR
	RegFSBase // no word: see MarkFS
	RegGSBase // no word: see MarkGS
)

// RegWord says in which word of a record, or from which on, a register before
// instruction Ins is; NoWord where it follows from something else.
type RegWord struct {
	Ins  uint16
	Reg  Reg
	Word int16
}

// Branch kinds: how the block's last instruction leaves it (static fact).
type BranchKind uint8

const (
	BranchNone    BranchKind = iota // falls through (the block was cut)
	BranchCond                      // jcc, loop, jrcxz: BranchWord is 1 if taken
	BranchJump                      // direct jmp
	BranchCall                      // direct call
	BranchIndJump                   // indirect jmp: BranchWord is the target
	BranchIndCall                   // indirect call
	BranchRet                       // ret
	BranchSyscall                   // syscall and the like
)

// Ins is one instruction of a block.
type Ins struct {
	Off   uint16 // of its bytes in the block's code
	Far   int32  // what its address is beyond the block's plus Off: behind a branch that the block goes on along
	Len   uint8
	Flags InsFlags
	// Func is the number of its function in the process's function table, 0
	// none. The engine copies what its client says.
	Func     uint32
	Accesses []Access // in the order in which they execute
}

// Block is the static facts of a recorded basic block. Blocks keeps it packed:
// a new field must be added to pack and unpack too.
type Block struct {
	ID    uint32 // from 1
	Words int    // words after the id in a raw record
	Addr  uint64 // application address of the first instruction
	// Image is the number of the block's image in the process's image table, 0
	// none (JIT code). The engine copies what its client says.
	Image uint32
	Code  []byte // the bytes of all its instructions
	Ins   []Ins
	// TimeWord is the TSC at the start of the block, BranchWord what the
	// block's last instruction did; NoWord where not recorded.
	TimeWord   int16
	BranchWord int16
	Branch     BranchKind
	Target     uint64    // of a direct branch
	Regs       []RegWord // in the order of instructions

	accesses []Access // room for those of Ins; used by unpack
}

// InsAddr is the address of instruction i.
func (b *Block) InsAddr(i int) uint64 {
	return b.Addr + uint64(b.Ins[i].Off) + uint64(int64(b.Ins[i].Far))
}
