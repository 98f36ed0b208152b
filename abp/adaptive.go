package abp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// AdaptiveFile is the name of the log of what a run has adapted, in its directory, beside run.json. A run without it has adapted nothing.
const AdaptiveFile = "adaptive.jsonl"

// Adaptation is a line of the log: what was measured, and what was decided. Periods in which nothing was decided
// and nothing changed may be left out.
type Adaptation struct {
	Time   float64 `json:"t"`      // seconds since the run began
	Period float64 `json:"period"` // seconds since the line before; the measures are of this time
	Event  string  `json:"event"`  // one of the Event… constants
	// Phase is the state of the machine before the decision, and Next behind it: X (ramping up), Y (stable), Z (ramping down).
	Phase string `json:"phase,omitempty"`
	Next  string `json:"next,omitempty"`
	// Action is what became of a processing thread: one of the Action… constants, empty: nothing.
	Action string `json:"action,omitempty"`
	Why    string `json:"why,omitempty"`

	Threads   int `json:"threads"`             // processing threads that work, behind the decision
	Suspended int `json:"suspended,omitempty"` // that can be resumed
	Broken    int `json:"broken,omitempty"`    // that gave up
	Limit     int `json:"limit,omitempty"`     // how many there may be just now
	// Rings is one for each recorded application thread, Buffers the chunks that they have, Full those of these that wait to be
	// processed, Added what the decision added.
	Rings   int `json:"rings"`
	Buffers int `json:"buffers"`
	Full    int `json:"full,omitempty"`
	Added   int `json:"added,omitempty"`
	Began   int `json:"began,omitempty"` // application threads that did in this time

	PTIT   float64 `json:"ptit"`   // seconds that processing threads were idle, together
	ATWT   float64 `json:"atwt"`   // seconds that application threads waited for a free buffer, together
	Chunks uint64  `json:"chunks"` // buffers that they filled

	Processors float64 `json:"processors"` // that there are for the run
	AppCPU     float64 `json:"app_cpu"`    // of these, busy with the application,
	OwnCPU     float64 `json:"own_cpu"`    // with alleria,
	OtherCPU   float64 `json:"other_cpu"`  // with other programs
	AppDisk    float64 `json:"app_disk"`   // bytes a second that the application read from and wrote to disks
	Written    float64 `json:"written"`    // bytes a second of profile

	Settings *AdaptiveSettings `json:"settings,omitempty"` // of the run, in the first line
}

// Events of Adaptation.
const (
	EventStart  = "start"  // the first processing threads began
	EventTimer  = "timer"  // a period is over
	EventBroken = "broken" // a processing thread gave up
	EventEnd    = "end"
)

// Actions of Adaptation.
const (
	ActionCreate  = "create"
	ActionResume  = "resume"
	ActionSuspend = "suspend"
)

// AdaptiveSettings are what a run adapts by.
type AdaptiveSettings struct {
	Period float64 `json:"tf"` // seconds between decisions
	TP     float64 `json:"tp"` // thresholds, as parts
	TAY1   float64 `json:"tay1"`
	TAY2   float64 `json:"tay2"`
	TAZ    float64 `json:"taz"`
	Most   int     `json:"most"` // processing threads
}

// ReadAdaptive reads the log of a run's directory. A last line that was cut off is left out.
// The error wraps fs.ErrNotExist where nothing was adapted.
func ReadAdaptive(dir string) ([]Adaptation, error) {
	f, err := os.Open(filepath.Join(dir, AdaptiveFile))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", AdaptiveFile, err)
	}
	defer f.Close()
	rows, err := decodeAdaptive(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", AdaptiveFile, err)
	}
	return rows, nil
}

// adaptiveLine is more than any line has.
const adaptiveLine = 64 << 10

func decodeAdaptive(r io.Reader) (rows []Adaptation, err error) {
	s := bufio.NewReaderSize(r, adaptiveLine)
	for n := 1; ; n++ {
		line, err := s.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF): // what it has read is a line that was not finished
			return rows, nil
		case err != nil:
			return nil, fmt.Errorf("line %d: %w: %w", n, ErrCorrupt, err)
		}
		var a Adaptation
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, fmt.Errorf("line %d: %w: %w", n, ErrCorrupt, err)
		}
		rows = append(rows, a)
	}
}
