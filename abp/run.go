package abp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// RunFile is the name of the file that describes a run, in its directory.
const RunFile = "run.json"

// Outcomes of a run. A run that is being recorded, or whose recorder was
// killed, says running: only a recorder that got to its end can say otherwise.
const (
	OutcomeRunning  = "running"
	OutcomeComplete = "complete"
	OutcomeCutOff   = "cut off"
)

// Run is what run.json says.
//
// It is for people and scripts and for what no single process knows. Nothing in it is
// needed to read a profile: it is written last, and a run that was killed has the one
// from its beginning.
type Run struct {
	Format    int            `json:"format"` // version of this file, 1
	Tool      string         `json:"tool"`   // name and version of the recorder
	Command   []string       `json:"command"`
	WorkDir   string         `json:"workdir,omitempty"`
	Config    string         `json:"config,omitempty"` // what the configuration was read from
	Host      Host           `json:"host"`
	Started   time.Time      `json:"started"`
	Ended     *time.Time     `json:"ended,omitempty"`
	Outcome   Outcome        `json:"outcome"`
	Outputs   []string       `json:"outputs,omitempty"` // further directories that hold sub-profiles
	Processes []ProcessEntry `json:"processes"`
	Costs     *Costs         `json:"costs,omitempty"` // nil while the run lasts
	// Notes are warnings that whoever reads the profile should see.
	Notes []string `json:"notes,omitempty"`
}

// Costs are what recording took: where the time of the first process went, and
// the recorder's memory at its highest.
type Costs struct {
	NativeSeconds   float64 `json:"native_seconds"`    // it ran its own code
	CacheSeconds    float64 `json:"cache_seconds"`     // it ran translated code
	RingWaits       uint64  `json:"ring_waits"`        // times that a thread waited for room in its ring
	RingWaitSeconds float64 `json:"ring_wait_seconds"` // all threads together
	Requests        uint64  `json:"requests"`          // times that a thread asked the recorder, mostly for a translation
	RequestSeconds  float64 `json:"request_seconds"`   // that the recorder took to answer
	// What the kernel accounted to the program itself and to children that it waited for.
	TargetUserSeconds   float64 `json:"target_user_seconds"`
	TargetSystemSeconds float64 `json:"target_system_seconds"`
	TargetFaults        uint64  `json:"target_page_faults"`
	// Bytes: the recorder's private memory; the pages of the code cache, the look-up
	// tables and counters, which the target has mapped too; the rings.
	TracerMemory uint64 `json:"tracer_memory"`
	CacheMemory  uint64 `json:"cache_memory"`
	RingMemory   uint64 `json:"ring_memory"`
}

// Host is the machine that a run was recorded on.
type Host struct {
	Name       string `json:"name"`       // host name
	Kernel     string `json:"kernel"`     // release, as uname -r
	Processor  string `json:"processor"`  // its brand string
	Processors int    `json:"processors"` // that the recorder could use
	Memory     uint64 `json:"memory"`     // installed, bytes
}

// Outcome says how the recording ended, and Status how its first process did.
// A recording may be cut off (a full disk, a limit) while the program went on to
// its end: Status is there in that case too.
type Outcome struct {
	State  string `json:"state"` // an Outcome… constant
	Reason string `json:"reason,omitempty"`
	Status *int   `json:"status,omitempty"` // as a shell reports it
}

// ProcessEntry sums up one process of the run.
// Its counts are the recorded ones, or the exact ones of a run that only counted.
type ProcessEntry struct {
	Number uint32 `json:"number"` // in order of creation, from 1
	// Generation says which of the programs of the process that were recorded this is, from 1; 0: none was, or it is of all.
	Generation uint32   `json:"generation,omitempty"`
	PID        uint32   `json:"pid"`              // the kernel's
	Parent     uint32   `json:"parent,omitempty"` // its number; the first has none
	Command    []string `json:"command"`          // its command line, one argument each
	Followed   bool     `json:"followed"`         // it ran under the engine
	Exit       *int     `json:"exit,omitempty"`   // as a shell reports it; nil: its end was not seen
	Dir        string   `json:"dir,omitempty"`    // relative to run.json
	Threads    int      `json:"threads,omitempty"`
	Counts
	// Counted is what a run found that counted and recorded nothing.
	Counted *Counted `json:"counted,omitempty"`
	// Analyses are the kinds of analyses that were made while it ran; its records were not kept then.
	Analyses []string `json:"analyses,omitempty"`
}

// Counted are exact counts of instructions, for runs without entries to count.
// Both lists add up to the process's instructions.
type Counted struct {
	Threads   []CountedThread   `json:"threads"`   // by number
	Functions []CountedFunction `json:"functions"` // the most instructions first
}

// CountedThread is a thread by its number in the process, and by its OS id.
type CountedThread struct {
	Number       uint32 `json:"number"`       // within the process
	TID          uint32 `json:"tid"`          // the kernel's thread id
	Instructions uint64 `json:"instructions"` // executed
}

// CountedFunction is a function by its name and its image's. Both are empty for code
// in no image, Name for code in no function.
type CountedFunction struct {
	Name         string `json:"name,omitempty"`  // empty: code in no function
	Image        string `json:"image,omitempty"` // file name, empty: in no image
	Instructions uint64 `json:"instructions"`    // executed, exclusive of what it calls
	// Calls is how often it was entered, by calls or otherwise, but by jumps of its own; 0 where that was not counted.
	Calls uint64 `json:"calls,omitempty"`
}

// ReadRun reads run.json of a run's directory.
// Unknown fields are ignored, missing ones are zero: the file grows with versions.
func ReadRun(dir string) (*Run, error) {
	text, err := os.ReadFile(filepath.Join(dir, RunFile))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", RunFile, err)
	}
	r := new(Run)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("read %s: %w: %w", RunFile, ErrCorrupt, err)
	}
	return r, nil
}

// Write writes run.json into a directory, in one step: a reader finds the old
// file or the new one, never half of either.
func (r *Run) Write(dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", RunFile, err)
	}
	tmp := filepath.Join(dir, "."+RunFile+".new")
	if err := os.WriteFile(tmp, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", RunFile, errors.Join(err, removeIfThere(tmp)))
	}
	if err := os.Rename(tmp, filepath.Join(dir, RunFile)); err != nil {
		return fmt.Errorf("write %s: %w", RunFile, err)
	}
	return nil
}

// removeIfThere removes a file that may not exist.
func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
