package session

import (
	"alleria/interceptors"
	"alleria/internal/diskcache"
	"alleria/internal/session/plan"
	"errors"
	"io"
	"time"

	"alleria/analysis/live"
	"alleria/cab"
	"alleria/cab/tuner"
	"alleria/config"
	"alleria/engine"
	"alleria/proctree"
)

// What a run is for, as record's --only says. The empty string records what
// the configuration asks for.
const (
	OnlyAll       = ""          // what the configuration asks for
	OnlyTranslate = "translate" // run in the code cache, record nothing: the cost of translation alone
	OnlyCount     = "count"     // count instructions by process, thread and function; no entries
	OnlyBlocks    = "blocks"    // record which blocks ran, without accesses
)

// How far events are taken on their way to analyses, for measuring what each part of it takes (CAB paper, section 4).
// The analyses find nothing where it is not all of it.
const (
	StageAll     = ""        // they are analysed
	StageProduce = "produce" // written over and over to two chunks that nobody reads
	StageQueue   = "queue"   // handed over to a processing thread, which looks at a word of each cache line
)

// Whom a run follows besides the process that it starts.
const (
	FollowAll  = ""     // what the configuration names
	FollowNone = "none" // nobody
)

// Levels of Options.Compress besides zstd's own 1 to 22.
const (
	CompressDefault = 0  // the profile writer's choice
	CompressOff     = -1 // blocks of entries are stored as they are
)

// Errors that decide a command's exit status. Record wraps them; everything
// else that it returns is a failure of alleria itself.
var (
	// ErrNotFound: there is no such program (exit status 127).
	ErrNotFound = errors.New("program not found")
	// ErrCannotTrace: the program cannot be executed, or this machine does not
	// allow tracing it (exit status 126).
	ErrCannotTrace = errors.New("program cannot be traced")
	// ErrUsage: the options or the configuration contradict each other or the
	// machine (exit status 2).
	ErrUsage = errors.New("bad usage")
)

// Interception is how calls are captured.
type Interception struct {
	// Declarations say more of functions whose calls are captured; nil: nothing.
	Declarations *interceptors.Declarations
	// AllowModify lets the configuration change values of the program's calls; without it nothing is changed.
	AllowModify bool
	// Replay, if not nil, has a captured call made again in place of the program's main.
	Replay *Replay
}

// Directories says how outputs are begun and ended.
type Directories struct {
	// Force lets an existing output directory be replaced.
	Force bool
	// Sync has the profile on its disks at the end, so that what they refuse late is told.
	Sync bool
}

// Options is everything that a recording depends on besides the environment.
// The command line fills it; Record only reads it. The zero value of each field
// is its default, so that callers name only what they want to change.
type Options struct {
	// Program is the path to execute, already looked up in PATH, and Args its
	// arguments, Args[0] included, which may differ from Program.
	Program string
	Args    []string
	// Env and Dir are the target's environment and working directory. Nil and
	// empty: those of alleria.
	Env []string
	Dir string

	// Config is the window configuration; nil is config.Default. ConfigFrom says
	// for run.json where it was read: a path, or words for options and built-in.
	Config     *config.Config
	ConfigFrom string

	// Tool is what run.json says recorded it: a name and a version.
	Tool string

	// Outputs are the directories of the run. The first holds run.json and the
	// main profiles; streams are spread over all of them. Empty: a name made
	// of the program and the time.
	Outputs []string
	Directories
	// Discard consumes the entries and drops them: nothing is written.
	Discard bool
	// Compress is a zstd level, or one of the Compress constants.
	Compress int

	Beside

	// Only is one of the Only constants.
	Only string
	Calls
	Children
	// Tree numbers the processes and is told what becomes of them. Nil: the run makes one of its own.
	// The caller closes one that it gives.
	Tree *proctree.Tree
	Beginning
	Limits

	Processing

	// Buffering is how application threads and processing threads exchange records; the
	// zero value is the way that is meant to be used.
	Buffering cab.Buffering

	Interception

	// Engine switches optimisations of the engine off, by the names that
	// engineSwitches has: for tests and measurements.
	Engine []string

	// Log receives diagnostics for developers, nil none. Messages is where
	// warnings and the closing line go (stderr, or nothing with -q). Progress is
	// where progress goes; nil unless that is a terminal.
	Log      io.Writer
	Messages io.Writer
	Progress io.Writer
}

// Beginning says how programs start.
type Beginning struct {
	// Unpatched has processes run in the code cache for as long as windows wait for something, so that nothing lies in their code.
	Unpatched bool

	// NoASLR switches address-space randomisation off for the target.
	NoASLR bool
	// Kept is the folder in which translations stay for later runs; nil: nothing is kept.
	Kept *diskcache.Dir
}

// Children says what becomes of processes that the program creates.
type Children struct {
	// Follow is one of the Follow constants.
	Follow string
	// Warnings is where the user is told, even with -q, of programs that run unrecorded and of what else is not in the recording; nil: nowhere, and the
	// latter among Messages.
	Warnings io.Writer
}

// Beside says what is analysed while the program runs.
type Beside struct {
	// Analyses are made beside the program instead of writing what was recorded (see KeepRecords): results go into the
	// output, and are told at the end.
	Analyses []live.Spec
	// Readers is at how many places they read each ring, 0: as many as there are processors for. Those of one place take turns.
	Readers int
	// KeepRecords has the records written as well, by a reader of each ring of their own.
	KeepRecords bool
	// Sites, if any, is told which windows select what is translated.
	Sites *Sites
}

// Limits end a recording: they close all windows for good when the
// profile has so many bytes, the target has run so long or so many
// instructions were recorded; the target then runs on natively. 0: no bound.
type Limits struct {
	MaxSize         int64
	MaxTime         time.Duration
	MaxInstructions uint64
}

// Processing says who processes what is recorded, and by way of how many buffers.
type Processing struct {
	// SampleBy says how bursts are laid out: one of the SampleBy constants.
	SampleBy string
	// SampleSeed says where they are: another one has them at other places.
	SampleSeed uint64
	// Stage is how far what analyses need is taken: one of the Stage constants.
	Stage string
	// Threads is the most processing threads that there are; 0: one a processor.
	Threads int
	// FixedThreads is how many processing threads there are, whatever the load; 0: their number is adapted.
	FixedThreads int
	// NoThreads has application threads wait while their records are written.
	NoThreads bool
	// NoAffinity has processing threads run wherever the system puts them.
	NoAffinity bool
	// NoTuner keeps the number of processing threads and buffers from following the load.
	NoTuner bool
	// Thresholds are what changes of the load are compared with, and TunerPeriod how often: zeros are defaults.
	Thresholds  Thresholds
	TunerPeriod time.Duration
	// Buffers is how many chunks each ring has, from the beginning to the end; 0: as many as it needs.
	Buffers int
	// BufferChunk is the size of a ring's chunk in bytes, 0 the default.
	BufferChunk int
	// BufferMost is how many bytes a ring may grow to, 0 the default; two chunks are
	// the least that it has.
	BufferMost int

	// fault is called by processing threads, with their number, before they consume a chunk: for tests.
	fault func(thread int, chunk uint64)
}

// Thresholds are by which part the load has to change for adaptive profiling to do something: see package cab/tuner. Nil is the default.
type Thresholds struct{ TP, TAY1, TAY2, TAZ *float64 }

// orDefaults fills in what is not given.
func (t *Thresholds) orDefaults() tuner.Thresholds {
	d := tuner.Defaults()
	for _, v := range [...]struct {
		from *float64
		to   *float64
	}{{t.TP, &d.TP}, {t.TAY1, &d.TAY1}, {t.TAY2, &d.TAY2}, {t.TAZ, &d.TAZ}} {
		if v.from != nil {
			*v.to = *v.from
		}
	}
	return d
}

// Sites tells which windows select which instructions.
type Sites = plan.Sites

// Condition is what makes an execution worth a record, for Sites.If.
type Condition = plan.Condition

// ConditionOf is what it is about.
type ConditionOf = engine.ConditionOf

// What a condition is about.
const (
	OfAddress  = engine.OfAddress
	OfValue    = engine.OfValue
	OfRegister = engine.OfRegister
	OfSize     = engine.OfSize
	OfStore    = engine.OfStore
	OfPC       = engine.OfPC
	OfLength   = engine.OfLength
)

// Calls is what OnlyCount counts besides instructions.
type Calls struct {
	CountCalls bool // how often functions are called
	CountEdges bool // and from where
}
