package abp

import "fmt"

// NoWord stands where an Access or a Block has no such word.
// It is negative so that the test for it is a comparison of signs.
const NoWord = -1

// AccessKind tells how an Access's addresses and sizes come out of the words of
// an execution. The numbers are the file's.
//
// A kind exists where the number or the place of an operand's accesses depends on more
// than one input: everything else is AccessPlain, which nearly all operands are.
type AccessKind uint8

// Kinds of accesses. "word" is Access.Word's word plus Offset, "aux" is
// Access.AuxWord's.
const (
	AccessPlain AccessKind = iota // Size bytes at word
	// Size bytes each from word (before) to aux (after), downwards if after < before;
	// of values, Lanes in the order of iterations: number i modulo Lanes is iteration i's
	AccessString
	AccessMasked // Lanes elements of Size bytes from word on; lane i if bit i of aux
	AccessPacked // one access of popcount(aux's low Lanes bits) elements of Size bytes at word
	AccessGather // Lanes elements at word + index*Scale; lane i if bit i of aux
	AccessSized  // aux bytes at word; none if zero
	AccessBits   // Size bytes at word + (aux >> log2(8*Size)) * Size
	accessKinds
)

// The others' bases are zero in 64-bit mode (AMD64 manual, volume 2, chapter 4).
// Segments whose base is added to an access's address.
const (
	SegNone uint8 = iota
	SegFS
	SegGS
)

// Access is one memory operand of an instruction, explicit or implicit.
//
// It says how to compute addresses, not what they are: the words of an execution give
// the inputs that the block could not know. Fields that a kind does not use are zero,
// words NoWord.
type Access struct {
	Kind      AccessKind // how addresses come out of the words
	Store     bool       // else a load; a read-modify-write is two Accesses
	Seg       uint8      // a Seg… constant
	Lanes     uint8      // elements of a vector operand, at most 64
	Scale     uint8      // of a gather's index: 1, 2, 4 or 8
	IndexSize uint8      // bytes of a gather's index
	AddrBits  uint8      // 64, or 32: cut to 32 bits before the segment's base is added
	Size      uint32     // bytes, of an element where there are lanes
	Word      int16      // which word Offset is added to; NoWord: Offset alone
	AuxWord   int16      // see the kinds; NoWord for a plain one
	IndexWord int16      // first word of a gather's packed indices
	Value     int16      // first word of the bytes read or written; NoWord: not recorded
	Offset    int64      // displacement, and what the block added to the register before
}

// InsFlags says what is recorded of one instruction and what it is.
// What is recorded is decided once, when the block is translated, so that it stands
// here and not with each execution.
type InsFlags uint16

// Flags of an instruction.
const (
	InsRecorded InsFlags = 1 << iota // it is part of the profile
	InsAddrs                         // with its accesses' addresses and sizes
	InsValues                        // with their values
	InsTime                          // with a time stamp
	InsRoutine                       // with its function
	InsBranch                        // with its direction and target
	InsMemory                        // it reads or writes memory, recorded or not
	// InsPart: what is recorded is iterations of a repeated string instruction that
	// did not retire with them: it goes on in the next execution, or was
	// interrupted. They count, the instruction does not.
	InsPart
	InsRegs // with the registers that Block.Registers lists
)

// BranchKind is how a block's last instruction leaves it.
//
// BranchNone is a block that was ended for another reason: its length, a following
// block's start, an instruction that the tracer carries out.
type BranchKind uint8

// Kinds of branches.
const (
	BranchNone    BranchKind = iota // falls through
	BranchCond                      // conditional: the branch word is 1 if taken
	BranchJump                      // direct jump
	BranchCall                      // direct call
	BranchIndJump                   // indirect jump: the branch word is the target
	BranchIndCall                   // indirect call
	BranchRet                       // return
	BranchSyscall                   // system call
	branchKinds
)

// Ins is one instruction of a block. Its operands are
// Block.Accesses[AccFrom:AccTo].
// The lengths of all instructions add up to the block's code without gaps.
type Ins struct {
	Off            uint16 // of its bytes in the block's code
	Len            uint8
	Flags          InsFlags
	AccFrom, AccTo uint16
	Func           uint32 // number in the function table, 0 none
	// Far is what its address is beyond that of the block plus Off: other than 0 behind a
	// branch that the block goes on along. Since 1.5.
	Far int32
}

// Block is a static basic block: what its executions have in common.
// Immutable. Operands lie in one array, not one a instruction, because a large
// program has hundreds of thousands of blocks.
//
// It has one entry. Branches in its middle went on to the instruction that follows in the block; where
// one of them went the other way, the execution is of another block, which ends with it.
//
// The same code translated twice (with other windows open, or after it was changed) is
// two blocks with numbers of their own: an execution never depends on when it happened.
type Block struct {
	ID         uint32 // from 1, dense within a process
	Image      uint32 // number in the image table, 0 none
	Addr       uint64 // of its first instruction, as the application sees it
	Target     uint64 // of a direct branch
	Words      int    // words of one execution
	TimeWord   int16  // TSC at the start of the block
	BranchWord int16
	Branch     BranchKind
	Code       []byte // the application's bytes, when the block was translated
	Ins        []Ins  // as they were executed
	Accesses   []Access
	// Sample says of which instructions one in so many was kept, at random; 0 and 1: all
	// were, as if it is nil. Since 1.2.
	Sample    []uint32
	Registers []RegisterWord // recorded before its instructions, in their order

	// Derived by Prepare: what one complete execution counts for by itself, and
	// whether the words have to be looked at for the rest.
	Static  Counts
	Dynamic bool
}

// Counts are the totals of a stretch of execution.
//
// What counts as what: one instruction is one retirement; a read-modify-write is a load
// and a store; prefetches, lea and nops access nothing, and what faulted does not
// count. Sums wrap after 2^64 and not before.
type Counts struct {
	Instructions    uint64 `json:"instructions"`        // retired; rep counts once
	MemInstructions uint64 `json:"memory_instructions"` // of these, with a memory operand
	Loads           uint64 `json:"loads"`               // accesses, one an iteration and active lane
	Stores          uint64 `json:"stores"`              // likewise
	BytesRead       uint64 `json:"bytes_read"`
	BytesWritten    uint64 `json:"bytes_written"`
}

// Add adds n times d to c.
// n is how often; multiplying here is what makes counting by blocks cheap.
func (c *Counts) Add(d Counts, n uint64) {
	c.Instructions += d.Instructions * n
	c.MemInstructions += d.MemInstructions * n
	c.Loads += d.Loads * n
	c.Stores += d.Stores * n
	c.BytesRead += d.BytesRead * n
	c.BytesWritten += d.BytesWritten * n
}

// Sub takes d away from c.
// The caller knows that d is part of c: nothing here keeps a difference from
// wrapping.
func (c *Counts) Sub(d Counts) {
	c.Instructions -= d.Instructions
	c.MemInstructions -= d.MemInstructions
	c.Loads -= d.Loads
	c.Stores -= d.Stores
	c.BytesRead -= d.BytesRead
	c.BytesWritten -= d.BytesWritten
}

// access adds n accesses of bytes together.
func (c *Counts) access(store bool, n, bytes uint64) {
	if store {
		c.Stores += n
		c.BytesWritten += bytes
		return
	}
	c.Loads += n
	c.BytesRead += bytes
}

// Retires reports whether executions of the instruction are recorded and count
// as instructions.
func (in *Ins) Retires() bool { return in.Flags&(InsRecorded|InsPart) == InsRecorded }

// InsAccesses returns the operands of instruction i in the order in which they
// execute.
// For a read-modify-write that is the load, then the store. The slice is the
// block's own and must not be changed.
func (b *Block) InsAccesses(i int) []Access {
	in := &b.Ins[i]
	return b.Accesses[in.AccFrom:in.AccTo]
}

// InsAddr returns the address of instruction i.
func (b *Block) InsAddr(i int) uint64 {
	return b.Addr + uint64(b.Ins[i].Off) + uint64(int64(b.Ins[i].Far))
}

// InsCode returns the bytes of instruction i.
// It is the block's own, and not what is in memory now.
func (b *Block) InsCode(i int) []byte {
	in := &b.Ins[i]
	return b.Code[in.Off : int(in.Off)+int(in.Len)]
}

// End returns the address behind the block's last instruction.
func (b *Block) End() uint64 {
	if n := len(b.Ins); n > 0 {
		return b.InsAddr(n-1) + uint64(b.Ins[n-1].Len)
	}
	return b.Addr
}

// Counted reports whether instruction i's accesses count: it is recorded with
// its addresses.
// An instruction that was recorded without them counts as an instruction only, even
// if it accesses memory.
func (b *Block) Counted(i int) bool {
	const both = InsRecorded | InsAddrs
	return b.Ins[i].Flags&both == both
}

// Prepare computes the derived fields and checks the others, so that everything
// behind it may index without looking. It returns what is wrong with the block.
//
// It is called once, by whoever made the block: before that, Shape and counting give
// nonsense, and expansion may panic.
func (b *Block) Prepare() error {
	if err := b.check(); err != nil {
		return fmt.Errorf("block %d: %w", b.ID, err)
	}
	b.Static, b.Dynamic = b.StaticCounts(len(b.Ins))
	return nil
}

// StaticCounts returns what the first completed instructions count for by
// themselves, and whether some of their accesses depend on the words.
// completed must not exceed the number of instructions.
func (b *Block) StaticCounts(completed int) (c Counts, dynamic bool) {
	for i := range b.Ins[:completed] {
		in := &b.Ins[i]
		if in.Flags&InsRecorded == 0 {
			continue
		}
		if in.Retires() {
			c.Instructions++
			if in.Flags&InsMemory != 0 {
				c.MemInstructions++
			}
		}
		if !b.Counted(i) {
			continue
		}
		for _, a := range b.InsAccesses(i) {
			switch a.Kind {
			case AccessPlain, AccessBits:
				c.access(a.Store, 1, uint64(a.Size))
			default:
				dynamic = true
			}
		}
	}
	return c, dynamic
}
