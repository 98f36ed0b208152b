package abp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
)

// Problem is something that Verify found.
type Problem struct {
	Path   string // of the file
	Offset uint64 // in the file, where it is known
	// CutOff: what is missing was never written, because the recorder was ended;
	// else what is there is wrong.
	CutOff bool
	Text   string
}

// String returns the problem as one line.
func (p Problem) String() string {
	kind := "corrupt"
	if p.CutOff {
		kind = "cut off"
	}
	return fmt.Sprintf("%s: offset %d: %s: %s", p.Path, p.Offset, kind, p.Text)
}

// verifier goes through files in three passes, each of which needs what the one
// before found whole: bytes (checksums, directory against scan), tables (rows,
// references), frames (decoded, counted again, in order).
type verifier struct {
	report   func(Problem)
	complete bool // the run says that it is
	corrupt  bool // a problem that is no cut was found
	cut      bool
	gaps     bool // files are missing: what they held is not looked for

	progress func(done, total uint64)
	done     atomic.Uint64 // bytes
	total    uint64
}

// passed adds bytes that were gone through.
func (v *verifier) passed(n uint64) { v.progress(v.done.Add(n), v.total) }

// Verify reads everything under a path (as Open takes it) and reports what is
// not as it should be. It returns an error only where it could not look.
//
// It reads what the reading library reads and then what that takes on trust: rows'
// references, counts in headers against decoding, the order of frames. report is called
// in the order of the files. A run that is still being recorded has problems, all of
// them with CutOff.
func Verify(path string, report func(Problem)) error {
	return VerifyProgress(path, report, func(uint64, uint64) {})
}

// VerifyProgress is Verify for whoever wants to know how far it has got: progress is told how
// many bytes have been gone through, of how many. All are read twice, once as bytes and once
// as frames. It is called from several goroutines, and numbers may come out of order.
func VerifyProgress(path string, report func(Problem), progress func(done, total uint64)) (err error) {
	st, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	v := &verifier{report: report, complete: true, progress: progress}
	files, err := v.files(path, st.IsDir())
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	for _, name := range files {
		if st, err := os.Stat(name); err == nil { // gone meanwhile: opening it says so
			v.total += 2 * uint64(st.Size())
		}
	}
	// First each file by itself, so that damage is reported where it is and not as
	// what follows from it.
	whole := true
	for _, name := range files {
		ok, err := v.file(name)
		if err != nil {
			return fmt.Errorf("verify: %w", err)
		}
		whole = whole && ok
	}
	if !whole {
		return nil // what follows would only say the same again, less clearly
	}
	p, err := Open(path)
	if err != nil {
		if len(files) == 0 && errors.Is(err, ErrNotProfile) {
			return fmt.Errorf("verify: %w", err) // nothing of ours in it
		}
		if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrCutOff) || errors.Is(err, ErrVersion) || errors.Is(err, ErrNotProfile) {
			v.found(path, 0, errors.Is(err, ErrCutOff), "%v", err)
			return nil
		}
		return fmt.Errorf("verify: %w", err)
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	for _, g := range p.Gaps() {
		if g.Text != gapDamaged { // which was found before
			v.found(g.Path, 0, g.CutOff, "%s", g.Text)
		}
	}
	v.gaps = len(p.Gaps()) > 0
	for _, proc := range p.processes {
		v.tables(proc)
		v.threads(proc)
		v.calls(proc)
	}
	return nil
}

// found reports a problem.
// format is a sentence without a place: path and offset say where.
func (v *verifier) found(path string, offset uint64, cutOff bool, format string, args ...any) {
	if cutOff {
		v.cut = true
	} else {
		v.corrupt = true
	}
	v.report(Problem{Path: path, Offset: offset, CutOff: cutOff, Text: fmt.Sprintf(format, args...)})
}

// files lists the profiles under a path and looks at run.json, which decides
// whether gaps are expected.
func (v *verifier) files(path string, dir bool) ([]string, error) {
	if !dir {
		return []string{path}, nil
	}
	// A process's own directory has profiles but no run.json: it is taken as
	// complete.
	if names, err := filepath.Glob(filepath.Join(path, "*.abp")); err != nil || len(names) > 0 {
		return names, err
	}
	run, err := ReadRun(path)
	if err != nil {
		// Without it Open says what is the matter.
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if errors.Is(err, ErrCorrupt) {
			v.found(filepath.Join(path, RunFile), 0, false, "%v", err)
		}
		// The files are verified all the same, as strictly as those of a run that
		// is known to be complete.
		run = &Run{Outcome: Outcome{State: OutcomeComplete}}
	}
	if run.Outcome.State != OutcomeComplete {
		v.complete = false
		reason := run.Outcome.Reason
		if run.Outcome.State == OutcomeRunning {
			reason = "the recorder is still running, or was killed"
		}
		v.found(filepath.Join(path, RunFile), 0, true, "outcome %q: %s", run.Outcome.State, reason)
	}
	var all []string
	// With several outputs the first has run.json and the main profiles, all have
	// sub-profiles.
	for _, root := range append([]string{path}, run.Outputs...) {
		names, err := filepath.Glob(filepath.Join(root, "p*", "*.abp"))
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
	}
	return all, nil
}

// file verifies one file's bytes. It returns false if it cannot be used.
func (v *verifier) file(name string) (bool, error) {
	// Not by way of OpenFile, which refuses what is to be reported here.
	r, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer r.Close() // read only: nothing can be lost
	st, err := r.Stat()
	if err != nil {
		return false, err
	}
	f := &File{path: name, r: r, size: uint64(st.Size())}
	fixed := make([]byte, min(f.size, HeaderSize))
	if err := f.readAt(fixed, 0); err != nil {
		return false, err
	}
	// Without a header nothing says how to go on; a file shorter than one was cut
	// off as it was begun.
	if err := f.header.decodeFixed(fixed); err != nil {
		v.found(name, 0, f.size < HeaderSize, "%v", err)
		return false, nil
	}
	return v.sections(f), nil
}

// sections walks a file's sections and compares them with the directory.
//
// It is a scan as File.scan makes it, but goes on behind a section whose payload is wrong, so
// that one run of Verify finds all the damage there is.
func (v *verifier) sections(f *File) bool {
	whole := true
	var found []Section
	at := uint64(HeaderSize)
	var buf []byte
	end := false // the DIRECTORY section was found
	for at < f.size && !end {
		s, err := f.sectionAt(at)
		if err == nil && s.End() > f.size {
			err = ErrCutOff
		}
		if err != nil {
			// A header that is not all there was being written; one that is there and
			// wrong was damaged, and what follows cannot be found.
			cut := errors.Is(err, ErrCutOff)
			v.found(f.path, at, cut, "%d bytes behind the last whole section", f.size-at)
			if !cut {
				whole = false
			}
			break
		}
		// A wrong payload leaves its length right: the walk goes on behind it.
		if buf, err = f.readPayload(&s, buf); err != nil {
			v.found(f.path, at, false, "%v", err)
			whole = false
		}
		v.passed(SectionHeaderSize + s.Length)
		if s.Type == SectionDirectory {
			end = true
		} else {
			found = append(found, s)
		}
		at = s.End()
	}
	if !end || f.size != at+trailerSize {
		v.found(f.path, f.size, true, "no directory at the end")
		return whole
	}
	return v.directory(f, found) && whole
}

// directory compares the directory with what a walk found.
// Only the first difference is reported: the others follow from it.
func (v *verifier) directory(f *File, found []Section) bool {
	if err := f.readDirectory(); err != nil {
		v.found(f.path, f.size-trailerSize, false, "directory: %v", err)
		return false
	}
	// The directory lists every section but itself, which is what found was
	// collected as.
	if len(f.sections) != len(found) {
		v.found(f.path, f.size-trailerSize, false, "directory has %d sections, the file %d", len(f.sections), len(found))
		return false
	}
	for i := range found {
		if f.sections[i] != found[i] {
			v.found(f.path, found[i].Offset, false, "%s section is not as the directory says", found[i].Type)
			return false
		}
	}
	return true
}
