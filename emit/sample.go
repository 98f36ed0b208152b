package emit

import (
	"sync"

	"alleria/abp"
	"alleria/internal/records"
)

// Instructions of which one in N is to be kept are recorded by the engine like any
// others; which are kept is decided in front of the encoder (Sampler), for each execution
// by itself. What is kept of an execution is an execution of another block: the same
// code with fewer of its instructions recorded. Readers need to know nothing of it.
//
// In such a process the numbers of blocks are twice the engine's, and those of
// blocks made here are odd. Deciding in the target was refused: a random number
// for each instruction costs it more than the record, and a frame would have to
// say of each execution what was kept.
type sampling struct {
	mu   sync.Mutex // guards what follows
	made []sampledBlock
	ids  map[sampledBlock]uint32 // of those that were made
}

// sampledBlock is a block of the engine with those of its instructions that were kept.
type sampledBlock struct {
	raw  uint32
	kept uint64 // bit i: instruction i
}

// Sample says that the engine's blocks may have instructions of which only some are
// to be kept. It is called before anything is consumed.
func (p *ProcessWriter) Sample() {
	// A discarded run counts what was recorded: there is no profile that anything
	// could be kept in.
	if !p.run.opts.Discard {
		p.blocks.sampling = &sampling{ids: map[sampledBlock]uint32{}}
	}
}

// id returns the number of a block with what was kept of it, made if it is new.
func (s *sampling) id(b sampledBlock) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.ids[b]
	if !ok {
		// Blocks of the same code with other instructions kept are as many as were
		// ever drawn: for low rates mostly one for each instruction of a block.
		id = uint32(len(s.made))*2 + 1
		s.made = append(s.made, b)
		s.ids[b] = id
	}
	return id
}

// block is the inverse of id; kept is all ones for a block of the engine's own.
func (s *sampling) block(id uint32) (b sampledBlock, ok bool) {
	if id&1 == 0 {
		return sampledBlock{id / 2, ^uint64(0)}, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if int(id/2) >= len(s.made) {
		return b, false
	}
	return s.made[id/2], true
}

// read is Blocks.Read with these numbers.
func (s *sampling) read(raw *records.Blocks, id uint32, out *records.Block) bool {
	b, ok := s.block(id)
	if !ok || !raw.Read(b.raw, out) {
		return false
	}
	for i := range out.Ins {
		if b.kept>>i&1 == 0 {
			// It stays in the block, so that its code is whole; nothing of it is
			// recorded any more. That it has memory operands is a fact of the code.
			out.Ins[i].Flags &= records.InsMemory
		}
	}
	out.ID = id
	return true
}

// addRates says in a block's row at what rates its instructions were sampled.
func (t *blockTable) addRates(out *abp.Block) {
	if t.sampling == nil {
		return
	}
	if b, ok := t.sampling.block(out.ID); ok {
		out.Sample = t.raw.SampleRates(b.raw)
	}
}
