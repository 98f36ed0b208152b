package abp

import (
	"cmp"
	"slices"
)

// entryState is where a Reader is within an execution. The accesses of the
// whole execution are expanded at once, into memory that is used again.
type entryState struct {
	active  bool
	ins     int    // the next instruction
	ordinal uint64 // of the next recorded instruction
	phase   phase
	mems    []Mem
	mem     int // the next of mems
	values  []byte
	regs    []RegisterValue // of the current instruction
	regBuf  []byte
	entry   Entry
	branch  Branch
	header  bool // a Header is due
	windows bool // a Windows entry is due
	shown   uint64
	collect func(*Mem)
}

// phase is what comes next of the current instruction.
type phase uint8

const (
	phaseIns phase = iota
	phaseMem
	phaseBranch
	phaseSyscall
)

// Next goes on to the next entry that matches.
//
// The order of entries of one instruction is Ins, its Mems as they happened, Branch,
// Syscall. A Header comes before a thread's first entry and in OrderTime before each
// change of thread.
func (r *Reader) Next() bool { return r.NextBut(nil) }

// NextBut is Next for who writes executions faster than entry by entry: take is called with each execution of
// which everything matches, and there are no entries of those for which it returns true.
// The execution is valid until take returns.
func (r *Reader) NextBut(take func(*Exec) bool) bool {
	for {
		// The rest of an execution comes before what was met behind it.
		if r.entries.active && r.nextOfExec() {
			return true
		}
		if r.entries.header {
			r.entries.header = false
			r.announce(EntryHeader)
			return true
		}
		if r.entries.windows {
			r.entries.windows = false
			r.announce(EntryWindows)
			return true
		}
		if !r.advance(take) {
			return false
		}
	}
}

// Entry returns the current entry.
func (r *Reader) Entry() *Entry { return &r.entries.entry }

// announce makes an entry that carries only the thread's state.
func (r *Reader) announce(kind EntryKind) {
	x := &r.cur.x
	e := &r.entries.entry
	e.Kind = kind
	e.Process, e.Program, e.Thread, e.OSID, e.Windows = x.Process.Number(), x.Process.Generation(), x.Thread, x.OSID, x.Windows
}

// advance takes the next step of the cursors and prepares what it yields.
// take is NextBut's.
func (r *Reader) advance(take func(*Exec) bool) bool {
	st := &r.entries
	s := r.step()
	x := (*Exec)(nil)
	if s != stepEnd {
		x = &r.cur.x
	}
	switch s {
	case stepEnd:
		return false
	case stepThread:
		// A frame of another thread than the last begins.
		st.header, st.windows = true, x.Windows != 0
		st.shown = x.Windows
	case stepWindows:
		// The next frame of a thread repeats its state; only a change is worth an
		// entry.
		if x.Windows != st.shown {
			st.windows, st.shown = true, x.Windows
		}
	case stepExec:
		if r.switched { // in OrderTime another thread goes on where it was
			r.switched = false
			st.header, st.windows, st.shown = true, false, x.Windows
		}
		switch m := r.match[x.Process]; {
		case !m.exec(x):
		case take != nil && !st.header && r.from <= x.Ordinal && m.whole(x) && take(x):
		default:
			r.expand(x)
		}
	}
	return true
}

// expand prepares the entries of one execution.
func (r *Reader) expand(x *Exec) {
	st := &r.entries
	st.active, st.ins, st.phase, st.mem = true, 0, phaseIns, 0
	st.ordinal = x.Ordinal
	st.mems, st.values = st.mems[:0], st.values[:0]
	if st.collect == nil {
		st.collect = func(m *Mem) {
			a := *m
			if m.Value != nil {
				// Values live in one array; growing it leaves earlier ones in the old
				// one, which stays reachable through them.
				n := len(st.values)
				st.values = append(st.values, m.Value...)
				a.Value = st.values[n:len(st.values):len(st.values)]
			}
			st.mems = append(st.mems, a)
		}
	}
	// All at once, though the caller may want a few: Next would else have to keep
	// its place within a gather.
	x.ForEachAccess(st.collect)
}

// nextOfExec makes the next entry of the current execution; false: there is
// none left.
// A due Header is not part of the execution: Next sees to it first.
func (r *Reader) nextOfExec() bool {
	st := &r.entries
	if st.header {
		return false
	}
	x := &r.cur.x
	for {
		switch st.phase {
		case phaseIns:
			if !r.nextIns(x) {
				st.active = false
				return false
			}
			st.phase = phaseMem
			return true
		case phaseMem:
			if r.nextMem(x) {
				return true
			}
			st.phase = phaseBranch
		// Branch and system call belong to the block's last instruction, and only if
		// that was yielded: nextIns leaves st.ins behind the one that it yielded.
		case phaseBranch:
			st.phase = phaseSyscall
			if st.ins == len(x.Block.Ins) && x.LastBranch(&st.entry.Branch) {
				st.entry.Kind = EntryBranch
				return true
			}
		case phaseSyscall:
			st.phase = phaseIns
			if st.ins == len(x.Block.Ins) && x.Block.Branch == BranchSyscall {
				if sc := x.Process.syscallAt(x.Thread, st.entry.Ins.Ordinal); sc != nil {
					st.entry.Kind, st.entry.Syscall = EntrySyscall, sc
					return true
				}
			}
		}
	}
}

// nextIns makes the entry of the next instruction that matches.
//
// With a filter on data only instructions with such an access match: an instruction
// without any is not what such a filter is after.
func (r *Reader) nextIns(x *Exec) bool {
	st := &r.entries
	m := r.match[x.Process]
	for st.ins < x.Completed {
		i := st.ins
		st.ins++
		in := &x.Block.Ins[i]
		if in.Flags&InsRecorded == 0 {
			continue
		}
		// Ordinals count all recorded instructions, also those filtered away: they
		// are places in the thread, not in the answer.
		ordinal := st.ordinal
		if in.Retires() {
			st.ordinal++
		}
		if ordinal < r.from || !m.ins(x, i, ordinal) {
			continue
		}
		if !m.q.Data.All() && !r.touches(m, i) {
			continue
		}
		r.announce(EntryIns)
		e := &st.entry.Ins
		*e = Instruction{Ordinal: ordinal, Addr: x.Block.InsAddr(i), TSC: x.TSC, Code: x.Block.InsCode(i), Block: x.Block, Index: i}
		e.Part = !in.Retires()
		if in.Flags&InsRegs != 0 {
			st.regs, st.regBuf = x.Registers(i, st.regs[:0], st.regBuf[:0])
			e.Registers = st.regs
		}
		e.Timed = x.Timed && in.Flags&InsTime != 0
		if in.Flags&InsRoutine != 0 {
			e.Func = in.Func
		}
		return true
	}
	return false
}

// touches reports whether instruction i has an access that matches.
func (r *Reader) touches(m *matcher, i int) bool {
	for k := range r.entries.mems {
		if a := &r.entries.mems[k]; int(a.Ins) == i && m.mem(a) {
			return true
		}
	}
	return false
}

// nextMem makes the entry of the next access of the current instruction.
// Accesses are in the order of their instructions: those of instructions that were
// filtered away are passed over on the way.
func (r *Reader) nextMem(x *Exec) bool {
	st := &r.entries
	m := r.match[x.Process]
	for st.mem < len(st.mems) {
		a := &st.mems[st.mem]
		if int(a.Ins) > st.ins-1 {
			return false
		}
		st.mem++
		if int(a.Ins) == st.ins-1 && m.mem(a) {
			st.entry.Kind = EntryMem
			st.entry.Mem = *a
			return true
		}
	}
	return false
}

// NextTrace goes on to the next instruction that matches.
//
// A trace is a view over the same state as Next's: mixing the two loses entries.
func (r *Reader) NextTrace() bool {
	st := &r.entries
	for {
		if st.active && r.nextIns(&r.cur.x) {
			r.fillTrace(&r.cur.x)
			return true
		}
		// Headers and windows are fields of a trace, not traces.
		st.active, st.header, st.windows = false, false, false
		if !r.advance(nil) {
			return false
		}
	}
}

// Trace returns the current trace.
// It is overwritten by the next one; Mems are copied into memory that is used
// again.
func (r *Reader) Trace() *Trace { return &r.trace }

// fillTrace puts the current instruction and what hangs on it together. Values lie
// in the same memory as those of entries.
func (r *Reader) fillTrace(x *Exec) {
	st, t := &r.entries, &r.trace
	e := &st.entry
	t.Process, t.Thread, t.OSID, t.Windows = e.Process, e.Thread, e.OSID, e.Windows
	t.Ins = e.Ins
	t.Mems = t.Mems[:0]
	for r.nextMem(x) {
		t.Mems = append(t.Mems, e.Mem)
	}
	t.Branch, t.Syscall = nil, nil
	if st.ins != len(x.Block.Ins) {
		return
	}
	if x.LastBranch(&st.branch) {
		t.Branch = &st.branch
	}
	if x.Block.Branch == BranchSyscall {
		t.Syscall = x.Process.syscallAt(x.Thread, e.Ins.Ordinal)
	}
}

// syscallAt returns the system call that a thread's instruction made. Rows of
// one thread are in the order of their ordinals.
func (p *Process) syscallAt(thread uint32, ordinal uint64) *Syscall {
	rows := p.syscallsBy[thread]
	i, _ := slices.BinarySearchFunc(rows, ordinal, func(s Syscall, o uint64) int { return cmp.Compare(s.Ordinal, o) })
	// Those of instructions that are not recorded have the ordinal of the next one that is: its
	// own call is the last.
	var own *Syscall
	for ; i < len(rows) && rows[i].Ordinal == ordinal; i++ {
		if rows[i].Place != CallBetween {
			own = &rows[i]
		}
	}
	return own
}
