package abp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
	// Functions are those of all processes that were counted, in the file alone: where these are several.
	Functions []FunctionName `json:"functions,omitempty"`
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
	// Processor time of the processing threads, all together.
	ProcessingSeconds float64 `json:"processing_seconds,omitempty"`
	// Where they ran last, and why there.
	ProcessingPlaced string `json:"processing_placed,omitempty"`
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
	// LostInstructions were recorded and could not be written: a disk was full, say. They are not among the counts.
	LostInstructions uint64 `json:"lost_instructions,omitempty"`
	// Counted is what a run found that counted and recorded nothing.
	Counted *Counted `json:"counted,omitempty"`
	// Analyses are the kinds of analyses that were made while it ran; its records were not kept then, unless RecordsKept says so.
	Analyses    []string `json:"analyses,omitempty"`
	RecordsKept bool     `json:"records_kept,omitempty"`
}

// HasRecords tells whether the process's records are to be in its profile.
func (e *ProcessEntry) HasRecords() bool { return len(e.Analyses) == 0 || e.RecordsKept }

// Counted are exact counts of instructions, for runs without entries to count.
// All lists add up to the process's instructions.
type Counted struct {
	Threads   []CountedThread   `json:"threads"`             // by number
	Programs  []CountedProgram  `json:"programs,omitempty"`  // that it executed, in order
	Functions []CountedFunction `json:"functions,omitempty"` // the most instructions first
	// Counts stands for Functions in the file alone: for each NUMBER:INSTRUCTIONS, or NUMBER:INSTRUCTIONS:CALLS, by its number in Run.Functions.
	Counts string        `json:"counts,omitempty"`
	Edges  []CountedEdge `json:"edges,omitempty"`
}

// CountedEdge is from where a function was entered, where that was counted; the most calls first. In JSON it is one string of numbers, since a
// compiler has twenty thousand: caller, callee, calls, and ADDRESS:CALLS of each site.
type CountedEdge struct {
	Caller int // which of the functions; -1: none, as of a program's first one
	Callee int
	Calls  uint64
	// Sites are addresses of call instructions, each with its calls; address 0 is jumps, signals and the like.
	Sites [][2]uint64
}

// MarshalText gives an edge its form in JSON.
func (e CountedEdge) MarshalText() ([]byte, error) {
	out := fmt.Appendf(nil, "%d %d %d", e.Caller, e.Callee, e.Calls)
	for _, s := range e.Sites {
		out = fmt.Appendf(out, " %#x:%d", s[0], s[1])
	}
	return out, nil
}

// UnmarshalText reads that.
func (e *CountedEdge) UnmarshalText(text []byte) error {
	*e = CountedEdge{}
	words := strings.Fields(string(text))
	if len(words) < 3 {
		return fmt.Errorf("edge %q: %w", text, ErrCorrupt)
	}
	if _, err := fmt.Sscan(strings.Join(words[:3], " "), &e.Caller, &e.Callee, &e.Calls); err != nil {
		return fmt.Errorf("edge %q: %w", text, ErrCorrupt)
	}
	for _, w := range words[3:] {
		addr, calls, _ := strings.Cut(w, ":")
		a, err := strconv.ParseUint(addr, 0, 64)
		n, also := strconv.ParseUint(calls, 10, 64)
		if err != nil || also != nil {
			return fmt.Errorf("site %q: %w", w, ErrCorrupt)
		}
		e.Sites = append(e.Sites, [2]uint64{a, n})
	}
	return nil
}

// CountedThread is a thread by its number in the process, and by its OS id.
type CountedThread struct {
	Number       uint32 `json:"number"`       // within the process
	TID          uint32 `json:"tid"`          // the kernel's thread id
	Instructions uint64 `json:"instructions"` // executed
}

// CountedProgram is a program that a process executed, or went on with when it was created.
type CountedProgram struct {
	Name         string `json:"name"`         // file name
	Instructions uint64 `json:"instructions"` // executed in it
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
	if err := r.ownNames(); err != nil {
		return nil, fmt.Errorf("read %s: %w", RunFile, err)
	}
	return r, nil
}

// runRoom is how many bytes run.json takes on the disk while a run is being recorded: what became of it has to find room
// there when the disk is full.
const runRoom = 8 << 10

// WriteFirst is Write for a run that begins, with room for what will have to be said of its end: white space behind
// the text. On a disk without that room there is none.
func (r *Run) WriteFirst(dir string) error {
	text, err := r.text()
	if err != nil {
		return err
	}
	if room := runRoom - len(text); room > 0 {
		if err := WriteFile(dir, RunFile, append(text, bytes.Repeat([]byte{'\n'}, room)...)); err == nil {
			return nil
		}
	}
	return WriteFile(dir, RunFile, text)
}

// Write writes run.json into a directory, in one step: a reader finds the old
// file or the new one, never half of either. Where there is no room for a second file it is written over the first, if it fits there.
func (r *Run) Write(dir string) error {
	text, err := r.text()
	if err != nil {
		return err
	}
	err = WriteFile(dir, RunFile, text)
	if err == nil || overwrite(filepath.Join(dir, RunFile), text) != nil {
		return err
	}
	return nil
}

// text is the file's contents.
func (r *Run) text() ([]byte, error) {
	text, err := json.MarshalIndent(r.sharedNames(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", RunFile, err)
	}
	return append(text, '\n'), nil
}

// WriteFile writes a file of a directory in one step. Nothing of it is left behind by an error.
func WriteFile(dir, name string, text []byte) error {
	return WriteFileBy(dir, name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// WriteFileBy is WriteFile of what f writes, for what need not be in memory at once.
func WriteFileBy(dir, name string, f func(w io.Writer) error) error {
	tmp := filepath.Join(dir, "."+name+".new")
	if err := writeBy(tmp, f); err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Join(err, removeIfThere(tmp)))
	}
	if err := os.Rename(tmp, filepath.Join(dir, name)); err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Join(err, removeIfThere(tmp)))
	}
	return nil
}

// writeBy has f write a file.
func writeBy(path string, f func(w io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(f(file), file.Close())
}

// errNoRoom: a file is shorter than what is to be written over it.
var errNoRoom = errors.New("no room")

// overwrite writes over a file that has the room, in its own blocks, and cuts what is behind.
func overwrite(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err == nil && st.Size() < int64(len(text)) {
		err = errNoRoom
	}
	if err == nil {
		_, err = f.WriteAt(text, 0)
	}
	if err == nil {
		err = f.Truncate(int64(len(text)))
	}
	return errors.Join(err, f.Close())
}

// removeIfThere removes a file that may not exist.
func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

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

	Load

	Settings *AdaptiveSettings `json:"settings,omitempty"` // of the run, in the first line
}

// Load is what the machine did meanwhile.
type Load struct {
	Processors float64 `json:"processors"` // that there are for the run
	AppCPU     float64 `json:"app_cpu"`    // of these, busy with the application,
	OwnCPU     float64 `json:"own_cpu"`    // with alleria,
	OtherCPU   float64 `json:"other_cpu"`  // with other programs
	AppDisk    float64 `json:"app_disk"`   // bytes a second that the application read from and wrote to disks
	Written    float64 `json:"written"`    // bytes a second of profile
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
