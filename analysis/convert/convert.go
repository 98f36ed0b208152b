package convert

import (
	"errors"
	"fmt"
	"io"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/cache"
)

// ErrNotRecorded says that a profile lacks what a format cannot do without.
var ErrNotRecorded = errors.New("not recorded")

// ErrUsage says that the options ask for what a format cannot do.
var ErrUsage = errors.New("cannot be converted")

// Split says how many outputs a format makes of a profile.
type Split uint8

// Splits.
const (
	SplitNone    Split = iota // one of everything
	SplitProcess              // one of each process
	SplitThread               // one of each thread
)

// Format is a format of another tool.
type Format struct {
	Name    string // as users type it
	Summary string // what it is and who reads it
	Needs   string // what has to have been recorded
	Ending  string // of file names, with the dot
	Split   Split
	Binary  bool // not for terminals
	Packed  bool // it is compressed by itself
	one     bool // it has one cost a stack
	all     bool // it has all costs, misses among them where they are wanted
	write   func(w io.Writer, o *Options) error
}

// Rows are what a row of a table is.
type Rows string

// Kinds of rows.
const (
	Accesses     Rows = "accesses"
	Instructions Rows = "instructions"
)

// Options say what is converted.
type Options struct {
	Profile  *abp.Profile
	Query    abp.Query // of one process or thread where the format is split so
	Progress *analysis.Progress
	// Partition leaves process and thread out of parquet: the file's path says them.
	Partition bool
	Rows      Rows // what csv, jsonl and parquet have a row for
	// Misses are the caches whose misses stacks have; nil: none.
	Misses *cache.Options
	// Cost is what a format with one cost a stack has, a name of CostNames; "": instructions. Others take none.
	Cost string
	// Note is told of what could not be converted or looked up; it may be nil.
	Note func(format string, args ...any)
}

// Formats returns all formats in the order in which help lists them.
func Formats() []*Format {
	return []*Format{
		pprofFormat(), callgrindFormat(), collapsedFormat(), speedscopeFormat(), firefoxFormat(), perfettoFormat(),
		drcovFormat(), lcovFormat(),
		dineroFormat(), extendedDineroFormat(), champsimFormat(), drmemtraceFormat(),
		csvFormat(), jsonlFormat(), parquetFormat(),
	}
}

// Find returns the format of a name, nil if there is none.
func Find(name string) *Format {
	for _, f := range Formats() {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Write converts what the options say. Errors wrap ErrNotRecorded and ErrUsage where these
// are the reason; what was written until then is to be thrown away.
func (f *Format) Write(w io.Writer, o Options) error {
	if o.Note == nil {
		o.Note = func(string, ...any) {}
	}
	if err := f.check(&o); err != nil {
		return err
	}
	if o.Cost == "" {
		o.Cost = CostNames()[0]
	}
	if o.Rows == "" {
		o.Rows = Accesses
	}
	if err := f.write(w, &o); err != nil {
		return fmt.Errorf("convert to %s: %w", f.Name, err)
	}
	return nil
}

// processes lists the processes that the query wants.
func (o *Options) processes() []*abp.Process {
	var list []*abp.Process
	for _, p := range o.Profile.Processes() {
		if wants(o.Query.Processes, p.Number()) && wants(o.Query.Programs, p.Generation()) {
			list = append(list, p)
		}
	}
	return list
}

// need refuses profiles of which some process has nothing of what a format is made of. flag
// is a bit of their headers' flags.
func (o *Options) need(flag abp.HeaderFlags, what string) error {
	for _, p := range o.processes() {
		if p.Header().Flags&flag != 0 {
			return nil
		}
	}
	return fmt.Errorf("%s: %w", what, ErrNotRecorded)
}

// needAccesses refuses profiles without accesses. The header's flag is not enough: it says what
// the configuration asked for, and blocks may have been recorded without them.
func (o *Options) needAccesses() error {
	var c abp.Counts
	for _, p := range o.processes() {
		c.Add(p.Counts(), 1)
	}
	if c.MemInstructions > 0 && c.Loads+c.Stores == 0 {
		return fmt.Errorf("addresses of accesses: %w", ErrNotRecorded)
	}
	return o.need(abp.FlagAddresses, "addresses of accesses")
}

// wants tells whether a query's list, where empty means all, has n.
func wants(list []uint32, n uint32) bool {
	for _, v := range list {
		if v == n {
			return true
		}
	}
	return len(list) == 0
}
