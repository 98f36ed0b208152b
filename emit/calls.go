package emit

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"alleria/abp"
	"alleria/abp/calls"
	"alleria/internal/records"

	"github.com/klauspost/compress/zstd"
)

// callBlockBytes is how many bytes of records a block of calls gets before it is written.
const callBlockBytes = 256 << 10

// callFile is a process's file of captured calls. It is made with the first function that is intercepted.
type callFile struct {
	mu      sync.Mutex
	out     *output                     // guarded by mu
	not     map[uint32]*calls.Signature // functions of which not all threads' calls are meant; guarded by mu
	any     bool                        // there is a file, or was to be one; guarded by mu
	types   []typeRows                  // the sections of types that are in it, while it is open; guarded by mu
	records uint64                      // written; guarded by mu
}

// callPacker compresses blocks of calls. It belongs to one goroutine at a time.
type callPacker struct {
	enc *zstd.Encoder
	buf []byte
}

// packer takes a packer, or makes one, which costs megabytes. It is given back by packers.Put.
func (r *Run) packer() (*callPacker, error) {
	if p, ok := r.packers.Get().(*callPacker); ok {
		return p, nil
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithSingleSegment(true))
	if err != nil {
		return nil, fmt.Errorf("captured calls: %w", err)
	}
	return &callPacker{enc: enc}, nil
}

// InterceptTypes writes the types of functions that are going to be intercepted: those of the table from number first on,
// and the functions' signatures. It comes before the first mark of any of them.
func (p *ProcessWriter) InterceptTypes(t *calls.Table, first calls.TypeID, sigs []*calls.Signature) error {
	c := &p.calls
	c.mu.Lock()
	defer c.mu.Unlock()
	c.any = true
	for _, s := range sigs {
		if len(s.Threads) > 0 {
			if c.not == nil {
				c.not = make(map[uint32]*calls.Signature)
			}
			c.not[s.Number] = s
		}
	}
	if p.run.opts.Discard {
		return nil
	}
	if err := p.openCalls(); err != nil {
		return err
	}
	var rows []byte
	for id := int(first); id <= len(t.Types); id++ {
		rows = abp.AppendType(rows, calls.TypeID(id), &t.Types[id-1])
	}
	for _, s := range sigs {
		rows = abp.AppendSignature(rows, s)
	}
	k, err := p.run.packer()
	if err != nil {
		return err
	}
	defer p.run.packers.Put(k)
	r := typeRows{rows: rows}
	if packed := k.enc.EncodeAll(rows, nil); len(packed) < len(rows) {
		r = typeRows{flags: abp.SectionZstd, rows: packed}
	}
	c.types = append(c.types, r)
	return c.out.section(abp.SectionTypes, r.flags, r.rows)
}

// typeRows is a section of types.
type typeRows struct {
	flags abp.SectionFlags
	rows  []byte
}

// TypesOf writes the types and signatures that another process's file has so far, which a forked process shares with its creator. False: that file is closed, or
// there is none, or they cannot be written.
func (p *ProcessWriter) TypesOf(from *ProcessWriter) bool {
	if from == nil {
		return false
	}
	of, c := &from.calls, &p.calls
	of.mu.Lock()
	types, not, any := of.types, maps.Clone(of.not), of.any
	isOpen := of.out != nil
	of.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.run.opts.Discard {
		c.any, c.not = any, not
		return any
	}
	if !isOpen || p.openCalls() != nil {
		return false
	}
	c.any, c.not, c.types = true, not, types[:len(types):len(types)]
	for _, r := range types {
		if c.out.section(abp.SectionTypes, r.flags, r.rows) != nil {
			return false
		}
	}
	return true
}

// openCalls makes the file. calls.mu is held.
func (p *ProcessWriter) openCalls() error {
	c := &p.calls
	if c.out != nil {
		return nil
	}
	h := p.header
	h.Type = abp.TypeInterceptors
	var err error
	c.out, err = create(filepath.Join(p.Dir(), abp.InterceptorsFile), &h, p.run)
	return err
}

// meant tells whether a thread's calls of a function are meant.
func (c *callFile) meant(fn, thread uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.not[fn]
	return s == nil || slices.Contains(s.Threads, thread) != s.Except
}

// openCalls is a block of a thread's calls that a stream is filling.
type openCalls struct {
	block calls.Block
	enc   calls.Encoder
	whole uint64 // entries and returns in it, each once however many marks it takes
	// fewMeant tells of the functions of small numbers, and meant of others, whether the thread's calls of them are meant, as far
	// as they were asked about.
	fewMeant [1024]wanted
	meant    map[uint32]wanted
}

// wanted is whether something is wanted.
type wanted uint8

const (
	unasked wanted = iota
	isWanted
	unwanted
)

// taking is what a stream's encoder hands the calls of a chunk to.
type taking struct {
	thread *ThreadState
	from   Place
	open   *openCalls // nil: no call of the chunk was met
	err    error      // that ended it
}

// takeCalls takes the calls that lie one behind the other among a thread's words, and returns where that ends. The encoder calls it: their words are
// looked at once, while they are in the cache, and it need not be entered between any two.
func (s *Stream) takeCalls(words []uint64, at int) int {
	t := &s.taking
	if t.open == nil {
		t.open = s.callsOf(t.thread.Number)
	}
	o := t.open
	for at < len(words) {
		kind, n := records.SplitMark(words[at])
		if kind != records.MarkCall || n >= uint64(len(words)-at) || t.err != nil {
			return at
		}
		w := words[at+1 : at+1+int(n)]
		if len(w) > 0 && !s.meant(o, calls.FuncOf(w[0])) {
			at += 1 + int(n)
			continue
		}
		if o.enc.Count == 0 {
			o.block.Chunk, o.block.Word = t.from.Chunk, t.from.Word+uint64(at)
		}
		if !o.enc.Add(w) {
			t.err = fmt.Errorf("thread %d: mark of a call at word %d: %w", t.thread.Number, at, calls.ErrCorrupt)
			return at
		}
		if at += 1 + int(n); !calls.GoesOn(w[0]) {
			o.whole++
		}
		if o.enc.Size() >= callBlockBytes {
			t.err = s.p.writeCalls(o, t.thread)
		}
	}
	return at
}

// meant tells whether a thread's calls of a function are meant. Whoever writes the function's signature, which says it, comes first.
func (s *Stream) meant(o *openCalls, fn uint32) bool {
	few := fn < uint32(len(o.fewMeant))
	var w wanted
	if few {
		w = o.fewMeant[fn]
	} else {
		w = o.meant[fn]
	}
	if w == unasked {
		w = unwanted
		if s.p.calls.meant(fn, o.block.Thread) {
			w = isWanted
		}
		if few {
			o.fewMeant[fn] = w
		} else {
			o.meant[fn] = w
		}
	}
	return w == isWanted
}

// callsOf is the block of a thread.
func (s *Stream) callsOf(thread uint32) *openCalls {
	for _, o := range s.calls {
		if o.block.Thread == thread {
			return o
		}
	}
	o := &openCalls{block: calls.Block{Thread: thread}, meant: make(map[uint32]wanted)}
	s.calls = append(s.calls, o)
	return o
}

// closeCalls writes the block of a thread, or of all with number 0.
func (s *Stream) closeCalls(thread uint32) error {
	for _, o := range s.calls {
		if thread != 0 && o.block.Thread != thread {
			continue
		}
		if err := s.p.writeCalls(o, s.p.thread(o.block.Thread)); err != nil {
			return err
		}
	}
	if thread == 0 && len(s.calls) > maxOpen {
		s.calls = s.calls[:0] // of threads that may be gone
	}
	return nil
}

// writeCalls writes a block and begins the next.
func (p *ProcessWriter) writeCalls(o *openCalls, t *ThreadState) error {
	if o.enc.Count == 0 {
		return nil
	}
	whole := o.whole
	o.whole = 0
	defer o.enc.Reset()
	t.mu.Lock()
	o.block.OSID = t.osid
	t.mu.Unlock()
	c := &p.calls
	if p.run.opts.Discard {
		return nil
	}
	b := &o.block
	payload := o.enc.Payload()
	b.First, b.Last, b.Records, b.Raw, b.Zstd, b.Encoding = o.enc.First, o.enc.Last, o.enc.Count, uint32(len(payload)), p.run.opts.Level >= 0, calls.Streams
	// Packing is most of the work: under the file's lock processing threads would take turns at it.
	k, err := p.run.packer()
	if err != nil {
		return err
	}
	defer p.run.packers.Put(k)
	k.buf = b.Append(k.buf[:0])
	if b.Zstd {
		k.buf = k.enc.EncodeAll(payload, k.buf)
	} else {
		k.buf = append(k.buf, payload...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out == nil {
		return nil
	}
	c.records += whole
	return c.out.section(abp.SectionInterceptors, 0, k.buf)
}

// finishCalls closes the file.
func (p *ProcessWriter) finishCalls(end *abp.EndInfo) error {
	c := &p.calls
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out == nil {
		return nil
	}
	e := *end
	e.Counts = abp.Counts{}
	out := c.out
	c.out, c.types = nil, nil
	return out.finish(&e)
}

// CallRecords is how many entries and returns of intercepted functions were written so far, in all processes.
func (r *Run) CallRecords() (n uint64) {
	r.mu.Lock()
	for i := range r.done {
		n += r.done[i].calls
	}
	procs := slices.Clone(r.proc)
	r.mu.Unlock()
	for _, p := range procs {
		n += p.callRecords()
	}
	return n
}

// callRecords is the same of one process.
func (p *ProcessWriter) callRecords() uint64 {
	p.calls.mu.Lock()
	defer p.calls.mu.Unlock()
	return p.calls.records
}
