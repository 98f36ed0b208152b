package emit

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"alleria/abp"
	"alleria/abp/frame"
	"alleria/internal/records"
)

const (
	// A frame is closed when it has so many words. Larger ones compress hardly
	// better (half a per cent) and are buffered whole, smaller ones do worse: at half of
	// it 4 % on cc1 and 7 on perl.
	frameWords = 1 << 20
	// A stream keeps so many frames open at most. One more thread than that
	// closes the frame that has waited longest: each has a model of its own.
	maxOpen = 16
)

// Stream is what one processing thread writes: a sub-profile.
//
// A single processing thread calls Consume, ConsumeAt, CloseThread and Flush. Another
// one's goroutine may write one of this stream's frames, when the frame that it waited for
// is that one's: out, counts and failed are for both.
type Stream struct {
	p       *ProcessWriter
	number  uint32
	mu      sync.Mutex
	out     *output // nil until the first frame; guarded by mu
	open    []*openFrame
	closing *openFrame // that close1 works at
	free    []*frame.Encoder
	clock   uint64 // counts chunks, to find the frame that has waited longest
	body    []byte
	missing []uint32 // room for define; guarded by mu
	conv    converter
	counts  abp.Counts // guarded by mu
	frames  uint64     // that are in the file; guarded by mu
	damaged bool       // the disk has lost some of it; guarded by mu
	calls   []*openCalls
	taking  taking
	failed  atomic.Bool // an error ended the output
	err     error       // that error, until it has been returned; guarded by mu
}

// OutputError is that a stream's file, or the main profile that belongs to it, could not be written. Frames of that stream are lost from then
// on (abp.Lost says which); others go on.
type OutputError struct{ Err error }

func (e *OutputError) Error() string { return e.Err.Error() }
func (e *OutputError) Unwrap() error { return e.Err }

// openFrame is a frame that an application thread's chunks go into.
type openFrame struct {
	thread *ThreadState
	enc    *frame.Encoder
	header abp.FrameHeader
	// What does not follow from how often blocks were executed: to be added, and
	// to be taken away.
	plus, minus abp.Counts
	sums        frameSums
	state       change   // what its marks change
	ids         []uint32 // blocks that only marks refer to
	transitions []transition
	notes       []note
	from, next  Place  // where it starts, and what would continue it
	used        uint64 // Stream.clock when it was last appended to
	chunk       begun
	written     bool // or counted as lost
}

// NewStream adds a stream. Its file is made with its first frame.
func (p *ProcessWriter) NewStream() *Stream {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.newStream(uint32(len(p.outlets) + 1))
}

// StreamOf adds the stream of a processing thread, counted from 0, with its number plus one: one thread writes to the files of one number in the
// directories of all processes, and to one of several disks. A thread has its streams for itself, so that
// nothing is locked where it writes, and opens one with the first words that it gets of a process: most threads never get any of most processes.
func (p *ProcessWriter) StreamOf(thread int) *Stream {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.newStream(uint32(thread) + 1)
}

// newStream adds a stream. p.mu is held.
func (p *ProcessWriter) newStream(number uint32) *Stream {
	s := &Stream{p: p, number: number}
	p.outlets = append(p.outlets, s)
	return s
}

// Consume takes the words of the next chunk of an application thread. Calls for
// one thread come in the order of its chunks, one at a time, to whatever stream.
// It is for callers with a single stream and no parts of chunks: tests.
func (s *Stream) Consume(thread int, words []uint64, opened, completed uint64) error {
	t := s.p.thread(uint32(thread))
	t.mu.Lock()
	n := t.fed
	t.fed++
	t.mu.Unlock()
	return s.ConsumeAt(thread, Place{Chunk: n}, Place{Chunk: n + 1}, words, opened, completed)
}

// ConsumeAt is Sink's. After an error of the output frames are made for their counts alone.
func (s *Stream) ConsumeAt(thread int, from, to Place, words []uint64, opened, completed uint64) error {
	if s.p.run.limit.over.Load() != nil {
		return nil
	}
	f, outErr := s.frameFor(uint32(thread), from)
	if f == nil {
		return outErr
	}
	return errors.Join(outErr, s.consume(f, from, to, words, opened, completed))
}

// consume appends the words to a frame.
func (s *Stream) consume(f *openFrame, from, to Place, words []uint64, opened, completed uint64) error {
	thread := f.thread.Number
	f.chunk = begun{on: true, words: words, plus: f.plus, minus: f.minus, execs: f.enc.Execs()}
	s.taking = taking{thread: f.thread, from: from}
	err := f.enc.Chunk(words, opened, completed)
	if f.header.Chunks == 0 {
		// What did not fit into the chunk before was stamped before this one was opened.
		f.header.FirstTSC = min(opened, firstStamp(words[:f.enc.Done], f.enc, s.shape, opened))
	}
	f.header.Chunks++
	f.header.LastTSC = max(f.header.LastTSC, completed)
	f.next = to
	s.clock++
	f.used = s.clock
	// Also after an error of the encoder: what was encoded up to there has to be
	// counted.
	if walkErr := f.walk(s.p, words); err == nil {
		err = walkErr
	}
	f.chunk = begun{}
	if err != nil {
		// The ring holds what no engine writes: go on with what was good, and say so.
		return errors.Join(fmt.Errorf("thread %d, chunk %d: %w", thread, from.Chunk, err), s.close1(f))
	}
	if s.taking.err != nil {
		return s.taking.err
	}
	if f.enc.Words >= frameWords {
		return s.close1(f)
	}
	return nil
}

// firstStamp is the time stamp of the first execution in words, without one what it is otherwise.
func firstStamp(words []uint64, enc *frame.Encoder, shape func(id uint32) *frame.Shape, otherwise uint64) uint64 {
	for i := 0; i < len(words); {
		if records.IsMark(words[i]) {
			n := records.MarkLen(words[i:])
			if n == 0 {
				break
			}
			i += n
			continue
		}
		s := shape(enc.Number(words[i]))
		if s != nil && s.TimeWord >= 0 && i+1+int(s.TimeWord) < len(words) {
			return words[i+1+int(s.TimeWord)]
		}
		break
	}
	return otherwise
}

// CloseThread ends the frame of an application thread: the stream will not get
// what comes next, and whoever does must not have to wait.
func (s *Stream) CloseThread(thread int) error {
	err := s.closeCalls(uint32(thread))
	for _, f := range s.open {
		if f.thread.Number == uint32(thread) {
			return errors.Join(err, s.close1(f))
		}
	}
	return err
}

// frameFor returns the open frame that the thread's next chunk continues. An error of the output does not keep it from that.
func (s *Stream) frameFor(thread uint32, from Place) (*openFrame, error) {
	var errs []error
	cut := s.p.thread(thread).cutsAt(from)
	for _, f := range s.open {
		if f.thread.Number != thread {
			continue
		}
		if f.next == from && !cut {
			return f, nil
		}
		// Chunks in between went to another stream.
		errs = append(errs, s.close1(f))
		break
	}
	// The one that has waited longest is the least likely to be continued.
	if len(s.open) >= maxOpen {
		oldest := slices.MinFunc(s.open, func(a, b *openFrame) int { return cmp.Compare(a.used, b.used) })
		errs = append(errs, s.close1(oldest))
	}
	f, err := s.begin(s.p.thread(thread), from)
	return f, errors.Join(append(errs, err)...)
}

// shape is what the stream's encoders look blocks up with.
func (s *Stream) shape(id uint32) *frame.Shape { return s.p.blocks.shape(&s.conv, id) }

// begin opens a frame.
func (s *Stream) begin(t *ThreadState, from Place) (*openFrame, error) {
	f := &openFrame{thread: t, from: from}
	// Encoders are used again: what they know of blocks is worth keeping, their
	// tables are megabytes.
	if n := len(s.free); n > 0 {
		f.enc = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		enc, err := s.newEncoder()
		if err != nil {
			return nil, fmt.Errorf("stream %d: %w", s.number, err)
		}
		f.enc = enc
	}
	f.enc.Begin()
	f.header = abp.FrameHeader{Thread: t.Number}
	s.open = append(s.open, f)
	return f, nil
}

// Flush writes all open frames, so that what was consumed is safe.
// Frames that wait for others' stay in memory until those have been written.
func (s *Stream) Flush() error {
	var errs []error
	errs = append(errs, s.closeCalls(0))
	for len(s.open) > 0 {
		errs = append(errs, s.close1(s.open[0]))
	}
	return errors.Join(errs...)
}

// newEncoder makes an encoder, which hands the calls that it meets to the stream.
func (s *Stream) newEncoder() (*frame.Encoder, error) {
	o := &s.p.run.opts
	version2 := o.NoVector && o.Level <= 0
	newOne := func() (*frame.Encoder, error) { return frame.NewEncoder(s.shape, o.Level) }
	if version2 {
		newOne = func() (*frame.Encoder, error) { return frame.NewEncoderOf(frame.Version2, s.shape, o.Level) }
	}
	enc, err := newOne()
	if err != nil {
		return nil, err
	}
	enc.Calls = s.takeCalls
	if !version2 && s.p.run.Sizes() {
		enc.Sized()
	}
	return enc, nil
}

// ready is a frame that is encoded and has to be written in its turn.
type ready struct {
	stream *Stream
	header abp.FrameHeader
	body   []byte
	sums   *abp.FrameSums
	ids    []uint32
	weight uint64 // instructions
	state  change
	// from and next are where it starts and what continues it.
	from, next Place
	// transitions of the open windows, if code made any.
	transitions []transition
	notes       []note
	lost        bool // it is only counted
	frame       *openFrame
}

// close1 ends a frame and writes it, or leaves that to whoever writes the one
// before it.
func (s *Stream) close1(f *openFrame) error {
	s.open = slices.DeleteFunc(s.open, func(o *openFrame) bool { return o == f })
	s.closing = f
	f.sum(s.p)
	s.body = f.enc.Finish(slices.Grow(s.body[:0], abp.FrameRoom)[:abp.FrameRoom])
	ids := f.enc.Touched
	if len(f.ids) > 0 {
		ids = append(f.ids, ids...)
	}
	f.header.Execs += f.enc.Execs()
	f.header.Words, f.header.Encoding = f.enc.Words, f.enc.Version()
	if len(ids) > 0 {
		f.header.MaxBlock = slices.Max(ids)
	}
	// From here on the encoder may serve another frame: what is kept of this one is
	// copied below.
	s.free = append(s.free, f.enc)
	r := &ready{stream: s, frame: f, header: f.header, body: s.body, sums: f.sums.rows(), ids: ids, weight: f.header.Counts.Instructions, state: f.state, from: f.from, next: f.next, transitions: f.transitions, notes: f.notes}
	err := s.inTurn(r, f)
	s.closing = nil
	return err
}

// inTurn writes a frame, or leaves that to whoever writes the one before it.
func (s *Stream) inTurn(r *ready, f *openFrame) error {
	t := f.thread
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.from != t.at {
		r.ids, s.body = slices.Clone(r.ids), s.p.bodies.get() // the encoder will use its own again
		if t.pending == nil {
			t.pending = make(map[Place]*ready)
		}
		t.pending[f.from] = r
		return nil
	}
	var errs []error
	waited := false
	// This frame, and those behind it that were only waiting for it, in whichever
	// streams.
	for r != nil {
		if err := r.commit(t); err != nil {
			errs = append(errs, err)
		}
		if waited {
			s.p.bodies.put(r.body)
		}
		r, waited = t.pending[t.at], true
		delete(t.pending, t.at)
	}
	return errors.Join(append(errs, s.takeError())...)
}

// takeError returns what ended the stream's output, once: whichever stream's processing thread has found it, it is this one's.
func (s *Stream) takeError() error {
	if !s.failed.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.err
	s.err = nil
	if err == nil {
		return nil
	}
	return &OutputError{err}
}

// commit writes a frame whose turn it is. t.mu is held.
func (r *ready) commit(t *ThreadState) error {
	if l := &r.stream.p.run.limit; !r.lost && (l.instructions > 0 || l.size > 0) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if some, err := r.within(l); !some || err != nil {
			t.at = r.next
			return err
		}
	}
	h := &r.header
	h.Seq, h.Ordinal, h.Chunk = t.seq, t.ordinal, r.from.Chunk
	h.Windows, h.FSBase, h.GSBase = t.windows, t.fs, t.gs
	h.FirstTSC = max(h.FirstTSC, t.first) // whatever words claim to be a stamp, frames are in order
	t.first = h.FirstTSC
	r.events(t)
	if err := r.writeNotes(t); err != nil {
		return err
	}
	t.seq++
	t.ordinal += r.weight
	h.Chunks = min(h.Chunks, r.from.chunks(r.next))
	t.apply(&r.state)
	h.OSID = t.osid // known from the thread's first mark, which may lie in this frame
	t.at = r.next
	s := r.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.lost || s.failed.Load() {
		s.p.lose(r)
		return nil
	}
	written, err := s.write(r)
	if !written {
		s.err = err
		s.failed.Store(true)
		s.p.lose(r)
		s.loseWritten(err)
		return nil
	}
	// After the write: what a full disk has kept out is not counted.
	r.frame.written = true
	t.add(h.Counts)
	s.counts.Add(h.Counts, 1)
	s.frames++
	return nil
}

// write writes a frame and tells whether it has: not, without an error, if an
// earlier one ended the output, which was reported then. s.mu is held.
func (s *Stream) write(r *ready) (bool, error) {
	// Definitions first: a reader that finds a frame has its blocks, also where the
	// recording was cut off right behind it.
	ok, err := s.p.define(r.ids, &s.missing)
	if !ok || err != nil {
		return false, err
	}
	if s.out == nil {
		if s.out, err = s.create(); err != nil {
			return false, err
		}
	}
	err = s.out.frame(&r.header, r.body, r.sums)
	return err == nil && !s.out.failed, err
}

// create makes the stream's file and tells the main profile where it is.
func (s *Stream) create() (*output, error) {
	// Round-robin over the disks, fixed for the life of the stream.
	opts := &s.p.run.opts
	dir := opts.Dirs[int(s.number-1)%len(opts.Dirs)]
	name := strconv.Itoa(int(s.number)) + ".abp"
	path := filepath.Join(dir, s.p.dirName(), name)
	// The process's header again: a sub-profile by itself says whose it is.
	h := s.p.header
	h.Type, h.Stream = abp.TypeSub, s.number
	row := abp.SubProfile{Number: s.number, Path: name}
	// Beside the main profile a bare name will do, so that the directory can be
	// moved.
	if dir != opts.Dirs[0] {
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("stream %d: %w", s.number, err)
		}
		row.Path = abs
	}
	out, err := create(path, &h, s.p.run)
	if err != nil {
		return nil, err
	}
	s.p.add(abp.SectionSubProfiles, &row)
	return out, nil
}

// close writes what is open and ends the file.
// end says when; the counts are the stream's own.
func (s *Stream) close(end *abp.EndInfo) error {
	err := s.Flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil {
		return err
	}
	if s.failed.Load() { // frames are missing, though the file itself may be whole
		s.out.failed = true
	}
	e := *end
	e.Counts = s.counts
	late := s.out.finish(&e)
	s.loseWritten(late)
	s.setAside()
	return errors.Join(err, late)
}
