package convert

import (
	"encoding/binary"
	"io"
	"slices"

	"alleria/abp"
	"alleria/analysis"
)

// champsimFormat is what ChampSim and simulators derived from it read.
func champsimFormat() *Format {
	return &Format{
		Name: "champsim", Ending: ".champsim", Split: SplitThread, Binary: true,
		Summary: "ChampSim trace: 64 bytes an instruction with registers, branch and memory (compress it: -o FILE.gz)",
		Needs:   "every instruction with accesses and branches (--select any --fields address,branch)",
		write:   writeChampsim,
	}
}

// An input_instr of ChampSim's inc/trace_instruction.h.
const (
	champsimSize   = 64
	champsimBranch = 8  // is_branch, branch_taken
	champsimOut    = 10 // two registers
	champsimIn     = 12 // four registers
	champsimStores = 16 // two addresses
	champsimLoads  = 32 // four addresses
)

// Registers that ChampSim tells kinds of branches by, and one that stands for what an
// indirect branch loads its target from.
const (
	champsimSP    = 6
	champsimFlags = 25
	champsimIP    = 26
	champsimOther = 127
)

// champsimIns is what all executions of an instruction have in common.
type champsimIns struct {
	record [champsimSize]byte
	kind   insKind
	seen   bool
}

// champsimWorker makes records on one goroutine.
type champsimWorker struct {
	proc    *abp.Process
	statics [][]champsimIns // by block, then instruction
	mems    []abp.Mem       // of the instruction and what came of it before
}

// writeChampsim writes a record for each instruction.
func writeChampsim(w io.Writer, o *Options) error {
	if err := o.needAccesses(); err != nil {
		return err
	}
	if err := o.need(abp.FlagBranches, "branches"); err != nil {
		return err
	}
	return analysis.OrderedText(w, o.Profile, o.Query, o.Progress, func() (analysis.TextWork, func(), error) {
		c := &champsimWorker{}
		return c.batch, func() {}, nil
	})
}

// batch is analysis.TextWork.
func (c *champsimWorker) batch(r *abp.Reader, b *abp.Batch, t *analysis.Text) error {
	if c.proc != b.Process() {
		c.proc, c.statics = b.Process(), make([][]champsimIns, len(b.Process().Blocks()))
	}
	c.mems = c.mems[:0]
	for r.NextTrace() {
		tr := r.Trace()
		// Iterations that did not retire are part of the record of the instruction that they
		// belong to, unless that is in the next batch.
		c.mems = append(c.mems, tr.Mems...)
		if tr.Ins.Part {
			continue
		}
		t.Buf = c.append(t.Buf, tr)
		c.mems = c.mems[:0]
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// append appends the record of an execution. Of accesses there is room for two stores and four
// loads; gathers and repeated strings have more, of which the first ones are there.
func (c *champsimWorker) append(dst []byte, t *abp.Trace) []byte {
	s := c.static(&t.Ins)
	at := len(dst)
	dst = append(dst, s.record[:]...)
	rec := dst[at:]
	if s.kind == kindConditional && taken(t) {
		rec[champsimBranch+1] = 1
	}
	stores, loads := 0, 0
	for i := range c.mems {
		m := &c.mems[i]
		switch {
		case m.Store && stores < 2:
			binary.LittleEndian.PutUint64(rec[champsimStores+8*stores:], m.Addr)
			stores++
		case !m.Store && loads < 4:
			binary.LittleEndian.PutUint64(rec[champsimLoads+8*loads:], m.Addr)
			loads++
		}
	}
	return dst
}

// taken tells whether a conditional branch was: in the middle of a block, where the block goes
// on tells.
func taken(t *abp.Trace) bool {
	b, i := t.Ins.Block, t.Ins.Index
	if i+1 < len(b.Ins) {
		return b.InsAddr(i+1) != t.Ins.Addr+uint64(len(t.Ins.Code))
	}
	return t.Branch != nil && t.Branch.Taken
}

// static returns what all executions of an instruction have in common.
func (c *champsimWorker) static(in *abp.Instruction) *champsimIns {
	list := c.statics[in.Block.ID]
	if list == nil {
		list = make([]champsimIns, len(in.Block.Ins))
		c.statics[in.Block.ID] = list
	}
	s := &list[in.Index]
	if s.seen {
		return s
	}
	s.seen = true
	rec := s.record[:]
	binary.LittleEndian.PutUint64(rec, in.Addr)
	reads, writes := rec[champsimIn:champsimIn+4], rec[champsimOut:champsimOut+2]
	s.kind = registersOf(in.Code, reads, writes)
	if s.kind != kindPlain {
		rec[champsimBranch] = 1
		if s.kind != kindConditional {
			rec[champsimBranch+1] = 1
		}
		branchRegisters(s.kind, reads, writes)
	}
	return s
}

// branchRegisters makes a branch's registers what ChampSim knows its kind by. It has no other
// field for that, and what an instruction really reads (a jump by way of a table beside the
// code reads nothing but the instruction pointer) would make another kind of it.
func branchRegisters(kind insKind, reads, writes []byte) {
	var others []byte
	for _, r := range reads {
		if r != 0 && r != champsimSP && r != champsimIP && r != champsimFlags {
			others = append(others, r)
		}
	}
	if len(others) == 0 {
		others = []byte{champsimOther}
	}
	flags := slices.Contains(reads, champsimFlags)
	clear(reads)
	clear(writes)
	writes[0] = champsimIP
	switch kind {
	case kindConditional:
		reads[0] = champsimIP
		if flags {
			reads[1] = champsimFlags
		} else { // jrcxz
			copy(reads[1:], others)
		}
	case kindJump:
		reads[0] = champsimIP
	case kindIndirectJump:
		copy(reads, others)
	case kindCall:
		reads[0], reads[1], writes[1] = champsimIP, champsimSP, champsimSP
	case kindIndirectCall:
		reads[0], reads[1], writes[1] = champsimIP, champsimSP, champsimSP
		copy(reads[2:], others)
	case kindReturn:
		reads[0], writes[1] = champsimSP, champsimSP
	}
}
