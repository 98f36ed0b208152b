package config

import (
	"fmt"
	"iter"
	"strconv"
)

// Config is a validated configuration. It is immutable.
type Config struct {
	Pos
	Types   Types     // for interceptors
	Windows []*Window // in the order of the file
}

// Window is a stretch of execution and what is recorded in it.
type Window struct {
	Pos
	// Name as given; Label never is empty.
	Name string
	// Number is the window's position in the file, from 1.
	Number     int
	Reopenable bool
	// On is nil when the window is open from the first instruction, Till when it
	// stays open until the process ends.
	On, Till *Event
	Profile  *Profile
}

// Label is what messages and profiles call the window: its name, else its number.
func (w *Window) Label() string {
	if w.Name != "" {
		return w.Name
	}
	return strconv.Itoa(w.Number)
}

// Profile is what is recorded while its window is open.
type Profile struct {
	Pos
	// SampleRate is the same in all windows of a configuration.
	SampleRate Rate
	Processes  []*Process // in the order of the file
}

// AllImages yields every Image element of the profile in the order of the file,
// whatever process and thread it is for: for questions about a configuration as
// a whole. What holds for one thread is a Matcher's to say.
func (p *Profile) AllImages() iter.Seq[*Image] {
	return func(yield func(*Image) bool) {
		for _, proc := range p.Processes {
			for _, t := range proc.Threads {
				for _, i := range t.Images {
					if !yield(i) {
						return
					}
				}
			}
		}
	}
}

// AllInstructions likewise yields every Instruction element.
func (p *Profile) AllInstructions() iter.Seq[*Instruction] {
	return func(yield func(*Instruction) bool) {
		for i := range p.AllImages() {
			for _, f := range i.Functions {
				for _, in := range f.Instructions {
					if !yield(in) {
						return
					}
				}
			}
		}
	}
}

// SelectsForms tells whether some selector names a form. Naming the forms of
// instructions costs more than everything else that selectors look at, so that
// whoever matches asks this first.
func (p *Profile) SelectsForms() bool {
	for in := range p.AllInstructions() {
		if in.By == ByForm {
			return true
		}
	}
	return false
}

// SelectsTypes tells whether some function is chosen by the type of a parameter.
func (p *Profile) SelectsTypes() bool {
	for i := range p.AllImages() {
		for _, f := range i.Functions {
			if f.Type != "" {
				return true
			}
		}
	}
	return false
}

// Process selects processes: by number alone, or by all of the others that are
// given. None given is every process that no other Process of the profile selects.
type Process struct {
	Pos
	N        int    // counts from 1 in creation order; 0: not by number
	Name     string // file name of the program that it executes; may hold *
	Path     string // whole path of that
	Argument string // pattern of one of its arguments
	Depth    Depth  // generations below the first process
	Under    int    // the number of an ancestor; 0: not by that
	Follow   Follow
	Threads  []*Thread // none: nothing of it is recorded
}

// Depth is a range of generations, both ends included.
type Depth struct {
	Given    bool
	From, To int
}

// String is the attribute's value.
func (d Depth) String() string {
	if d.From == d.To {
		return strconv.Itoa(d.From)
	}
	return fmt.Sprintf("%d..%d", d.From, d.To)
}

// Follow is what is followed besides the process itself.
type Follow uint8

// What can be followed, the widest first.
const (
	FollowAll  Follow = iota // what it creates and what it executes
	FollowExec               // what it executes
	FollowNone               // neither: it is detached when it executes a program
)

// String is the attribute's value.
func (f Follow) String() string {
	return [...]string{FollowAll: "all", FollowExec: "exec", FollowNone: "none"}[f]
}

// Any tells whether the element stands for every process that no other selects.
func (p *Process) Any() bool {
	return p.N == 0 && p.Name == "" && p.Path == "" && p.Argument == "" && !p.Depth.Given && p.Under == 0
}

// Thread selects threads of a process.
type Thread struct {
	Pos
	// N counts from 1 in creation order within the process; 0 is every other one.
	N        int
	Syscalls bool
	Signals  bool
	Images   []*Image
}

// Image selects code by the file it comes from. At most one of the four fields
// is set; none is all code, also that in no image.
type Image struct {
	Pos
	Name      string      // file name
	Path      string      // whole path, links resolved
	Main      bool        // the main executable
	AnyButSys bool        // every image that is not the system's
	Functions []*Function // none: nothing of it is recorded
}

// Function selects functions of an image.
type Function struct {
	Pos
	// Name is empty for all functions and the code in none. It may hold *.
	Name      string
	Decorated bool
	// Type selects, of those that the name means, the ones that have a parameter of that type, as C spells it; empty: all.
	Type         string
	Instructions []*Instruction
	Intercept    *Intercept
}

// SelectorKind is by what an Instruction selects. The order is that of
// specificity, the most specific first.
type SelectorKind uint8

// The selectors, most specific first.
const (
	ByForm SelectorKind = iota
	ByClass
	ByISA
	ByExt
	ByCat
	AnyMemory
	AnyInstruction
)

// Instruction selects instructions and says which facts of each are recorded.
type Instruction struct {
	Pos
	By SelectorKind // which attribute selects
	// Value is the XED name; empty for AnyMemory and AnyInstruction.
	Value     string
	Fields    Fields
	Registers []string
	// Sample keeps one in Sample at random; 0 and 1 keep all.
	Sample int
}

// Selector returns the attribute and value that select the instruction.
func (i *Instruction) Selector() (attribute, value string) {
	switch i.By {
	case AnyMemory:
		return "cat", "anyMem"
	case AnyInstruction:
		return "cat", "any"
	}
	return selectorAttributes[i.By], i.Value
}

// selectorAttributes is indexed by SelectorKind.
var selectorAttributes = [...]string{ByForm: "form", ByClass: "class", ByISA: "isa", ByExt: "ext", ByCat: "cat"}

// Fields is the set of facts recorded of an instruction.
type Fields uint8

// The facts. Recorded alone is the instruction's address.
const (
	Recorded Fields = 1 << iota
	TimeStamp
	RoutineID
	AccessAddressAndSize
	AccessValue // always with AccessAddressAndSize
	Branch
)

// Has tells whether all of the given facts are in the set.
func (f Fields) Has(all Fields) bool { return f&all == all }

// Attributes lists the attributes that ask for the facts of the set, in the
// order of help and files; Recorded has none.
func (f Fields) Attributes() []string {
	var out []string
	for _, row := range fieldRows {
		if f.Has(row.field) {
			out = append(out, row.attr)
		}
	}
	return out
}

// fieldRow ties a fact to its attribute, its short name in options and its
// words in explanations.
type fieldRow struct {
	field Fields
	attr  string
	short string
	words string
}

// fieldRows is in the order in which facts are written and spoken of.
var fieldRows = []fieldRow{
	{TimeStamp, "timeStamp", "time", "the time"},
	{RoutineID, "routineId", "function", "its function"},
	{AccessAddressAndSize, "accessAddressAndSize", "address", "the address and size of each access"},
	{AccessValue, "accessValue", "value", "the address, size and bytes of each access"},
	{Branch, "branch", "branch", "where it branched to, if it did"},
}
