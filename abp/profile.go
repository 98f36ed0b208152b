package abp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// MainFile is the name of a process's main profile in its directory.
const MainFile = "main.abp"

// Profile is what Open opened: a run, a process or a single file.
type Profile struct {
	path      string
	run       *Run
	processes []*Process
	gaps      []Gap
}

// Open opens a run's directory, a process's directory or one profile. A
// sub-profile opened by itself yields its own frames only, with the tables of
// the main profile beside it.
//
// What was cut off opens as far as it goes; see Complete. An error of one file closes all
// others again. Opening reads headers, tables and frame indices: time and memory go with
// the program's size and not with the length of the recording.
func Open(path string) (*Profile, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open profile: %w", err)
	}
	p := &Profile{path: path}
	if !st.IsDir() {
		err = p.openSingle(path)
	} else if _, mainErr := os.Stat(filepath.Join(path, MainFile)); mainErr == nil {
		err = p.openProcess(path, nil)
	} else {
		err = p.openRun(path)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close closes all files.
// Readers and everything they yielded are unusable afterwards.
func (p *Profile) Close() error {
	var errs []error
	for _, proc := range p.processes {
		errs = append(errs, proc.close())
	}
	return errors.Join(errs...)
}

// Path returns the path that the profile was opened by.
func (p *Profile) Path() string { return p.path }

// Run returns what run.json says, nil where there is none.
func (p *Profile) Run() *Run { return p.run }

// Processes returns the recorded processes by number.
func (p *Profile) Processes() []*Process { return p.processes }

// Process returns the process of that number, nil if it was not recorded: its first program, where several were.
func (p *Profile) Process(number uint32) *Process {
	for _, proc := range p.processes {
		if proc.Number() == number {
			return proc
		}
	}
	return nil
}

// Program returns one of the recorded programs of a process, nil if there is none.
func (p *Profile) Program(number, generation uint32) *Process {
	for _, proc := range p.processes {
		if proc.Number() == number && proc.Generation() == generation {
			return proc
		}
	}
	return nil
}

// Complete reports whether everything was closed in order and is there.
// For a profile without run.json that is about its files alone.
func (p *Profile) Complete() bool {
	if len(p.gaps) > 0 || p.run != nil && p.run.Outcome.State != OutcomeComplete {
		return false
	}
	for _, proc := range p.processes {
		if !proc.Complete() {
			return false
		}
	}
	return true
}

// Counts returns what the frames' headers say was recorded in all processes.
func (p *Profile) Counts() (c Counts) {
	for _, proc := range p.processes {
		c.Add(proc.Counts(), 1)
	}
	return c
}

// openRun opens a run's directory.
// A process's directory that has no main profile was made by a recorder that did
// not get far enough to write anything; that of one that is known to have had one is a gap.
// Without run.json, or where it is damaged, the processes are read all the same.
func (p *Profile) openRun(dir string) error {
	// By what is there, not by run.json: that of a run that was cut off does not
	// list its processes.
	names, err := filepath.Glob(filepath.Join(dir, "p*", MainFile))
	if err != nil {
		return fmt.Errorf("open run: %w", err)
	}
	run, err := ReadRun(dir)
	damaged := errors.Is(err, ErrCorrupt)
	if err != nil && (len(names) == 0 || !damaged && !errors.Is(err, fs.ErrNotExist)) {
		return noRun(dir, err)
	}
	if damaged { // what it says is less than what the profiles have
		p.gaps = append(p.gaps, Gap{Path: filepath.Join(dir, RunFile), Text: gapDamaged})
	}
	p.run = run
	for _, name := range names {
		if err := p.openProcess(filepath.Dir(name), run); err != nil {
			return err
		}
	}
	slices.SortFunc(p.processes, func(a, b *Process) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	p.runGaps(dir)
	return nil
}

// noRun says why a directory is not opened: what was named may be no profile at all.
func noRun(dir string, err error) error {
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("open run %s: %w", dir, err)
	case processOf(dir) != 0 && !absent(filepath.Join(dir, "1.abp")):
		return fmt.Errorf("%s: %s is missing, without which its sub-profiles cannot be read: %w", dir, MainFile, ErrCorrupt)
	}
	return fmt.Errorf("%s: %w: there is neither %s nor %s in it", dir, ErrNotProfile, RunFile, MainFile)
}

// openProcess opens a process's directory; run is nil where it was opened alone.
func (p *Profile) openProcess(dir string, run *Run) error {
	proc, err := openProcess(filepath.Join(dir, MainFile))
	if err != nil {
		return err
	}
	p.processes = append(p.processes, proc)
	outputs := []string{}
	if run != nil {
		outputs = run.Outputs
	}
	if err := proc.openSubs(dir, outputs); err != nil {
		return err
	}
	p.gaps = append(p.gaps, proc.gaps...)
	return nil
}

// openSingle opens one file.
//
// A main profile alone has the tables, and frames if it is a stream too (as a run with a
// single processing thread could write).
func (p *Profile) openSingle(path string) error {
	f, err := OpenFile(path)
	if err != nil {
		return err
	}
	if f.header.Type != TypeSub {
		proc := &Process{main: f, files: []*File{f}}
		p.processes = append(p.processes, proc)
		return proc.load()
	}
	proc, err := openProcess(filepath.Join(filepath.Dir(path), MainFile))
	if errors.Is(err, fs.ErrNotExist) {
		// Frames without their blocks can be listed, not decoded.
		proc = &Process{main: f}
		err = proc.load()
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	proc.files = append(proc.files, f)
	p.processes = append(p.processes, proc)
	return proc.indexFrames()
}

// subNumber returns the number of a sub-profile's file name, 0 if it is none.
func subNumber(path string) int {
	name, ok := strings.CutSuffix(filepath.Base(path), ".abp")
	n, err := strconv.Atoi(name)
	if !ok || err != nil {
		return 0
	}
	return n
}
