package session

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/live"
	"alleria/cab"
	"alleria/emit"
	"alleria/engine"
	"alleria/internal/layout"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// beside is the analyses of one program image that are made while it runs. Each of its rings has one consumer
// at a time, in order (cab.Ring.Alone), and a besideThread belongs to who consumes its ring.
//
// Its methods are for Record's goroutine. A nil one does nothing.
type beside struct {
	writer  *emit.ProcessWriter
	process *live.Process
	threads map[thread][]*besideThread // one for each place at which the ring is read
	readers int                        // how many such places there are
	sampled live.Sampling              // of all threads that have ended
	bursts  bool                       // only these are recorded
	kept    bool                       // what is in rings is not consumed
	written bool                       // the records are written as well, by a reader of their own
	lines   bool                       // threads leave out what accesses no line of a sample
}

// besideThread is what one of the readers of an application thread's ring is known by to the sink.
type besideThread struct {
	*live.Thread
	of    *beside
	words uint64 // consumed
	ring  *cab.Ring
}

// besideSink is what processing threads do where analyses are made: all that there is to know comes with the ring.
type besideSink struct {
	number int
	fault  func(thread int, chunk uint64) // as a sink's
}

// touchSink takes what analyses need no further than into its processor's cache (StageQueue), or from where it is left (StageProduce).
type touchSink struct {
	besideSink
	last atomic.Uint64 // so that what is read is used
}

// Consume is cab.Sink's.
func (s *touchSink) Consume(_ any, c cab.Chunk) error {
	sum := uint64(0)
	for i := 0; i < len(c.Words); i += cacheLine / 8 {
		sum += c.Words[i]
	}
	s.last.Store(sum)
	return nil
}

// cacheLine is how many bytes come to a processor at a time.
const cacheLine = 64

// newBeside begins with an image.
func (ps *process) newBeside(w *emit.ProcessWriter, h abp.Header) *beside {
	var kinds []string
	for _, s := range ps.opts.Analyses {
		if !slices.Contains(kinds, s.Kind) {
			kinds = append(kinds, s.Kind)
		}
	}
	w.SetAnalyses(kinds, ps.opts.KeepRecords)
	specs := ps.opts.Analyses
	if slices.Contains(ps.opts.Engine, noCallLoop) {
		specs = live.OneByOne(specs)
	}
	b := &beside{writer: w, process: live.NewProcess(abp.Growing(h, w.Tables()), specs), threads: map[thread][]*besideThread{},
		bursts: ps.samples(), kept: ps.opts.Stage == StageProduce, written: ps.opts.KeepRecords, lines: ps.opts.sampledLines(ps.samples()) > 0}
	b.readers = min(ps.readers(), b.process.Members())
	return b
}

// readers is at how many places a ring is read, at most. By itself it is one for each analysis as long as there is a processor for each, besides the
// application's: where one thread has to do it all, going over the records once for all of them is cheaper.
func (r *run) readers() int {
	if _, most := r.threads(); most == 1 || r.opts.Stage != StageAll {
		return 1
	}
	return cmp.Or(r.opts.Readers, max(int(sys.Processors())-1, 1))
}

// tags are what the readers of a ring are known by to the pool.
func (im *image) tags(t thread, r *cab.Ring) []any {
	if im.beside == nil {
		return []any{&fed{t, im.writer}}
	}
	return im.beside.started(t, r)
}

// started begins with a thread and returns what the readers of its ring are known by.
func (b *beside) started(t thread, r *cab.Ring) (tags []any) {
	readers := b.readers
	if b.written {
		r.Split(readers + 1)
	} else {
		readers = r.Split(readers)
	}
	r.Alone(readers)
	if b.kept {
		r.Keep()
	}
	for _, th := range b.process.Threads(uint32(t.Num()), readers) {
		bt := &besideThread{Thread: th, of: b, ring: r}
		b.threads[t] = append(b.threads[t], bt)
		tags = append(tags, bt)
	}
	if b.written {
		tags = append(tags, &fed{t, b.writer})
	}
	return tags
}

// ended adds up what was found of a thread, whose ring has been consumed. s says what was recorded of it, nil: everything.
func (b *beside) ended(t thread, s *abp.Sampling, r *cab.Ring) {
	if b == nil || b.threads[t] == nil {
		return
	}
	all := b.threads[t]
	bt := all[0] // they have got the same words
	delete(b.threads, t)
	scale := 1.0
	if s != nil {
		_, lost := r.Lost()
		if there := float64(s.Recorded) * float64(bt.words) / max(float64(bt.words+lost), 1); there > 0 {
			scale = float64(s.Recorded+s.Passed) / there
		}
		b.sampled.Recorded += s.Recorded
		b.sampled.Passed += s.Passed
		b.sampled.Bursts += s.Bursts
		b.sampled.ByTime += s.ByTime
		b.sampled.Lost += lost
	}
	if !b.written { // else the streams have counted
		b.writer.AddCounts(bt.Counts())
	}
	for _, bt := range all {
		b.process.End(bt.Thread, scale)
	}
}

// Consume is cab.Sink's.
func (s besideSink) Consume(tag any, c cab.Chunk) error {
	t, ok := tag.(*besideThread)
	if !ok {
		return fmt.Errorf("ring of %T", tag)
	}
	if s.fault != nil {
		s.fault(s.number, c.Number)
	}
	t.words += uint64(len(c.Words))
	words := c.Words
	if !t.of.written { // else there are no bounds
		words = t.of.writer.Bounded(words)
	}
	err := t.Consume(words, c.Opened)
	if t.of.lines {
		t.ring.Follow(t.Follows())
	}
	return err
}

// Lose is cab.Loser's: the processing thread has panicked outside of any analysis. None of the process's has seen these words, and none would be right.
func (besideSink) Lose(tag any, _ *cab.Chunk, why error) error {
	if t, ok := tag.(*besideThread); ok {
		t.of.process.Fail(fmt.Errorf("records were lost: %s", strings.TrimPrefix(plain(why), cab.ErrBroken.Error()+": ")))
	}
	return nil
}

// Leave is cab.Sink's.
func (besideSink) Leave(any) error { return nil }

// Flush is cab.Sink's.
func (besideSink) Flush() error { return nil }

// bothSink is what processing threads do where records are analysed and written: what a reader of a ring is known by says which.
type bothSink struct {
	*sink
	beside besideSink
}

// Consume is cab.Sink's.
func (s bothSink) Consume(tag any, c cab.Chunk) error {
	if _, ok := tag.(*besideThread); ok {
		return s.beside.Consume(tag, c)
	}
	return s.sink.Consume(tag, c)
}

// Lose is cab.Loser's.
func (s bothSink) Lose(tag any, c *cab.Chunk, why error) error {
	if _, ok := tag.(*besideThread); ok {
		return s.beside.Lose(tag, c, why) // what it was about to write it still writes
	}
	return s.sink.Lose(tag, c, why)
}

// Leave is cab.Sink's.
func (s bothSink) Leave(tag any) error {
	if _, ok := tag.(*besideThread); ok {
		return nil
	}
	return s.sink.Leave(tag)
}

// analysed is what was found of a program image.
type analysed struct {
	name     string // of the process
	command  []string
	outcomes []live.Outcome
	sampling *live.Sampling // nil: everything was looked at
}

// closeBeside ends the analyses of an image, whose rings have been consumed, and writes what they have found.
func (ps *process) closeBeside(im *image) {
	b := im.beside
	if b == nil {
		return
	}
	im.beside = nil
	for t := range b.threads {
		b.ended(t, nil, nil)
	}
	if f := ps.proc.cut.Load(); f != nil && b.written { // behind it rings were drained and nothing was looked at
		b.process.Fail(fmt.Errorf("not all records were analysed, since writing failed: %s", plain(*f)))
	}
	a := analysed{name: abp.ProgramName(uint32(ps.number), uint32(ps.parts)), command: ps.argv, outcomes: b.process.Finish()}
	if b.bursts {
		a.sampling = &b.sampled
	}
	for i := range a.outcomes {
		o := &a.outcomes[i]
		err := o.Err
		if err != nil {
			err = fmt.Errorf("analysis %s of process %s ended: %w", o.Spec.Name, a.name, err)
		} else if dir := b.writer.Dir(); dir != "" {
			err = live.Write(dir, o, a.sampling)
		}
		if err != nil {
			ps.note(err.Error())
			ps.failed.CompareAndSwap(nil, &err)
		}
	}
	ps.analysed = append(ps.analysed, a)
}

// besideTop is how many rows of a table the end of a run shows: commands show the others.
const besideTop = 10

// besideShown is how many program images the end of a run tells of in full.
const besideShown = 4

// reportAnalyses writes what was found.
func (r *run) reportAnalyses(w io.Writer) {
	for i, a := range r.analysed {
		if i == besideShown {
			fmt.Fprintf(w, "alleria: … and of %s\n", counted(len(r.analysed)-i, "more program", "more programs"))
			break
		}
		for _, s := range r.opts.Analyses {
			for k := range a.outcomes {
				o := &a.outcomes[k]
				if o.Spec.Kind != s.Kind || o.Result == nil {
					continue
				}
				fmt.Fprintf(w, "alleria: %s of process %s (%v of processing):\n", s.Name, a.name, o.Took.Round(time.Millisecond))
				if a.sampling != nil {
					writeSampling(w, a.sampling)
				}
				if err := live.WriteSummary(w, s.Name, o.Result, besideTop); err != nil {
					return // what nobody reads
				}
			}
		}
	}
}

// writeSampling says how far counts may be off.
func writeSampling(w io.Writer, s *live.Sampling) {
	what := "of " + analysis.FormatExact(s.Recorded+s.Passed) + " instructions"
	as := "counts are estimates"
	if s.ByTime > 0 {
		what, as = "instructions", fmt.Sprintf("counts are shares of %.3f s of processor time, a nanosecond an instruction", float64(s.ByTime)/1e9)
	}
	fmt.Fprintf(w, "  sampled: %s %s in %s bursts; %s: a share of 50 %% is ± %.2g %%, one of 5 %% ± %.2g %% at most (95 %% confidence)\n",
		analysis.FormatExact(s.Recorded), what, analysis.FormatExact(s.Bursts), as, 100*s.Error(0.5), 100*s.Error(0.05))
}

// Where a sample of reuse distances is all that is made beside the program, its threads leave out executions that access no line of the sample (translate.OfLine), and count them: the
// rate at which lines are followed is told to each of them, through its ring, as it falls. Who consumes the ring looks at each line again.

// sampledLines is the size of the lines, as a power of two, that threads look at so; 0: they leave nothing out. Bursts and bounds go by what has come through the ring, and
// records that are kept are to be all.
func (o *Options) sampledLines(bursts bool) int {
	line := live.SampledLines(o.Analyses)
	if bursts || o.KeepRecords || o.Sites != nil || o.MaxSize > 0 || o.MaxInstructions > 0 || o.Buffering != cab.CAB || line < cacheLine {
		return 0
	}
	return bits.TrailingZeros64(line)
}

// leaveOut says of the instructions of a block that their executions need not be recorded. Of an instruction of which only some executions are kept readers count all.
func (ps *process) leaveOut(want []engine.Want) {
	shift := ps.opts.sampledLines(ps.samples())
	if shift == 0 {
		return
	}
	for i := range want {
		if want[i].Sample > 1 {
			return
		}
	}
	for i := range want {
		if want[i].Flags != 0 {
			want[i].If = [][]engine.Condition{{{Of: engine.OfLine, Least: uint64(shift)}}}
		}
	}
}

// leftOut adds what a thread has left out, which has ended.
func (b *beside) leftOut(t thread, all *records.Blocks) {
	slot := t.SlotMemory()
	if len(slot) < layout.RingOff { // in tests
		return
	}
	for id := uint32(1); id <= min(all.Last(), layout.MaxLeft); id++ {
		if n := binary.LittleEndian.Uint64(slot[layout.LeftAt(id):]); n > 0 {
			for _, bt := range b.threads[t] {
				bt.LeftOut(id, n)
			}
		}
	}
}
