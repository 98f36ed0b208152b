package emit

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"alleria/abp"
	"alleria/internal/sys"
)

// output is a file that is being written. After its first error it takes
// nothing any more: the error is returned once, so that a full disk is reported
// once, and the file is cut back to its last whole section.
// It belongs to whoever holds the lock of its stream or process.
type output struct {
	path   string
	file   *os.File
	w      *abp.Writer
	failed bool

	// back asks for errors of the disk; wait: of all that was written.
	back   func(wait bool) error
	sync   bool  // the file is to be on its disk when it is finished
	looked int64 // size of the file when back was asked last

	// run counts the bytes of all outputs, told those of this one.
	run  *atomic.Int64
	told int64
}

// create makes a file that must not be there: whatever made it is still using it,
// or was not cleared away, and neither is ours to overwrite.
// The directory has been emptied before, where that was asked for.
func create(path string, h *abp.Header, run *Run) (*output, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("create profile: %w", err)
	}
	w, err := abp.NewWriter(f, h)
	if err != nil {
		return nil, fmt.Errorf("create profile %s: %w", path, errors.Join(err, f.Close(), os.Remove(path)))
	}
	o := &output{path: path, file: f, w: w, run: &run.written, sync: run.opts.Sync}
	o.back = func(wait bool) error { return sys.WrittenBack(f, wait) }
	o.tell()
	return o, nil
}

// tell adds what was appended to the bytes of the run.
func (o *output) tell() {
	n := int64(o.w.Size())
	o.run.Add(n - o.told)
	o.told = n
}

// check turns the first error into what the caller sees, and later ones into
// nothing.
func (o *output) check(err error) error {
	if err == nil || o.failed {
		return nil
	}
	o.failed = true
	// A profile with half a section is readable too; one without is tidier. That
	// the file cannot be cut adds nothing to the error that led here.
	_ = o.file.Truncate(int64(o.w.Size()))
	return fmt.Errorf("write %s: %w", o.path, err)
}

// section appends a section.
func (o *output) section(t abp.SectionType, flags abp.SectionFlags, payload []byte) error {
	if o.failed {
		return nil
	}
	defer o.tell()
	return o.check(o.w.Section(t, flags, payload))
}

// frame appends a frame.
func (o *output) frame(h *abp.FrameHeader, body []byte, sums *abp.FrameSums) error {
	if o.failed {
		return nil
	}
	defer o.tell()
	err := o.w.Frame(h, body, sums)
	if n := int64(o.w.Size()); err == nil && n-o.looked >= lookEvery {
		o.looked = n
		err = o.late(false)
	}
	return o.check(err)
}

// lookEvery is after how many bytes it is asked whether the disk has refused some.
const lookEvery = 8 << 20

// errLate is that a disk has refused what it was given before: which part of the file, nobody knows.
var errLate = errors.New("what was written to it before is lost as well (the file ends in " + abp.DamagedFile + " now)")

// late asks the disk.
func (o *output) late(wait bool) error {
	if err := o.back(wait); err != nil {
		return fmt.Errorf("%w; %w", err, errLate)
	}
	return nil
}

// finish writes what closes a file. A file that failed stays without: its
// reader shall see that something is missing.
func (o *output) finish(end *abp.EndInfo) error {
	if o.failed {
		return o.file.Close()
	}
	err := o.w.Finish(end)
	if err == nil {
		err = o.late(o.sync)
	}
	err = o.check(err)
	o.tell()
	return errors.Join(err, o.file.Close())
}
