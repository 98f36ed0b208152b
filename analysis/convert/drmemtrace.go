package convert

import (
	"encoding/binary"
	"fmt"
	"io"

	"alleria/abp"
	"alleria/analysis"
)

// drmemtraceFormat is what DynamoRIO's trace tools read: cache simulator, reuse distances, views.
func drmemtraceFormat() *Format {
	return &Format{
		Name: "drmemtrace", Ending: ".trace", Split: SplitThread, Binary: true,
		Summary: "DynamoRIO's memory trace, a file a thread (drrun -t drmemtrace -infile FILE -tool …)",
		Needs:   "accesses (--fields address), and every instruction (--select any), or only those with accesses are fetched",
		write:   writeDrmemtrace,
	}
}

// Entries of DynamoRIO's clients/drcachesim/common/trace_entry.h: a type and a size of 16 bits each, and an address or value of 64.
const (
	drRead        = 0
	drWrite       = 1
	drInstruction = 10 // and kinds of branches from here on
	drThread      = 22
	drThreadExit  = 23
	drPID         = 24
	drHeader      = 25
	drFooter      = 26
	drMarker      = 28
	drNoFetch     = 29
	drEncoding    = 47

	// A marker's kind is its size.
	drTimestamp = 2 // in microseconds
	drCPU       = 3
	drFileType  = 9
	drLineSize  = 10
	drVersion   = 12
	drPageSize  = 18

	// With encodings, and without what later versions promise: which way conditional jumps went.
	drVersionEncodings = 4
	drTypeX8664        = 1 << 6
	drTypeEncodings    = 1 << 9
)

// drKinds are types of instructions by how they branch.
var drKinds = [...]uint16{kindPlain: drInstruction, kindConditional: 13, kindJump: 11, kindIndirectJump: 12, kindCall: 14, kindIndirectCall: 15, kindReturn: 16}

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

// drWorker makes entries on one goroutine.
type drWorker struct {
	proc    *abp.Process
	statics [][]drIns // by block, then instruction
	batch   uint64
	micros  uint64 // of the latest marker of time
	plain   bool   // the instruction before was no branch
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
			if err := writeDrThread(w, o, q, p.Header(), t); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeDrThread writes what a thread executed between a header and a footer.
func writeDrThread(w io.Writer, o *Options, q abp.Query, h *abp.Header, t *abp.Thread) error {
	tid, began := uint64(t.OSID), h.TSCAtStart
	if len(t.Frames) > 0 {
		began = t.Frames[0].FirstTSC
	}
	head := appendDr(nil, drHeader, 0, drVersionEncodings)
	head = appendDr(head, drMarker, drVersion, drVersionEncodings)
	head = appendDr(head, drMarker, drFileType, drTypeX8664|drTypeEncodings)
	head = appendDr(head, drThread, 4, tid)
	head = appendDr(head, drPID, 4, uint64(h.PID))
	head = appendDr(head, drMarker, drLineSize, 64)
	head = appendDr(head, drMarker, drPageSize, 4096)
	head = appendDrTime(head, drMicros(h, began))
	if _, err := w.Write(head); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	err := analysis.OrderedText(w, o.Profile, q, o.Progress, func() (analysis.TextWork, func(), error) {
		d := &drWorker{}
		return d.take, func() {}, nil
	})
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
	d.batch, d.micros, d.plain = b.Ordinal()+1, 0, false
	for r.NextTrace() {
		t.Buf = d.append(t.Buf, r.Trace())
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// append appends an execution: the time, if some has gone by, its encoding where it is new, the instruction, and its accesses. Iterations of a repeated
// instruction fetch nothing until it retires.
func (d *drWorker) append(dst []byte, tr *abp.Trace) []byte {
	in := &tr.Ins
	s := d.static(in)
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
	if in.Part {
		kind = drNoFetch
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
	return dst
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
