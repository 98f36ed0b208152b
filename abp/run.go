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
	// Notes are warnings that whoever reads the profile should see.
	Notes []string `json:"notes,omitempty"`
}

// Host is the machine that a run was recorded on.
type Host struct {
	Name       string `json:"name"`
	Kernel     string `json:"kernel"`
	Processor  string `json:"processor"`
	Processors int    `json:"processors"`
	Memory     uint64 `json:"memory"`
}

// Outcome says how the recording ended, and Status how its first process did.
type Outcome struct {
	State  string `json:"state"` // an Outcome… constant
	Reason string `json:"reason,omitempty"`
	Status *int   `json:"status,omitempty"` // as a shell reports it
}

// ProcessEntry sums up one process of the run.
type ProcessEntry struct {
	Number   uint32   `json:"number"`
	PID      uint32   `json:"pid"`
	Parent   uint32   `json:"parent,omitempty"`
	Command  []string `json:"command"`
	Followed bool     `json:"followed"`
	Exit     *int     `json:"exit,omitempty"`
	Dir      string   `json:"dir,omitempty"` // relative to run.json
	Threads  int      `json:"threads,omitempty"`
	Counts
}

// ReadRun reads run.json of a run's directory.
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

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
