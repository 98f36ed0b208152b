package convert

import (
	"bufio"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"alleria/abp"
	"alleria/analysis/calls"
)

// perfettoFormat is a trace of TrackEvents.
func perfettoFormat() *Format {
	return &Format{
		Name: "perfetto", Ending: ".pftrace", Binary: true,
		Summary: "time line for ui.perfetto.dev: each call and each window of every thread; in time where stamped, else an instruction a nanosecond",
		Needs:   "instructions (--select any for all of them), addresses for right stacks, time stamps (--fields time) for time",
		write:   writePerfetto,
	}
}

// Fields of Perfetto's protocol buffers: protos/perfetto/trace/trace_packet.proto and
// track_event/*.proto.
const (
	pfTracePacket = 1 // of Trace

	pfTimestamp       = 8 // of TracePacket
	pfSequence        = 10
	pfTrackEvent      = 11
	pfInternedData    = 12
	pfSequenceFlags   = 13
	pfTrackDescriptor = 60

	pfTrackUUID   = 1 // of TrackDescriptor
	pfTrackName   = 2
	pfTrackProc   = 3
	pfTrackThread = 4
	pfTrackParent = 5

	pfProcPID     = 1 // of ProcessDescriptor
	pfProcCommand = 2
	pfProcName    = 6

	pfThreadPID  = 1 // of ThreadDescriptor
	pfThreadTID  = 2
	pfThreadName = 5

	pfEventType  = 9 // of TrackEvent
	pfEventName  = 10
	pfEventTrack = 11

	pfEventNames = 2 // of InternedData
	pfNameIID    = 1 // of EventName
	pfNameText   = 2

	pfBegin = 1 // TrackEvent.Type
	pfEnd   = 2

	pfCleared = 1 // TracePacket.SequenceFlags
	pfNeeds   = 2
)

// pfWriter writes packets. Each thread is a sequence with names of its own.
type pfWriter struct {
	out      *bufio.Writer
	sequence uint64
	fresh    bool // the sequence's state is still to be cleared
	packet   []byte
	inner    []byte
	wrapped  []byte
	names    map[string]uint64
}

// writePerfetto writes a thread after the other. The reader sorts.
func writePerfetto(w io.Writer, o *Options) error {
	if err := o.need(abp.FlagInstructions, "instructions"); err != nil {
		return err
	}
	if q := o.Query; len(q.Functions) > 0 || !q.Code.All() || !q.Data.All() {
		return fmt.Errorf("filters on functions, code and data leave out what callers are known by: %w", ErrUsage)
	}
	pf := &pfWriter{out: bufio.NewWriterSize(w, 1<<16)}
	for _, p := range o.processes() {
		pf.process(p)
	}
	err := o.eachThread(func(p *abp.Process, t *abp.Thread, cq calls.Query) error {
		l := pf.thread(p, t)
		_, _, err := calls.ObserveThread(o.Profile, p, t, cq, o.Progress, nil, l.step, l.flush)
		l.end()
		return err
	})
	if err != nil {
		return err
	}
	return pf.out.Flush()
}

// process describes a process.
func (pf *pfWriter) process(p *abp.Process) {
	h := p.Header()
	var proc []byte
	proc = appendNumber(proc, pfProcPID, uint64(h.PID))
	for _, arg := range h.CommandLine {
		proc = appendBytes(proc, pfProcCommand, arg)
	}
	proc = appendBytes(proc, pfProcName, processName(p))
	track := appendNumber(nil, pfTrackUUID, processTrack(p))
	track = appendBytes(track, pfTrackProc, string(proc))
	pf.write(appendBytes(nil, pfTrackDescriptor, string(track)))
}

// Numbers of tracks: of processes, of threads, of the windows of threads.
func processTrack(p *abp.Process) uint64 { return uint64(p.Number())<<40 | uint64(p.Generation())<<32 }

func threadTrack(p *abp.Process, t *abp.Thread) uint64 {
	return processTrack(p) | uint64(t.Number)<<8
}

// thread describes a thread and returns its time line.
func (pf *pfWriter) thread(p *abp.Process, t *abp.Thread) *pfLine {
	pf.sequence++
	pf.fresh, pf.names = true, map[string]uint64{}
	var th []byte
	th = appendNumber(th, pfThreadPID, uint64(p.Header().PID))
	th = appendNumber(th, pfThreadTID, uint64(t.OSID))
	th = appendBytes(th, pfThreadName, fmt.Sprintf("thread %d", t.Number))
	track := appendNumber(nil, pfTrackUUID, threadTrack(p, t))
	track = appendNumber(track, pfTrackParent, processTrack(p))
	track = appendBytes(track, pfTrackThread, string(th))
	pf.write(appendBytes(nil, pfTrackDescriptor, string(track)))
	return &pfLine{pf: pf, proc: p, track: threadTrack(p, t), windowsOf: map[uint32]bool{}, clock: clockOf(p),
		stamped: p.Header().Flags&abp.FlagTimeStamps != 0 && p.Header().TSCFrequency != 0}
}

// write writes a packet. Errors wait for the writer's Flush.
func (pf *pfWriter) write(packet []byte) {
	pf.wrapped = protowire.AppendTag(pf.wrapped[:0], pfTracePacket, protowire.BytesType)
	pf.wrapped = protowire.AppendVarint(pf.wrapped, uint64(len(packet)))
	_, _ = pf.out.Write(pf.wrapped)
	_, _ = pf.out.Write(packet)
}

// event writes that something begins (with a name) or ends.
func (pf *pfWriter) event(at, track, kind uint64, name string) {
	b := appendNumber(pf.packet[:0], pfTimestamp, at)
	b = appendNumber(b, pfSequence, pf.sequence)
	flags := uint64(pfNeeds)
	if pf.fresh {
		pf.fresh, flags = false, pfCleared|pfNeeds
	}
	b = appendNumber(b, pfSequenceFlags, flags)
	ev := appendNumber(pf.inner[:0], pfEventType, kind)
	ev = appendNumber(ev, pfEventTrack, track)
	if kind == pfBegin {
		iid, known := pf.names[name]
		if !known {
			iid = uint64(len(pf.names) + 1)
			pf.names[name] = iid
			entry := appendBytes(appendNumber(nil, pfNameIID, iid), pfNameText, name)
			b = appendBytes(b, pfInternedData, string(appendBytes(nil, pfEventNames, string(entry))))
		}
		ev = appendNumber(ev, pfEventName, iid)
	}
	b = protowire.AppendBytes(protowire.AppendTag(b, pfTrackEvent, protowire.BytesType), ev)
	pf.packet, pf.inner = b, ev
	pf.write(b)
}

// appendNumber appends a field that is a number.
func appendNumber(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

// appendBytes appends a field that is text or a message.
func appendBytes(b []byte, field protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// pfLine is the time line of a thread.
type pfLine struct {
	pf        *pfWriter
	proc      *abp.Process
	track     uint64
	clock     clock
	stamped   bool
	now       uint64  // of the last step, never going back
	done      uint64  // instructions
	stack     []int32 // nodes whose ends are to come
	windows   uint64  // that are open
	windowsOf map[uint32]bool
}

// step is a calls.Observer.
func (l *pfLine) step(s *calls.Step) {
	at := l.done
	if l.stamped {
		if ns := l.clock.at(s.TSC, true); ns >= 0 {
			at = uint64(ns)
		}
	}
	c, _ := s.Block.StaticCounts(s.To)
	if s.From > 0 {
		before, _ := s.Block.StaticCounts(s.From)
		c.Sub(before)
	}
	l.done += c.Instructions
	if !s.Counted {
		return
	}
	l.now = max(l.now, at)
	if s.Windows != l.windows {
		l.window(s.Windows)
	}
	n := s.Depth()
	if n == len(l.stack) && n > 0 && l.stack[n-1] == s.Node(n-1) {
		return
	}
	// A node is a whole stack: where two are equal, what is below is too.
	k := min(n, len(l.stack))
	for k > 0 && l.stack[k-1] != s.Node(k-1) {
		k--
	}
	for range l.stack[k:] {
		l.pf.event(l.now, l.track, pfEnd, "")
	}
	l.stack = l.stack[:k]
	for ; k < n; k++ {
		node := s.Node(k)
		l.pf.event(l.now, l.track, pfBegin, s.Function(node).Name)
		l.stack = append(l.stack, node)
	}
}

// window writes which windows open and close.
func (l *pfLine) window(now uint64) {
	for _, d := range l.proc.WindowDefs() {
		if d.Index >= 64 || (now^l.windows)>>d.Index&1 == 0 {
			continue
		}
		track := l.track | uint64(d.Index+1)
		if !l.windowsOf[d.Index] {
			l.windowsOf[d.Index] = true
			desc := appendNumber(nil, pfTrackUUID, track)
			desc = appendBytes(desc, pfTrackName, "window "+d.Name)
			desc = appendNumber(desc, pfTrackParent, l.track)
			l.pf.write(appendBytes(nil, pfTrackDescriptor, string(desc)))
		}
		kind := uint64(pfEnd)
		if now>>d.Index&1 != 0 {
			kind = pfBegin
		}
		l.pf.event(l.now, track, kind, d.Name)
	}
	l.windows = now
}

// flush is a calls.Flushed: what was running when a burst ended is not known to go on.
func (l *pfLine) flush([]int32, float64) {
	for range l.stack {
		l.pf.event(l.now, l.track, pfEnd, "")
	}
	l.stack = l.stack[:0]
}

// end ends what is still open.
func (l *pfLine) end() {
	if !l.stamped {
		l.now = max(l.now, l.done)
	}
	for range l.stack {
		l.pf.event(l.now, l.track, pfEnd, "")
	}
	l.stack = nil
	l.window(0)
}
