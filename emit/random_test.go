package emit

import (
	"math/rand/v2"

	"alleria/internal/records"
)

// program is a random table of blocks that uses every kind of access.
type program struct {
	rng    *rand.Rand
	blocks *records.Blocks
	list   []*records.Block
	timed  bool // some blocks have (random) time stamps
}

func newProgram(seed uint64, n int) *program {
	p := &program{rng: rand.New(rand.NewPCG(seed, 1)), blocks: new(records.Blocks), timed: seed != untimed}
	for range n {
		b := p.block()
		p.blocks.Add(b)
		p.list = append(p.list, b)
		if p.rng.IntN(3) == 0 {
			p.list = append(p.list, p.blocks.Get(p.blocks.AddPart(b.ID, p.part(b))))
		}
	}
	return p
}

// part is some of a block, with the words that its instructions want.
func (p *program) part(b *records.Block) records.Part {
	part := records.Part{Ins: 1 + p.rng.IntN(len(b.Ins)), Words: int(b.TimeWord) + 1, Target: b.Addr + p.rng.Uint64()>>40}
	for i := range b.Ins[:part.Ins] {
		for _, a := range b.Ins[i].Accesses {
			values := int(a.Size)
			if a.Lanes > 0 {
				values *= int(a.Lanes)
			}
			last := max(a.Word, a.AuxWord, a.Value, a.IndexWord)
			if a.Value >= 0 && last == a.Value {
				last += int16((values+7)/8) - 1
			}
			if a.IndexWord >= 0 && last == a.IndexWord {
				last += int16((int(a.Lanes)*int(a.IndexSize)+7)/8) - 1
			}
			part.Words = max(part.Words, int(last)+1)
		}
	}
	return part
}

// untimed is the seed of a program without time stamps.
const untimed = 1 << 32

// word takes the next free word of a block.
func word(b *records.Block, n int) int16 {
	w := int16(b.Words)
	b.Words += n
	return w
}

func (p *program) block() *records.Block {
	b := &records.Block{
		Addr: 0x400000 + p.rng.Uint64N(1<<20)*16, Image: uint32(p.rng.IntN(3)),
		TimeWord: records.NoWord, BranchWord: records.NoWord,
		Branch: records.BranchKind(p.rng.IntN(int(records.BranchSyscall) + 1)),
	}
	b.Target = 0x400000 + p.rng.Uint64N(1<<20)*16
	if p.rng.IntN(4) == 0 && p.timed {
		b.TimeWord = word(b, 1)
	}
	off := 0
	for range 1 + p.rng.IntN(6) {
		in := records.Ins{Off: uint16(off), Len: uint8(1 + p.rng.IntN(15)), Func: uint32(p.rng.IntN(4))}
		off += int(in.Len)
		if p.rng.IntN(8) != 0 {
			in.Flags |= records.InsRecorded | records.InsRoutine
		}
		for range p.rng.IntN(3) {
			in.Flags |= records.InsAddrs | records.InsMemory
			in.Accesses = append(in.Accesses, p.access(b))
		}
		b.Ins = append(b.Ins, in)
	}
	b.Code = make([]byte, off)
	if p.rng.IntN(3) == 0 {
		b.BranchWord = word(b, 1)
		b.Ins[len(b.Ins)-1].Flags |= records.InsBranch
	}
	return b
}

func (p *program) access(b *records.Block) records.Access {
	a := records.Access{
		Kind: records.AccessKind(p.rng.IntN(int(records.AccessBits) + 1)), Store: p.rng.IntN(2) == 0,
		Seg: uint8(p.rng.IntN(3)), AddrBits: 64, Size: 1 << p.rng.IntN(4),
		Word: records.NoWord, AuxWord: records.NoWord, IndexWord: records.NoWord, Value: records.NoWord,
		Offset: int64(p.rng.IntN(4096)) - 2048,
	}
	if p.rng.IntN(8) == 0 {
		a.AddrBits = 32
	}
	if a.Kind != records.AccessPlain || p.rng.IntN(5) != 0 {
		a.Word = word(b, 1)
	}
	if a.Kind != records.AccessPlain {
		a.AuxWord = word(b, 1)
	}
	values := 8
	switch a.Kind {
	case records.AccessMasked, records.AccessPacked, records.AccessGather:
		a.Lanes = uint8(1 << p.rng.IntN(5))
		values = int(a.Lanes) * int(a.Size)
	}
	if a.Kind == records.AccessGather {
		a.Scale, a.IndexSize = 4, 1<<p.rng.IntN(4)
		a.IndexWord = word(b, (int(a.Lanes)*int(a.IndexSize)+7)/8)
	}
	if a.Kind != records.AccessString && a.Kind != records.AccessSized && p.rng.IntN(3) == 0 {
		a.Value = word(b, (values+7)/8)
	}
	return a
}

// record appends a random execution of a block to words.
func (p *program) record(words []uint64, b *records.Block) []uint64 {
	words = append(words, uint64(b.ID))
	at := len(words)
	for range b.Words {
		v := p.rng.Uint64()
		switch p.rng.IntN(4) {
		case 0:
			v = 0x7ffe0000_0000 + v%65536
		case 1:
			v = 0x5555_0000_0000 + v%(1<<24)
		case 2:
			v %= 256
		}
		words = append(words, v)
	}
	w := words[at:]
	for i := range b.Ins {
		for _, a := range b.Ins[i].Accesses {
			switch a.Kind {
			case records.AccessString: // a few elements, up or down
				w[a.AuxWord] = w[a.Word] + uint64(int64(p.rng.IntN(9)-4)*int64(a.Size))
			case records.AccessSized:
				w[a.AuxWord] %= 4096
			}
		}
	}
	if b.BranchWord >= 0 && b.Branch == records.BranchCond {
		w[b.BranchWord] &= 1
	}
	return words
}

// item appends a random record or mark.
func (p *program) item(words []uint64) []uint64 {
	b := p.list[p.rng.IntN(len(p.list))]
	switch p.rng.IntN(24) {
	case 0:
		words = append(words, records.Mark(records.MarkCut, uint64(p.rng.IntN(len(b.Ins)+1))))
		return p.record(words, b)
	case 1:
		return append(words, records.Mark(records.MarkFS, 0), p.rng.Uint64()>>16)
	case 2:
		return append(words, records.Mark(records.MarkGS, 0), p.rng.Uint64()>>16)
	case 3:
		return append(words, records.Mark(records.MarkWindows, uint64(p.rng.IntN(8))), p.rng.Uint64()>>20)
	case 4:
		return append(words, records.Mark(records.MarkSkip, 2), 1, p.rng.Uint64())
	case 5:
		if !oneRecorded(b) { // what the tracer executes is one instruction
			break
		}
		n := p.rng.IntN(3)
		if p.rng.IntN(2) == 0 { // with what is recorded beside it, in up to three marks
			beside := make([]uint64, p.rng.IntN(600))
			for i := range beside {
				beside[i] = p.rng.Uint64()
			}
			words = records.Beside(words, beside)
		}
		words = append(words, records.Mark(records.MarkEmulated, uint64(b.ID)), uint64(n))
		for range n {
			words = append(words, p.rng.Uint64()>>16, 8|uint64(p.rng.IntN(2))<<63)
		}
		return words
	}
	return p.record(words, b)
}

// oneRecorded tells whether one instruction of a block is recorded, or none.
func oneRecorded(b *records.Block) bool {
	n := 0
	for i := range b.Ins {
		if b.Ins[i].Flags&records.InsRecorded != 0 {
			n++
		}
	}
	return n <= 1
}

// loop appends what loops look like: the same few blocks over and over, with
// strides.
func (p *program) loop(words []uint64) []uint64 {
	var body []*records.Block
	for range 1 + p.rng.IntN(4) {
		body = append(body, p.list[p.rng.IntN(len(p.list))])
	}
	base := p.rng.Uint64() >> 20
	for i := range uint64(p.rng.IntN(100)) {
		for _, b := range body {
			if len(b.Ins[0].Accesses) > 0 && b.Ins[0].Accesses[0].Kind == records.AccessPlain && b.Ins[0].Accesses[0].Word >= 0 {
				at := len(words) + 1 + int(b.Ins[0].Accesses[0].Word)
				words = p.record(words, b)
				words[at] = base + i*8
				continue
			}
			words = p.record(words, b)
		}
	}
	return words
}
