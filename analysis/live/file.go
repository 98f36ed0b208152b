package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"alleria/abp"
	"alleria/analysis/cache"
	"alleria/analysis/calls"
	"alleria/analysis/coherence"
	"alleria/analysis/paths"
	"alleria/analysis/reuse"
	"alleria/analysis/strides"
)

// Format is the version of the files' format.
const Format = 1

// File is what is kept of an analysis, as JSON in the directory of the process.
type File struct {
	Format   int               `json:"format"`
	Analysis string            `json:"analysis"` // Spec.Kind
	Named    string            `json:"named"`    // as it was asked for
	Options  map[string]string `json:"options,omitempty"`
	Sampling *Sampling         `json:"sampling,omitempty"` // nil: everything was looked at
	Seconds  float64           `json:"processing_seconds"` // of processing threads
	Result   json.RawMessage   `json:"result"`
}

// Sampling says of how much of what was executed there were records. Counts are estimates then.
type Sampling struct {
	Recorded uint64 `json:"recorded"` // instructions executed in bursts
	Passed   uint64 `json:"passed"`   // and between them
	Bursts   uint64 `json:"bursts"`
	Lost     uint64 `json:"lost_words,omitempty"` // overwritten before they were consumed
	ByTime   uint64 `json:"by_time,omitempty"`    // of Passed: nanoseconds of processor time, each taken for an instruction
}

// Error is by how much the share of a function, a line or a path with that share of the instructions may be off, with a
// confidence of 95 %: as if each burst were of one kind of code only, which is the worst that it can be.
func (s *Sampling) Error(share float64) float64 {
	if s.Bursts == 0 {
		return 1
	}
	rest := 1 - float64(s.Recorded)/float64(max(s.Recorded+s.Passed, 1))
	return 1.96 * math.Sqrt(share*(1-share)/float64(s.Bursts)*rest)
}

// FileName is the name of an analysis's file.
func FileName(kind string) string { return "analysis-" + kind + ".json" }

// jsonWriter is a result that may be too large to be one text in memory.
type jsonWriter interface{ WriteJSON(w io.Writer) error }

// Write writes what became of an analysis into a process's directory.
func Write(dir string, o *Outcome, s *Sampling) error {
	f := File{Format: Format, Analysis: o.Spec.Kind, Named: o.Spec.Name, Options: o.Spec.Options, Sampling: s, Seconds: o.Took.Seconds(), Result: json.RawMessage("0")}
	head, err := json.Marshal(&f)
	if err == nil {
		err = abp.WriteFileBy(dir, FileName(o.Spec.Kind), func(w io.Writer) error { return writeResult(w, head[:len(head)-len("0}")], o.Result) })
	}
	if err != nil {
		return fmt.Errorf("result of %s: %w", o.Spec.Name, err)
	}
	return nil
}

// writeResult writes a result behind the head of its file, and the file's end.
func writeResult(w io.Writer, head []byte, result Result) error {
	_, err := w.Write(head)
	if j, ok := result.(jsonWriter); ok {
		err = errors.Join(err, j.WriteJSON(w))
	} else {
		text, wrong := json.Marshal(result)
		if err = errors.Join(err, wrong); err == nil {
			_, err = w.Write(text)
		}
	}
	if err == nil {
		_, err = w.Write([]byte("}\n"))
	}
	return err
}

// Verify looks whether the results are there that run.json names, and can be read. One that is missing from a run that was cut off is no
// damage.
func Verify(dir string, report func(abp.Problem)) error {
	run, err := abp.ReadRun(dir)
	if err != nil {
		return nil // whoever verifies profiles has said so, or there is no run
	}
	for i := range run.Processes {
		e := &run.Processes[i]
		for _, kind := range e.Analyses {
			path := filepath.Join(dir, e.Dir, FileName(kind))
			_, _, err := Read(filepath.Join(dir, e.Dir), kind)
			switch {
			case errors.Is(err, ErrNone):
				report(abp.Problem{Path: path, CutOff: run.Outcome.State != abp.OutcomeComplete, Text: "the result of the analysis is missing"})
			case errors.Is(err, ErrFormat):
				report(abp.Problem{Path: path, Text: err.Error()})
			case err != nil:
				return err
			}
		}
	}
	return nil
}

// Errors of reading.
var (
	// ErrNone: the process was not analysed that way while it ran.
	ErrNone = errors.New("no such analysis was made while it ran")
	// ErrFormat: the file is damaged, or newer than this program.
	ErrFormat = errors.New("not the result of an analysis")
)

// Read reads what was found of a process: the file and the result in it, a *calls.Tree, *cache.Result, *coherence.Result, *reuse.Result, *strides.Result
// or *HeatResult by kind. ErrNone, wrapped, where there is nothing.
func Read(dir, kind string) (*File, Result, error) {
	text, err := os.ReadFile(filepath.Join(dir, FileName(kind)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s of %s: %w", kind, dir, ErrNone)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s of %s: %w", kind, dir, err)
	}
	f, r, err := Decode(text)
	if err == nil && f.Analysis != kind {
		err = fmt.Errorf("it is of %q: %w", f.Analysis, ErrFormat)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", filepath.Join(dir, FileName(kind)), err)
	}
	return f, r, nil
}

// Decode reads a file's text.
func Decode(text []byte) (*File, Result, error) {
	f := new(File)
	if err := json.Unmarshal(text, f); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if f.Format != Format {
		return nil, nil, fmt.Errorf("format %d, this program knows %d: %w", f.Format, Format, ErrFormat)
	}
	var r Result
	check := func() error { return nil }
	switch f.Analysis {
	case KindCalls:
		t := new(calls.Tree)
		r = t
	case "cache":
		r = new(cache.Result)
	case "coherence":
		r = new(coherence.Result)
	case "reuse":
		r = new(reuse.Result)
	case "strides":
		r = new(strides.Result)
	case "paths":
		p := new(paths.Result)
		r, check = p, p.Check
	case "heatmap":
		h := new(HeatResult)
		r, check = h, h.check
	default:
		return nil, nil, fmt.Errorf("analysis %q: %w", f.Analysis, ErrFormat)
	}
	if err := errors.Join(json.Unmarshal(f.Result, r), check()); err != nil {
		return nil, nil, fmt.Errorf("%s: %w: %w", f.Analysis, ErrFormat, err)
	}
	return f, r, nil
}
