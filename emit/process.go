package emit

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"alleria/abp"
	"alleria/internal/records"

	"github.com/klauspost/compress/zstd"
)

// tableWindow is how far back zstd looks in tables: they come in small pieces.
const tableWindow = 256 << 10

// ProcessWriter writes one process's part of a run.
//
// The Add methods may be called from any goroutine and do no input or output: rows wait
// for the next FlushTables, or for the first block that needs them.
type ProcessWriter struct {
	run    *Run
	header abp.Header // immutable
	blocks blockTable

	mu      sync.Mutex
	main    *output                    // guarded by mu; nil with Discard
	pending map[abp.SectionType][]byte // rows not yet written; guarded by mu
	order   []abp.SectionType          // of pending's keys; guarded by mu
	enc     *zstd.Encoder              // for tables; guarded by mu
	rows    rows                       // room for those of blocks; guarded by mu
	packed  []byte                     // room for what enc makes; guarded by mu
	threads map[uint32]*ThreadState    // guarded by mu
	outlets []outlet                   // guarded by mu
	closed  bool                       // guarded by mu
	lost    Lost                       // guarded by mu
	late    abp.Counts                 // of frames that a disk has refused after it had taken them; guarded by mu
	bodies  bodies
	calls   callFile
	// switches are the windows that code opens and closes; guarded by mu.
	switches  []Switch
	elsewhere elsewhere // guarded by mu
	tables    *Tables   // for analyses beside the application; nil: none asks. Set before rows are added
}

// NewProcess makes the directory and the main profile of a process. blocks is
// the engine's table of its recorded blocks.
//
// h says what is known at the start; its Counts and times are filled in by Close. An error
// leaves what was made: the run is over then, and its directory is the user's.
func (r *Run) NewProcess(h abp.Header, blocks *records.Blocks) (*ProcessWriter, error) {
	p := &ProcessWriter{run: r, header: h, pending: map[abp.SectionType][]byte{}, threads: map[uint32]*ThreadState{}}
	p.blocks.raw, p.blocks.plain = blocks, r.opts.PlainRows
	p.header.Type = abp.TypeMain
	if p.header.Created.IsZero() {
		p.header.Created = time.Now()
	}
	if !r.opts.Discard {
		for _, dir := range r.opts.Dirs {
			if err := os.MkdirAll(filepath.Join(dir, p.dirName()), 0o755); err != nil {
				return nil, fmt.Errorf("output of process %d: %w", h.Process, err)
			}
		}
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithSingleSegment(true), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(tableWindow))
		if err != nil {
			return nil, fmt.Errorf("output of process %d: %w", h.Process, err)
		}
		p.enc = enc
		if p.main, err = create(filepath.Join(p.Dir(), abp.MainFile), &p.header, r); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	r.proc = append(r.proc, p)
	r.mu.Unlock()
	return p, nil
}

// dirName is p and the process's number, and from its second program on a point and which that is.
func (p *ProcessWriter) dirName() string {
	name := "p" + strconv.Itoa(int(p.header.Process))
	if g := p.header.Generation; g > 1 {
		name += "." + strconv.Itoa(int(g))
	}
	return name
}

// Dir returns the process's directory, empty with Discard.
func (p *ProcessWriter) Dir() string {
	if p.run.opts.Discard {
		return ""
	}
	return filepath.Join(p.run.opts.Dirs[0], p.dirName())
}

// KeepsRows tells whether somebody reads rows of tables: a profile has them, and analyses beside the application.
func (p *ProcessWriter) KeepsRows() bool { return !p.run.opts.Discard || p.tables != nil }

// row is a row of one of abp's tables.
type row interface{ Append(dst []byte) []byte }

// add keeps a row for the next FlushTables.
func (p *ProcessWriter) add(t abp.SectionType, r row) {
	if p.run.opts.Discard {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pend(t, r)
}

// pend is add with p.mu held.
func (p *ProcessWriter) pend(t abp.SectionType, r row) {
	if _, ok := p.pending[t]; !ok {
		p.order = append(p.order, t)
	}
	p.pending[t] = r.Append(p.pending[t])
}

// AddImage adds an image, or replaces what was said of it before.
func (p *ProcessWriter) AddImage(r abp.Image) {
	p.tables.addImage(r)
	p.add(abp.SectionImages, &r)
}

// AddFunction adds a function. It comes before the first block that refers to it
// is executed.
func (p *ProcessWriter) AddFunction(r abp.Function) {
	p.tables.addFunction(r)
	p.add(abp.SectionFunctions, &r)
}

// AddWindow adds a window of the configuration.
func (p *ProcessWriter) AddWindow(r abp.WindowDef) { p.add(abp.SectionWindows, &r) }

// AddWindowEvent adds an opening or a closing.
func (p *ProcessWriter) AddWindowEvent(r abp.WindowEvent) { p.add(abp.SectionWindows, &r) }

// AddFamily adds a process of the tree, or replaces what was said of it before.
func (p *ProcessWriter) AddFamily(r abp.FamilyRow) { p.add(abp.SectionProcessFamily, &r) }

// AddCPUID adds a leaf.
func (p *ProcessWriter) AddCPUID(r abp.CPUIDLeaf) { p.add(abp.SectionCPUID, &r) }

// AddSyscall adds a system call.
func (p *ProcessWriter) AddSyscall(r abp.Syscall) { p.add(abp.SectionSyscalls, &r) }

// AddSignal adds a signal.
func (p *ProcessWriter) AddSignal(r abp.Signal) { p.add(abp.SectionSignals, &r) }

// AddSnapshot adds a snapshot of the address space.
func (p *ProcessWriter) AddSnapshot(r abp.Snapshot) {
	p.tables.addSnapshot(r)
	p.add(abp.SectionLLW, &r)
}

// AddQueryMessage adds a message of a relational query.
func (p *ProcessWriter) AddQueryMessage(r abp.QueryMessage) { p.add(abp.SectionQueries, &r) }

// AddSampling adds what was recorded and passed over of a thread, or replaces what was said of the same
// thread and chunk before.
func (p *ProcessWriter) AddSampling(r abp.Sampling) { p.add(abp.SectionSampling, &r) }

// CutFrame has a frame of a thread begin with a chunk, so that one row of AddSampling is about all of a frame. It is
// called before the chunk is consumed.
func (p *ProcessWriter) CutFrame(thread int, chunk uint64) {
	t := p.thread(uint32(thread))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cuts == nil {
		t.cuts = make(map[uint64]bool)
	}
	t.cuts[chunk] = true
}

// AddSection writes a section as it is: for users' own types and for packages
// with formats of their own.
// Unlike rows it is written at once.
func (p *ProcessWriter) AddSection(t abp.SectionType, payload []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.main == nil {
		return nil
	}
	return p.section(t, payload)
}

// FlushTables writes the rows that were added since the last time.
// Rows that frames need are written with them anyway; this is for the others, events
// of windows say, which a run that is killed before Close would lose.
func (p *ProcessWriter) FlushTables() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flushTables()
}

// flushTables is FlushTables with p.mu held.
func (p *ProcessWriter) flushTables() error {
	if p.main == nil {
		return nil
	}
	// What rows refer to is in the file before them, wherever it is cut off: images, then the functions in them, then the rest in the order in
	// which the first row of each came. That order alone was not enough: of two images' functions in one flush the second's were written
	// before their image.
	slices.SortStableFunc(p.order, func(a, b abp.SectionType) int { return cmp.Compare(writtenAfter(a), writtenAfter(b)) })
	for _, t := range p.order {
		if err := p.section(t, p.pending[t]); err != nil {
			return err
		}
		delete(p.pending, t)
	}
	p.order = p.order[:0]
	return nil
}

// writtenAfter is how many tables of a flush go before one, since its rows refer to theirs.
func writtenAfter(t abp.SectionType) int {
	switch t {
	case abp.SectionImages:
		return 0
	case abp.SectionFunctions:
		return 1
	}
	return 2
}

// section writes a table's section, compressed where that makes it smaller.
func (p *ProcessWriter) section(t abp.SectionType, payload []byte) error {
	// Small payloads do not pay for zstd's header and the reader's call.
	if p.run.opts.Level >= 0 && len(payload) > 256 {
		if p.packed = p.enc.EncodeAll(payload, p.packed[:0]); len(p.packed) < len(payload) {
			return p.main.section(t, abp.SectionZstd, p.packed)
		}
	}
	return p.main.section(t, 0, payload)
}

// define writes the blocks that no file defines yet, with what they refer to.
// It returns false if they could not be written: now, with the error, or at all
// since an earlier one.
//
// Rows of functions and images go first, as the blocks refer to them. The flag is looked
// at without the lock, since in a program that has warmed up no block is missing.
// missing is room for numbers.
func (p *ProcessWriter) define(ids []uint32, missing *[]uint32) (bool, error) {
	*missing = (*missing)[:0]
	for _, id := range ids {
		if !p.blocks.get(id).defined() {
			*missing = append(*missing, id)
		}
	}
	if len(*missing) == 0 {
		return true, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.flushTables()
	p.rows.plain, p.rows.packed = p.rows.plain[:0], p.rows.packed[:0]
	for _, id := range *missing {
		p.rows.add(&p.blocks, id) // another stream may have come first
	}
	if rows := p.rows.payload(); err == nil && len(rows) > 0 {
		err = p.section(abp.SectionBlocks, rows)
	}
	if err != nil || p.main.failed {
		return false, err
	}
	// Only now: who sees the flag may write a frame at once.
	for _, id := range *missing {
		p.blocks.get(id).state.Or(blockDefined)
	}
	return true, nil
}

// Counts returns what was recorded so far and in how many threads. While
// processing threads run it is what they had counted at some moment.
func (p *ProcessWriter) Counts() (c abp.Counts, threads int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.threads {
		c.Add(t.total(), 1)
	}
	c.Add(p.late, ^uint64(0)) // less
	return c, len(p.threads)
}

// Close closes the streams and the main profile. No one consumes any more.
//
// It is called once, from the session's goroutine.
func (p *ProcessWriter) Close(end abp.EndInfo) error {
	var errs []error
	outlets := p.outletsToClose()
	for _, o := range outlets { // all, before one is closed: frames wait for those of other streams
		errs = append(errs, o.Flush())
	}
	for _, o := range outlets {
		errs = append(errs, o.close(&end))
	}
	end.Counts, _ = p.Counts()
	errs = append(errs, p.finishMain(&end))
	p.run.forget(p)
	return errors.Join(errs...)
}

// finishMain finishes the main profile, if there is one.
func (p *ProcessWriter) finishMain(end *abp.EndInfo) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.main == nil {
		return nil
	}
	return errors.Join(p.finishCalls(end), p.flushTables(), p.main.finish(end))
}

// outletsToClose hands them out once.
func (p *ProcessWriter) outletsToClose() []outlet {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	return p.outlets
}
