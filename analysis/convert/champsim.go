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
	begun   []byte          // records of instructions of which some iterations have come: their addresses and accesses
}

// writeChampsim writes a record for each instruction.
func writeChampsim(w io.Writer, o *Options) error {
	if err := o.needAccesses(); err != nil {
		return err
	}
	if err := o.need(abp.FlagBranches, "branches"); err != nil {
		return err
	}
	return analysis.OrderedJoined(w, o.Profile, o.Query, o.Progress, func() (analysis.TextWork, func(), error) {
		c := &champsimWorker{}
		return c.batch, func() {}, nil
	}, joinChampsim)
}

// joinChampsim has the accesses of iterations that batches have left in the records of the instructions that they belong to, in front of what these have: of several batches the last one's
// first.
func joinChampsim(left, text []byte) (joined, still []byte) {
	for end := len(left); end > 0; end -= champsimSize {
		begun, found := left[end-champsimSize:end], false
		for at := 0; at < len(text) && !found; at += champsimSize {
			if rec := text[at : at+champsimSize]; [8]byte(rec) == [8]byte(begun) {
				addBegun(rec, begun)
				found = true
			}
		}
		if !found {
			still = slices.Insert(still, 0, begun...)
		}
	}
	return text, still
}

// addBegun has accesses of a record in front of those of another.
func addBegun(rec, begun []byte) {
	for _, part := range [][2]int{{champsimStores, champsimLoads}, {champsimLoads, champsimSize}} {
		at := part[0]
		for ; at < part[1] && binary.LittleEndian.Uint64(begun[at:]) != 0; at += 8 {
		}
		n := at - part[0]
		copy(rec[at:part[1]], rec[part[0]:part[1]-n])
		copy(rec[part[0]:at], begun[part[0]:at])
	}
}

// batch is analysis.TextWork.
func (c *champsimWorker) batch(r *abp.Reader, b *abp.Batch, t *analysis.Text) error {
	if c.proc != b.Process() {
		c.proc, c.statics = b.Process(), make([][]champsimIns, len(b.Process().Blocks()))
	}
	c.begun = c.begun[:0]
	for r.NextTrace() {
		// Iterations that did not retire are part of the record of the instruction that they
		// belong to. A signal's handler may lie in between.
		tr := r.Trace()
		if tr.Ins.Part {
			c.part(tr)
			continue
		}
		at := len(t.Buf)
		t.Buf = c.append(t.Buf, tr)
		for i := 0; i < len(c.begun); i += champsimSize {
			if [8]byte(c.begun[i:]) == [8]byte(t.Buf[at:]) {
				addBegun(t.Buf[at:], c.begun[i:i+champsimSize])
				c.begun = slices.Delete(c.begun, i, i+champsimSize)
				break
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	t.Left = slices.Clone(c.begun)
	return nil
}

// part keeps the accesses of iterations of an instruction that did not retire, as far as its record has room for them.
func (c *champsimWorker) part(t *abp.Trace) {
	var rec [champsimSize]byte
	binary.LittleEndian.PutUint64(rec[:], t.Ins.Addr)
	putAccesses(rec[:], t.Mems)
	for i := 0; i < len(c.begun); i += champsimSize {
		if [8]byte(c.begun[i:]) == [8]byte(rec[:]) {
			addBegun(rec[:], c.begun[i:i+champsimSize])
			copy(c.begun[i:], rec[:])
			return
		}
	}
	c.begun = append(c.begun, rec[:]...)
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
	putAccesses(rec, t.Mems)
	return dst
}

// putAccesses puts the first ones into a record.
func putAccesses(rec []byte, mems []abp.Mem) {
	stores, loads := 0, 0
	for i := range mems {
		m := &mems[i]
		switch {
		case m.Store && stores < 2:
			binary.LittleEndian.PutUint64(rec[champsimStores+8*stores:], m.Addr)
			stores++
		case !m.Store && loads < 4:
			binary.LittleEndian.PutUint64(rec[champsimLoads+8*loads:], m.Addr)
			loads++
		}
	}
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
