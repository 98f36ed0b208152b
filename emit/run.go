package emit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"alleria/abp"
	"alleria/abp/frame"
)

// Options say where and how profiles are written.
type Options struct {
	// Dirs are the run's directories: the first holds run.json and the main
	// profiles; streams take turns at all of them.
	Dirs []string
	// Force lets the files of an earlier run in Dirs be replaced.
	Force bool
	// Discard writes nothing: entries are walked and dropped.
	Discard bool
	// Level is zstd's, 1 to 22; 0: the fastest, left out where it gains little;
	// below 0: no compression.
	Level int
	// NoVector keeps encoders from using vector instructions, and thereby from the version
	// of the encoding that is meant for them: for tests and measurements.
	NoVector bool
	// MaxInstructions and MaxSize bound what is recorded in all processes: exactly so many
	// instructions, and about so many bytes, by a chunk of each thread more. 0: no bound.
	MaxInstructions uint64
	MaxSize         int64
	// Sync has profiles on their disks when they are finished, so that what a disk refuses late is told.
	Sync bool
	// Sizes: who makes the records can say in their first words how long they are, if that is of
	// use (Run.Sizes).
	Sizes bool
	// MeetEach has each block of records that are dropped looked up when it is met first, as where several threads record.
	MeetEach bool
	// PlainRows has rows of blocks written field by field, and what encoders want of a block found out in each process: for tests and measurements.
	PlainRows bool
}

// Run is the output of one recording.
// The methods may be called from any goroutine.
type Run struct {
	// immutable
	opts Options
	// written is the size of all profiles of the run so far.
	written atomic.Int64
	limit   limit
	// adaptive is the log of what is adapted, nil until something is; its goroutine's.
	adaptive *os.File
	packers  sync.Pool // *callPacker, of all processes: blocks of calls are packed outside of their files' locks

	locks []*os.File // of Dirs; of who makes and finishes the run

	mu   sync.Mutex
	info abp.Run          // guarded by mu
	proc []*ProcessWriter // that are not closed; guarded by mu
	done []closedProcess  // in place of the others, which are megabytes each; guarded by mu
}

// closedProcess is what of a process goes into run.json.
type closedProcess struct {
	entry abp.ProcessEntry
	lost  Lost
	calls uint64 // records of captured calls
}

// NewRun makes the directories and writes run.json, whose outcome says that the
// run is being recorded until Finish says otherwise. With Discard it makes
// nothing.
//
// ErrRunning, wrapped, is a directory that another run is being written to, Force or not, and
// ErrExists one that holds something and no Force. The window
// configuration that a directory may hold does not count: it is how a run is prepared.
func NewRun(opts Options, info abp.Run) (*Run, error) {
	r := &Run{opts: opts, info: info}
	r.limit.instructions, r.limit.size = int64(min(opts.MaxInstructions, math.MaxInt64)), opts.MaxSize
	r.info.Format = 1
	r.info.Outcome = abp.Outcome{State: abp.OutcomeRunning}
	if r.info.Started.IsZero() {
		r.info.Started = time.Now()
	}
	if opts.Discard {
		return r, nil
	}
	if len(opts.Dirs) == 0 {
		return nil, errors.New("output: no directory")
	}
	for _, dir := range opts.Dirs {
		lock, err := prepareDir(dir, opts.Force)
		if err != nil {
			r.Release()
			return nil, fmt.Errorf("output: %w", err)
		}
		r.locks = append(r.locks, lock)
	}
	// Absolute, because readers find the run by its first directory, from wherever
	// they are.
	for _, dir := range opts.Dirs[1:] {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("output: %w", err)
		}
		r.info.Outputs = append(r.info.Outputs, abs)
	}
	return r, r.info.WriteFirst(opts.Dirs[0])
}

// Release gives the directories' locks back, as Finish does: another run may be written there.
func (r *Run) Release() {
	for _, f := range r.locks {
		f.Close()
	}
	r.locks = nil
}

// Sizes tells whether records are to begin with their sizes besides their numbers, as
// records.Number has it. Of the encoders only that for vector instructions gains by them, and takes them; who drops records knows by them where the next begins.
func (r *Run) Sizes() bool {
	o := &r.opts
	return o.Sizes && (o.Discard || !o.NoVector && o.Level <= 0 && frame.SizedHere())
}

// Dir returns the run's first directory, empty with Discard.
func (r *Run) Dir() string {
	if r.opts.Discard {
		return ""
	}
	return r.opts.Dirs[0]
}

// Written returns how many bytes the profiles of the run have so far, in all
// directories. It is counted and not asked of the file system: the directories may hold
// much that is not the run's.
func (r *Run) Written() int64 { return r.written.Load() }

// Note adds a warning to run.json, once, however often it is said.
// It gets to the disk when run.json is written the next time.
func (r *Run) Note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.info.Notes, text) {
		r.info.Notes = append(r.info.Notes, text)
	}
}

// SetCosts sets what the recording took, for Finish to write.
func (r *Run) SetCosts(c abp.Costs) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.info.Costs = &c
}

// AddProcess sets what run.json says of a process, recorded or not, by its
// number and generation. Its counts and its directory are added when it was recorded.
func (r *Run) AddProcess(e abp.ProcessEntry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.info.Processes {
		if o := &r.info.Processes[i]; o.Number == e.Number && o.Generation == e.Generation {
			*o = e
			return
		}
	}
	r.info.Processes = append(r.info.Processes, e)
}

// ProcessEnded sets how a process ended, as a shell reports it: the last of its programs.
func (r *Run) ProcessEnded(number uint32, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var last *abp.ProcessEntry
	for i := range r.info.Processes {
		if e := &r.info.Processes[i]; e.Number == number && (last == nil || e.Generation > last.Generation) {
			last = e
		}
	}
	if last != nil {
		last.Exit = &status
	}
}

// Finish writes what became of the run. All processes have been closed.
func (r *Run) Finish(outcome abp.Outcome) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.Release()
	now := time.Now()
	r.info.Ended = &now
	r.info.Outcome = outcome
	for _, p := range r.proc {
		r.done = append(r.done, p.asClosed())
	}
	for i := range r.done {
		r.sum(&r.done[i])
	}
	r.proc = nil
	slices.SortFunc(r.info.Processes, func(a, b abp.ProcessEntry) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Generation, b.Generation))
	})
	if r.opts.Discard {
		return nil
	}
	return r.info.Write(r.opts.Dirs[0])
}

// asClosed is what is kept of a process.
func (p *ProcessWriter) asClosed() (c closedProcess) {
	h := &p.header
	c.entry = abp.ProcessEntry{Number: h.Process, Generation: h.Generation, PID: h.PID, Command: h.CommandLine, Followed: true}
	p.recorded(&c.entry)
	c.lost, c.calls = p.Lost(), p.callRecords()
	c.entry.LostInstructions = c.lost.Instructions
	if !p.run.opts.Discard {
		c.entry.Dir = p.dirName()
	}
	return c
}

// forget keeps of a process that is closed what run.json says of it, and nothing else: a build has thousands.
func (r *Run) forget(p *ProcessWriter) {
	c := p.asClosed()
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.proc, p); i >= 0 {
		r.proc = slices.Delete(r.proc, i, i+1)
		r.done = append(r.done, c)
	}
}

// sum adds a recorded process's counts to its entry. r.mu is held.
func (r *Run) sum(c *closedProcess) {
	// The caller knows more of a process than its counts (parent, exit status), but
	// need not have said so.
	i := slices.IndexFunc(r.info.Processes, func(e abp.ProcessEntry) bool {
		return e.Number == c.entry.Number && e.Generation == c.entry.Generation
	})
	if i < 0 {
		r.info.Processes = append(r.info.Processes, c.entry)
		return
	}
	e := &r.info.Processes[i]
	e.Counts, e.Threads, e.Analyses, e.RecordsKept = c.entry.Counts, c.entry.Threads, c.entry.Analyses, c.entry.RecordsKept
	e.LostInstructions, e.Dir = c.entry.LostInstructions, c.entry.Dir
}

// Info returns run.json as it stands. After Finish it is what was written.
func (r *Run) Info() abp.Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.info
}
