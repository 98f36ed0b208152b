package abp

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
)

// Process is one recorded process: its tables and the frames of its threads.
// Immutable once opened.
//
// Tables are ordered by number, events as they were written. All accessors return the
// process's own slices, not to be changed.
type Process struct {
	main  *File
	files []*File // that hold frames; main itself where it was opened alone

	blocks    []*Block // by number
	images    []Image
	functions []Function
	defs      []WindowDef
	// windowSections is where the events of windows are, by time.
	windowSections []windowSection
	family         []FamilyRow
	cpuid          []CPUIDLeaf
	syscalls       []Syscall
	// syscallsBy has each thread's system calls in the order of their ordinals.
	syscallsBy map[uint32][]Syscall
	signals    []Signal
	sampling   []Sampling // by thread and chunk, the last written of each last
	strata     []Stratum
	snapshots  []Snapshot
	queries    []QueryMessage
	subs       []SubProfile
	gaps       []Gap

	threads []Thread
	source  Source // of a process that is being recorded; else nil
}

// Thread is one application thread's part of a process's profile.
// Number is the order of creation in the process, from 1.
type Thread struct {
	Number uint32      // within the process, in order of creation
	OSID   uint32      // the kernel's thread id
	Counts Counts      // what was recorded of it
	Frames []*FrameRef // by Seq
}

// Number returns the process's number in the run.
func (p *Process) Number() uint32 { return p.main.header.Process }

// Generation says which of the process's recorded programs this is, from 1; 0 in profiles before 1.8, which
// numbered programs like processes.
func (p *Process) Generation() uint32 { return p.main.header.Generation }

// Name is how people name the process: its number, and from its second recorded program on a point and which that is.
func (p *Process) Name() string { return ProgramName(p.Number(), p.Generation()) }

// ProgramName is Process.Name for a number and a generation.
func ProgramName(number, generation uint32) string {
	if generation > 1 {
		return fmt.Sprintf("%d.%d", number, generation)
	}
	return strconv.FormatUint(uint64(number), 10)
}

// before orders processes by number, and their programs by time.
func (p *Process) before(o *Process) bool {
	return cmp.Or(cmp.Compare(p.Number(), o.Number()), cmp.Compare(p.Generation(), o.Generation())) < 0
}

// Header returns the main profile's header, with the totals of all files.
func (p *Process) Header() *Header { return &p.main.header }

// Main returns the main profile.
func (p *Process) Main() *File { return p.main }

// Files returns the files that hold frames.
// They are ordered by stream number.
func (p *Process) Files() []*File { return p.files }

// Threads returns the recorded threads by number.
func (p *Process) Threads() []Thread { return p.threads }

// Block returns the block of that number, nil if there is none.
// It is asked once an execution, hence a slice and no search.
func (p *Process) Block(id uint32) *Block {
	if int64(id) >= int64(len(p.blocks)) {
		if p.source != nil {
			return p.source.Block(id)
		}
		return nil
	}
	return p.blocks[id]
}

// Blocks returns all blocks by number; entries may be nil.
func (p *Process) Blocks() []*Block { return p.blocks }

// Images returns the image table in the order of its numbers.
func (p *Process) Images() []Image { return p.images }

// Image returns the image of that number, nil if there is none.
func (p *Process) Image(number uint32) *Image {
	if p.source != nil {
		return p.source.Image(number)
	}
	return find(p.images, number, func(r *Image) uint32 { return r.Number })
}

// Functions returns the function table in the order of its numbers.
func (p *Process) Functions() []Function { return p.functions }

// Function returns the function of that number, nil if there is none.
func (p *Process) Function(number uint32) *Function {
	if p.source != nil {
		return p.source.Function(number)
	}
	return find(p.functions, number, func(r *Function) uint32 { return r.Number })
}

// WindowDefs returns the windows of the configuration.
func (p *Process) WindowDefs() []WindowDef { return p.defs }

// Family returns the processes of the tree as far as this process's file knows
// them, by number.
func (p *Process) Family() []FamilyRow { return p.family }

// CPUID returns the leaves of the processors.
func (p *Process) CPUID() []CPUIDLeaf { return p.cpuid }

// Syscalls returns the recorded system calls as they were written.
func (p *Process) Syscalls() []Syscall { return p.syscalls }

// Signals returns the recorded signals as they were written.
func (p *Process) Signals() []Signal { return p.signals }

// Snapshots returns the snapshots of the address space in the main profile.
// They are in the order in which they were taken.
func (p *Process) Snapshots() []Snapshot {
	if p.source != nil {
		return p.source.Snapshots()
	}
	return p.snapshots
}

// Queries returns the messages of relational queries.
func (p *Process) Queries() []QueryMessage { return p.queries }

// Counts returns the sum of what the frames' headers say.
func (p *Process) Counts() (c Counts) {
	for i := range p.threads {
		c.Add(p.threads[i].Counts, 1)
	}
	return c
}

// Complete reports whether all of the process's files were closed in order.
func (p *Process) Complete() bool {
	for _, f := range p.files {
		if !f.Complete() {
			return false
		}
	}
	return p.main.Complete()
}

// openProcess opens the main profile and reads its tables; sub-profiles are openSubs's.
func openProcess(path string) (*Process, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	p := &Process{main: f}
	if err := p.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("open profile %s: %w", path, err), f.Close())
	}
	return p, nil
}

// openSubs opens the sub-profiles beside the main one, and those that it says
// lie elsewhere.
//
// They are found by their names and not by the table of sub-profiles, which a run that
// was cut off has not written. Other directories are those of a run that spread its
// streams over several disks.
func (p *Process) openSubs(dir string, outputs []string) error {
	seen := map[int]bool{}
	dirs := []string{dir}
	for _, out := range outputs {
		dirs = append(dirs, filepath.Join(out, filepath.Base(dir)))
	}
	var all []string
	for _, d := range dirs {
		names, err := filepath.Glob(filepath.Join(d, "*.abp"))
		if err != nil {
			return fmt.Errorf("list sub-profiles: %w", err)
		}
		all = append(all, names...)
	}
	// A process's directory that was opened by itself has no run.json that names the others.
	for _, s := range p.subs {
		if filepath.IsAbs(s.Path) && !absent(s.Path) {
			all = append(all, s.Path)
		}
	}
	for _, name := range all {
		n := subNumber(name)
		if n == 0 || seen[n] {
			continue
		}
		seen[n] = true
		if err := p.openSub(name, n); err != nil {
			return err
		}
	}
	p.subGaps(dir)
	slices.SortFunc(p.files, func(a, b *File) int { return cmp.Compare(a.header.Stream, b.header.Stream) })
	if err := p.indexFrames(); err != nil {
		return err
	}
	p.lackGap()
	p.countGap()
	return nil
}

// openSub opens a sub-profile. One of another run is left out: its frames refer to other
// blocks, and would be read as something that never happened.
func (p *Process) openSub(name string, number int) error {
	f, err := OpenFile(name)
	if errors.Is(err, ErrCutOff) { // nothing to read, and not missing
		p.gaps = append(p.gaps, Gap{name, "was cut off before its first section", true})
		return nil
	}
	if err != nil {
		return err
	}
	if !p.belongs(f, number) {
		p.gaps = append(p.gaps, Gap{Path: name, Text: gapForeign})
		return f.Close()
	}
	p.files = append(p.files, f)
	return nil
}

// close closes all files, also after an error.
func (p *Process) close() error {
	errs := []error{p.main.Close()}
	for _, f := range p.files {
		if f != p.main {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// indexFrames collects the frames of all files by thread.
//
// A thread's frames may lie in any of the files, since its ring is consumed by whatever
// processing thread is free: Seq is their order.
func (p *Process) indexFrames() error {
	p.threads = nil
	for _, f := range p.files {
		for i := range f.frames {
			t := p.thread(f.frames[i].Thread)
			t.OSID = f.frames[i].OSID
			t.Counts.Add(f.frames[i].Counts, 1)
			t.Frames = append(t.Frames, &f.frames[i])
		}
	}
	slices.SortFunc(p.threads, func(a, b Thread) int { return cmp.Compare(a.Number, b.Number) })
	if p.main.end == nil {
		p.main.header.Counts = p.Counts()
	}
	p.scale()
	for i := range p.threads {
		slices.SortStableFunc(p.threads[i].Frames, func(a, b *FrameRef) int { return cmp.Compare(a.Seq, b.Seq) })
	}
	return nil
}

// thread returns the thread of that number, made if it is new. Threads are few: a
// search is good enough.
func (p *Process) thread(number uint32) *Thread {
	for i := range p.threads {
		if p.threads[i].Number == number {
			return &p.threads[i]
		}
	}
	p.threads = append(p.threads, Thread{Number: number})
	return &p.threads[len(p.threads)-1]
}

// find looks a row up in a table ordered by number. Rows are looked at where they lie: slices.BinarySearchFunc hands out copies, whose addresses
// the key takes, so that each comparison made one in the heap, more than half of what a report of bursts took.
func find[T any](rows []T, number uint32, key func(*T) uint32) *T {
	i := sort.Search(len(rows), func(i int) bool { return key(&rows[i]) >= number })
	if i == len(rows) || key(&rows[i]) != number {
		return nil
	}
	return &rows[i]
}

// Source has the tables of a process that is still being recorded, for analyses that run beside
// it. Its methods may be called from any goroutine; what they return does not change any more.
type Source interface {
	// Block returns the block of that number, prepared; nil if there is none.
	Block(id uint32) *Block
	// Image and Function return rows by number, nil where there are none.
	Image(number uint32) *Image
	Function(number uint32) *Function
	// Images and Functions return the rows from some place of their tables on, in the order in which they were
	// entered. A row that replaces another comes once more.
	Images(from int) []*Image
	Functions(from int) []*Function
	// Snapshots returns the rows of LLW so far.
	Snapshots() []Snapshot
}

// Growing returns a process without files, whose tables grow: Block, Image and Function ask the
// source each time. It has no threads; Blocks, Images and Functions list nothing.
func Growing(h Header, s Source) *Process {
	return &Process{main: &File{header: h}, source: s}
}

// Source returns what a process made by Growing gets its tables from, nil for one of a profile.
func (p *Process) Source() Source { return p.source }
