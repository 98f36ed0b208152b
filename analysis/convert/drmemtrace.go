package convert

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"alleria/abp"
	"alleria/analysis"
)

// drmemtraceFormat is what DynamoRIO's trace tools read: cache simulator, reuse distances, views.
func drmemtraceFormat() *Format {
	return &Format{
		Name: "drmemtrace", Ending: ".trace", Split: SplitThread, Binary: true,
		Summary: "DynamoRIO's memory trace, a file a thread (drrun -t drmemtrace -infile FILE -tool …)",
		Needs: "accesses (--fields address), and every instruction (--select any), or only those with accesses are fetched; " +
			"with branches (--fields address,branch) their outcomes and targets, and system calls and signals where a configuration records them",
		write: writeDrmemtrace,
	}
}

// Entries of DynamoRIO's clients/drcachesim/common/trace_entry.h: a type and a size of 16 bits each, and an address or value of 64.
const (
	drRead         = 0
	drWrite        = 1
	drInstruction  = 10 // and kinds of branches from here on
	drIndirectJump = 12
	drConditional  = 13
	drIndirectCall = 15
	drReturn       = 16
	drThread       = 22
	drThreadExit   = 23
	drPID          = 24
	drHeader       = 25
	drFooter       = 26
	drMarker       = 28
	drNoFetch      = 29
	drEncoding     = 47
	drTaken        = 48
	drUntaken      = 49

	// A marker's kind is its size.
	drEvent     = 0 // what comes is a signal's handler; where the thread was
	drReturned  = 1 // what comes is where a handler has returned to; what it came from
	drTimestamp = 2 // in microseconds
	drCPU       = 3
	drFileType  = 9
	drLineSize  = 10
	drVersion   = 12
	drPageSize  = 18
	drCall      = 25 // the number of a system call
	drTarget    = 29 // of an indirect branch, in front of it
	drSignal    = 40 // the number of a signal, behind drEvent

	// With encodings, and with what the later version promises where that is recorded: which way branches went. Versions behind have times at system calls, and no instructions
	// that were begun and did not retire.
	drVersionEncodings = 4
	drVersionBranches  = 5
	drTypeX8664        = 1 << 6
	drTypeEncodings    = 1 << 9
	drTypeCalls        = 1 << 10
)

// drKinds are types of instructions by how they branch.
var drKinds = [...]uint16{kindPlain: drInstruction, kindConditional: drConditional, kindJump: 11, kindIndirectJump: drIndirectJump, kindCall: 14, kindIndirectCall: drIndirectCall, kindReturn: drReturn}

// appendDr appends an entry.
func appendDr(dst []byte, kind, size uint16, value uint64) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, kind)
	dst = binary.LittleEndian.AppendUint16(dst, size)
	return binary.LittleEndian.AppendUint64(dst, value)
}

// drIns is what all executions of an instruction have in common.
type drIns struct {
	kind  uint16
	batch uint64 // the last one that has its encoding, plus one
}

// callReturn is the number of rt_sigreturn.
const callReturn = 15

// drSize is the size of an entry.
const drSize = 12

// drWorker makes entries on one goroutine.
type drWorker struct {
	branches bool // which way they went
	calls    bool
	signals  []abp.Signal // of the thread, in their order
	next     int          // of signals
	begun    bool         // next is that of the batch
	proc     *abp.Process
	statics  [][]drIns // by block, then instruction
	batch    uint64
	micros   uint64 // of the latest marker of time
	plain    bool   // the instruction before was no branch
}

// writeDrmemtrace writes the entries of a thread.
func writeDrmemtrace(w io.Writer, o *Options) error {
	if err := o.needAccesses(); err != nil {
		return err
	}
	for _, p := range o.processes() {
		for i := range p.Threads() {
			t := &p.Threads()[i]
			if !wants(o.Query.Threads, t.Number) {
				continue
			}
			q := o.Query
			q.Processes, q.Programs, q.Threads = []uint32{p.Number()}, []uint32{p.Generation()}, []uint32{t.Number}
			if err := writeDrThread(w, o, q, p, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeDrThread writes what a thread executed between a header and a footer.
func writeDrThread(w io.Writer, o *Options, q abp.Query, p *abp.Process, t *abp.Thread) error {
	h := p.Header()
	tid, began := uint64(t.OSID), h.TSCAtStart
	if len(t.Frames) > 0 {
		began = t.Frames[0].FirstTSC
	}
	version, kind := uint64(drVersionEncodings), uint64(drTypeX8664|drTypeEncodings)
	branches, calls := h.Flags&abp.FlagBranches != 0, h.Flags&abp.FlagSyscalls != 0
	if branches {
		version = drVersionBranches
	}
	if calls {
		kind |= drTypeCalls
	}
	head := appendDr(nil, drHeader, 0, version)
	head = appendDr(head, drMarker, drVersion, version)
	head = appendDr(head, drMarker, drFileType, kind)
	head = appendDr(head, drThread, 4, tid)
	head = appendDr(head, drPID, 4, uint64(h.PID))
	head = appendDr(head, drMarker, drLineSize, 64)
	head = appendDr(head, drMarker, drPageSize, 4096)
	head = appendDrTime(head, drMicros(h, began))
	if _, err := w.Write(head); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	signals := slices.DeleteFunc(slices.Clone(p.Signals()), func(s abp.Signal) bool { return s.Thread != t.Number })
	slices.SortStableFunc(signals, func(a, b abp.Signal) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	err := analysis.OrderedJoined(w, o.Profile, q, o.Progress, func() (analysis.TextWork, func(), error) {
		d := &drWorker{branches: branches, calls: calls, signals: signals}
		return d.take, func() {}, nil
	}, joinDr)
	if err != nil {
		return err
	}
	if _, err := w.Write(appendDr(appendDr(nil, drThreadExit, 4, tid), drFooter, 0, 0)); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// drMicros is a time in microseconds.
func drMicros(h *abp.Header, tsc uint64) uint64 { return uint64(max(0, h.TimeOf(tsc).UnixMicro())) }

// appendDrTime appends the markers of a time.
func appendDrTime(dst []byte, micros uint64) []byte {
	return appendDr(appendDr(dst, drMarker, drTimestamp, micros), drMarker, drCPU, 0)
}

// take is analysis.TextWork. Batches are worked on side by side: each has the encodings of its instructions anew, and a time.
func (d *drWorker) take(r *abp.Reader, b *abp.Batch, t *analysis.Text) error {
	if d.proc != b.Process() {
		d.proc, d.statics = b.Process(), make([][]drIns, len(b.Process().Blocks()))
	}
	d.batch, d.micros, d.plain, d.begun = b.Ordinal()+1, 0, false, false
	open := -1 // where the entries of a branch begin of which the next instruction tells where it went
	for r.NextTrace() {
		tr := r.Trace()
		if open >= 0 {
			wentTo(t.Buf[open:], tr.Ins.Addr)
			open = -1
		}
		if err := t.Flush(); err != nil {
			return err
		}
		at := len(t.Buf)
		known := true
		if t.Buf, known = d.append(t.Buf, tr); !known {
			open = at
		}
	}
	if open >= 0 {
		t.Left = slices.Clone(t.Buf[open:])
		t.Buf = t.Buf[:open]
	}
	return nil
}

// joinDr is analysis.Join: what batches leave are branches of which the next instruction tells where they went.
func joinDr(left, text []byte) (joined, still []byte) {
	for at := 0; at < len(text); at += drSize {
		if isDrInstruction(binary.LittleEndian.Uint16(text[at:])) {
			wentTo(left, binary.LittleEndian.Uint64(text[at+4:]))
			return append(left, text...), nil
		}
	}
	if text == nil { // nothing was executed behind it
		return left, nil
	}
	return nil, append(left, text...)
}

// isDrInstruction tells types of instructions.
func isDrInstruction(kind uint16) bool {
	return kind >= drInstruction && kind <= drReturn || kind == drNoFetch || kind == drTaken || kind == drUntaken
}

// wentTo puts where the branch among entries went to.
func wentTo(entries []byte, to uint64) {
	for at := 0; at < len(entries); at += drSize {
		e := entries[at : at+drSize]
		kind, size := binary.LittleEndian.Uint16(e), binary.LittleEndian.Uint16(e[2:])
		switch {
		case kind == drMarker && size == drTarget:
			binary.LittleEndian.PutUint64(e[4:], to)
		case kind == drUntaken && to != binary.LittleEndian.Uint64(e[4:])+uint64(size):
			binary.LittleEndian.PutUint16(e, drTaken)
		}
	}
}

// where is where a branch went to, and whether it was taken. known is whether that is recorded: it is not of what the tracer has executed.
func where(tr *abp.Trace) (to uint64, isTaken, known bool) {
	if b, i := tr.Ins.Block, tr.Ins.Index; i+1 < len(b.Ins) {
		return b.InsAddr(i + 1), taken(tr), true
	}
	if tr.Branch == nil {
		return 0, false, false
	}
	return tr.Branch.Target, tr.Branch.Taken, true
}

// signal appends the markers of signals that were delivered in front of an instruction, which is their handler's first one unless the thread has gone on where it was.
func (d *drWorker) signal(dst []byte, in *abp.Instruction) []byte {
	if !d.begun {
		d.begun = true
		d.next, _ = slices.BinarySearchFunc(d.signals, in.Ordinal, func(s abp.Signal, o uint64) int { return cmp.Compare(s.Ordinal, o) })
	}
	for d.next < len(d.signals) && d.signals[d.next].Ordinal <= in.Ordinal {
		s := &d.signals[d.next]
		switch {
		case s.Ordinal < in.Ordinal:
		case s.IP == in.Addr && in.Part: // some of it was executed before
			return dst
		case s.IP != in.Addr:
			dst = appendDr(appendDr(dst, drMarker, drEvent, s.IP), drMarker, drSignal, uint64(s.Number))
		}
		d.next++
	}
	return dst
}

// append appends an execution: signals in front of it, the time, if some has gone by, its encoding where it is new, the instruction, its accesses, and the system call. Iterations of a repeated
// instruction fetch nothing until it retires. It returns whether it is known where a branch went to.
func (d *drWorker) append(dst []byte, tr *abp.Trace) (out []byte, known bool) {
	in := &tr.Ins
	s := d.static(in)
	if d.next < len(d.signals) || !d.begun {
		dst = d.signal(dst, in)
	}
	// A branch and its target have nothing between them: readers take it that threads may change at a time.
	if us := drMicros(d.proc.Header(), in.TSC); d.plain && us >= d.micros+100 {
		d.micros = us
		dst = appendDrTime(dst, us)
	}
	d.plain = s.kind == drInstruction
	if s.batch != d.batch {
		s.batch = d.batch
		for code := in.Code; len(code) > 0; code = code[min(8, len(code)):] {
			var bytes [8]byte
			n := copy(bytes[:], code)
			dst = appendDr(dst, drEncoding, uint16(n), binary.LittleEndian.Uint64(bytes[:]))
		}
	}
	kind := s.kind
	known = true
	switch {
	case in.Part:
		kind = drNoFetch
	case !d.branches:
	case kind == drConditional:
		isTaken := false
		if _, isTaken, known = where(tr); isTaken {
			kind = drTaken
		} else {
			kind = drUntaken
		}
	case kind == drIndirectJump || kind == drIndirectCall || kind == drReturn:
		to := uint64(0)
		if to, _, known = where(tr); to == 0 {
			known = false
		}
		dst = appendDr(dst, drMarker, drTarget, to)
	}
	dst = appendDr(dst, kind, uint16(len(in.Code)), in.Addr)
	for i := range tr.Mems {
		m := &tr.Mems[i]
		access := uint16(drRead)
		if m.Store {
			access = drWrite
		}
		dst = appendDr(dst, access, uint16(min(m.Size, 1<<16-1)), m.Addr)
	}
	if c := tr.Syscall; c != nil && d.calls {
		dst = appendDr(dst, drMarker, drCall, uint64(c.Number))
		if c.Number == callReturn {
			dst = appendDr(dst, drMarker, drReturned, in.Addr+uint64(len(in.Code)))
		}
	}
	return dst, known
}

// static returns what all executions of an instruction have in common.
func (d *drWorker) static(in *abp.Instruction) *drIns {
	list := d.statics[in.Block.ID]
	if list == nil {
		list = make([]drIns, len(in.Block.Ins))
		d.statics[in.Block.ID] = list
	}
	s := &list[in.Index]
	if s.kind == 0 {
		var reads, writes [4]byte
		s.kind = drKinds[registersOf(in.Code, reads[:], writes[:])]
	}
	return s
}
