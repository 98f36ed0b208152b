package abp

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"alleria/abp/calls"
	"alleria/abp/internal/wire"
)

// InterceptorsFile is the name of the file with a process's captured calls, beside its main profile.
const InterceptorsFile = "interceptors.abp"

// Rows of TYPES.
const (
	rowType      = 1
	rowSignature = 2
)

// AppendType appends a type's row to a TYPES section's payload.
func AppendType(dst []byte, id calls.TypeID, t *calls.Type) []byte {
	return appendRow(dst, rowType, func(e *wire.Encoder) { t.Encode(e, id) })
}

// AppendSignature appends the row of an intercepted function.
func AppendSignature(dst []byte, s *calls.Signature) []byte {
	return appendRow(dst, rowSignature, s.Encode)
}

// Calls is the captured calls of a process.
type Calls struct {
	Table      *calls.Table
	Signatures map[uint32]*calls.Signature // by number

	file   *File
	blocks []callBlock // by thread, in order
	read   int         // sections that were looked at
}

// callBlock is a block and the section that it is in.
type callBlock struct {
	calls.Block
	section int
}

// Calls opens the calls that were captured of the process; nil if it has no such file.
// It is to be closed.
func (p *Process) Calls() (*Calls, error) {
	return OpenCalls(filepath.Join(filepath.Dir(p.main.path), InterceptorsFile))
}

// OpenCalls opens a file of captured calls; nil if there is none. One that is still being written, or was cut
// off, has what there is so far.
func OpenCalls(path string) (*Calls, error) {
	f, err := OpenFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := &Calls{Table: &calls.Table{}, Signatures: make(map[uint32]*calls.Signature), file: f}
	if err := c.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("open profile %s: %w", path, err), f.Close())
	}
	return c, nil
}

// Close closes the file.
func (c *Calls) Close() error { return c.file.Close() }

// File is the file that the calls are in.
func (c *Calls) File() *File { return c.file }

// load reads types, signatures and the headers of blocks.
func (c *Calls) load() error {
	for ; c.read < len(c.file.sections); c.read++ {
		s := &c.file.sections[c.read]
		var err error
		switch s.Type {
		case SectionTypes:
			err = c.loadTypes(c.read)
		case SectionInterceptors:
			raw := make([]byte, calls.HeaderSize)
			if s.Length < calls.HeaderSize {
				return fmt.Errorf("%s section at offset %d: %w", s.Type, s.Offset, ErrCorrupt)
			}
			if err = c.file.readAt(raw, s.Payload()); err == nil {
				b := callBlock{section: c.read}
				err = b.Decode(raw)
				c.blocks = append(c.blocks, b)
			}
		}
		if err != nil {
			return fmt.Errorf("%s section at offset %d: %w", s.Type, s.Offset, err)
		}
	}
	if err := c.Table.Check(); err != nil {
		return err
	}
	slices.SortStableFunc(c.blocks, func(a, b callBlock) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Chunk, b.Chunk), cmp.Compare(a.Word, b.Word))
	})
	return nil
}

// maxTypes bounds the numbers of types, so that a damaged row cannot make the table arbitrarily large.
const maxTypes = 1 << 22

// loadTypes reads a TYPES section.
func (c *Calls) loadTypes(section int) error {
	payload, err := c.file.ReadSection(section, nil)
	if err != nil {
		return err
	}
	var bad error
	err = eachRow(payload, func(kind uint16, d *wire.Decoder) {
		switch kind {
		case rowType:
			var t calls.Type
			id := t.Decode(d)
			if id == 0 || id > maxTypes {
				bad = fmt.Errorf("type %d: %w", id, ErrCorrupt)
				return
			}
			if n := int(id) - len(c.Table.Types); n > 0 {
				c.Table.Types = append(c.Table.Types, make([]calls.Type, n)...)
			}
			c.Table.Types[id-1] = t
		case rowSignature:
			s := new(calls.Signature)
			s.Decode(d)
			c.Signatures[s.Number] = s
		}
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return bad
}

// Threads lists the threads that have calls, with their ids in the kernel.
func (c *Calls) Threads() (numbers, ids []uint32) {
	for i := range c.blocks {
		if n := len(numbers); n == 0 || numbers[n-1] != c.blocks[i].Thread {
			numbers, ids = append(numbers, c.blocks[i].Thread), append(ids, c.blocks[i].OSID)
		}
	}
	return numbers, ids
}

// Span returns the least and the greatest time stamp.
func (c *Calls) Span() (first, last uint64) {
	for i := range c.blocks {
		if first == 0 || c.blocks[i].First < first {
			first = c.blocks[i].First
		}
		last = max(last, c.blocks[i].Last)
	}
	return first, last
}

// Records is how many entries and returns there are, with the parts of those that took several marks.
func (c *Calls) Records() (n uint64) {
	for i := range c.blocks {
		n += uint64(c.blocks[i].Records)
	}
	return n
}

// CallHandler says what Each does.
type CallHandler struct {
	// Entered and Ended are told of each call, in the order of time over all threads; either may be nil. A call is
	// good until the function returns.
	Entered, Ended func(*calls.Call) error
	Thread         func(number uint32) bool // which threads, by where calls were entered; nil: all
}

// onGoroutines tells whether calls may return in another thread than they are entered in.
func (c *Calls) onGoroutines() bool {
	for _, s := range c.Signatures {
		if s.Goroutine {
			return true
		}
	}
	return false
}

// ofThreads is a handler that is told of all threads, and passes on what is of those that are asked about.
func (h CallHandler) ofThreads() CallHandler {
	only := func(f func(*calls.Call) error) func(*calls.Call) error {
		if f == nil {
			return nil
		}
		return func(call *calls.Call) error {
			if !h.Thread(call.Thread) {
				return nil
			}
			return f(call)
		}
	}
	return CallHandler{Entered: only(h.Entered), Ended: only(h.Ended)}
}

// Each goes through all calls in the order of time, in memory of one block a thread.
func (c *Calls) Each(h CallHandler) error {
	if h.Thread != nil && c.onGoroutines() {
		h = h.ofThreads()
	}
	var open []*callCursor
	var goroutines calls.Goroutines
	for from := 0; from < len(c.blocks); {
		to := from
		for to < len(c.blocks) && c.blocks[to].Thread == c.blocks[from].Thread {
			to++
		}
		number := c.blocks[from].Thread
		if h.Thread == nil || h.Thread(number) {
			k := &callCursor{of: c, blocks: c.blocks[from:to], pairer: calls.NewPairer(c.Signatures, number)}
			k.pairer.Entered, k.pairer.Ended, k.pairer.Goroutines = h.Entered, h.Ended, &goroutines
			open = append(open, k)
		}
		from = to
	}
	return mergeCalls(open, true)
}

// mergeCalls feeds the pairers of all threads in the order of time; over: nothing comes behind.
func mergeCalls(open []*callCursor, over bool) error {
	all := slices.Clone(open)
	live := open[:0]
	for _, k := range open {
		ok, err := k.next()
		if err != nil {
			return err
		}
		if ok {
			live = append(live, k)
		}
	}
	for len(live) > 0 {
		first := 0
		for i, k := range live {
			if k.record.TSC < live[first].record.TSC {
				first = i
			}
		}
		// As long as no other thread comes before, there is nothing to compare but one number.
		until := ^uint64(0)
		for i, k := range live {
			if i != first {
				until = min(until, k.record.TSC)
			}
		}
		k := live[first]
		for ok := true; ok && k.record.TSC <= until; {
			err := k.pairer.Add(&k.record)
			if err == nil {
				ok, err = k.next()
			}
			if err != nil {
				return err
			}
			if !ok {
				live = slices.Delete(live, first, first+1)
			}
		}
	}
	for _, k := range all {
		if !over {
			break
		}
		if err := k.pairer.Finish(); err != nil {
			return err
		}
	}
	return nil
}

// callCursor is a place in the records of a thread.
type callCursor struct {
	of     *Calls
	blocks []callBlock // not begun yet
	dec    *calls.Decoder
	left   uint32 // records of the block
	buf    []byte
	record calls.Record
	pairer *calls.Pairer
}

// next reads the next record.
func (k *callCursor) next() (bool, error) {
	for k.left == 0 {
		if len(k.blocks) == 0 {
			return false, nil
		}
		b := &k.blocks[0]
		k.blocks = k.blocks[1:]
		body, err := k.of.body(b, &k.buf)
		if err != nil {
			return false, err
		}
		k.dec, k.left = calls.NewDecoder(body, b.Encoding), b.Records
	}
	ok, err := k.dec.Next(&k.record)
	if err == nil && !ok {
		err = fmt.Errorf("%d records missing: %w", k.left, ErrCorrupt)
	}
	if err != nil {
		return false, fmt.Errorf("%s: captured calls: %w: %w", k.of.file.path, ErrCorrupt, err)
	}
	k.left--
	return true, nil
}

// body reads a block's records.
func (c *Calls) body(b *callBlock, buf *[]byte) ([]byte, error) {
	s := &c.file.sections[b.section]
	raw, err := c.file.ReadSection(b.section, *buf)
	if err != nil {
		return nil, fmt.Errorf("%s: %s section at offset %d: %w", c.file.path, s.Type, s.Offset, err)
	}
	*buf = raw
	return bodyOf(&b.Block, raw)
}

// bodyOf returns the records' bytes behind a block's header.
func bodyOf(b *calls.Block, raw []byte) ([]byte, error) {
	raw = raw[calls.HeaderSize:]
	if !b.Zstd {
		return raw, nil
	}
	out, err := decompress(raw)
	if err != nil {
		return nil, fmt.Errorf("block of calls: %w: %w", ErrCorrupt, err)
	}
	if len(out) != int(b.Raw) {
		return nil, fmt.Errorf("block of calls has %d bytes, not %d: %w", len(out), b.Raw, ErrCorrupt)
	}
	return out, nil
}

// CallFollower reads a process's captured calls while they are being recorded.
//
// A thread's blocks come in the order of their places as long as one processing thread has it; where another takes over,
// the first one's last block is written before. What comes later than it should is handed on later.
type CallFollower struct {
	calls   *Calls
	path    string
	pairers map[uint32]*calls.Pairer
	// goroutines are those that any of the threads has had.
	goroutines calls.Goroutines
}

// FollowCalls begins to follow the process's calls; nil if there is no file yet.
func (p *Process) FollowCalls() (*CallFollower, error) {
	path := filepath.Join(filepath.Dir(p.main.path), InterceptorsFile)
	c, err := OpenCalls(path)
	if err != nil || c == nil {
		return nil, err
	}
	return &CallFollower{calls: c, path: path, pairers: make(map[uint32]*calls.Pairer)}, nil
}

// Calls is what was read so far of types and signatures.
func (f *CallFollower) Calls() *Calls { return f.calls }

// Close closes the file.
func (f *CallFollower) Close() error { return f.calls.Close() }

// Next hands on what was recorded since the last time; over: calls that have not ended never will.
func (f *CallFollower) Next(h CallHandler, over bool) error {
	var cursors []*callCursor
	for _, b := range f.calls.blocks {
		k := slices.IndexFunc(cursors, func(c *callCursor) bool { return c.blocks[0].Thread == b.Thread })
		if k >= 0 {
			cursors[k].blocks = append(cursors[k].blocks, b)
			continue
		}
		pairer := f.pairers[b.Thread]
		if pairer == nil {
			pairer = calls.NewPairer(f.calls.Signatures, b.Thread)
			pairer.Goroutines = &f.goroutines
			f.pairers[b.Thread] = pairer
		}
		cursors = append(cursors, &callCursor{of: f.calls, blocks: []callBlock{b}, pairer: pairer})
	}
	for _, p := range f.pairers {
		p.Entered, p.Ended = h.Entered, h.Ended
	}
	if err := mergeCalls(cursors, false); err != nil {
		return err
	}
	f.calls.blocks = nil
	more, err := f.reopen()
	switch {
	case err != nil:
		return err
	case more:
		return f.Next(h, over)
	case over:
		for _, p := range f.pairers {
			if err := p.Finish(); err != nil {
				return err
			}
		}
		clear(f.pairers)
	}
	return nil
}

// reopen looks what the file has by now.
func (f *CallFollower) reopen() (more bool, err error) {
	file, err := OpenFile(f.path)
	if err != nil {
		return false, err
	}
	if len(file.sections) < f.calls.read {
		return false, errors.Join(fmt.Errorf("%s has become shorter: %w", f.path, ErrCorrupt), file.Close())
	}
	old := f.calls.file
	f.calls.file = file
	if err := f.calls.load(); err != nil {
		return false, errors.Join(err, old.Close())
	}
	return len(f.calls.blocks) > 0, old.Close()
}
