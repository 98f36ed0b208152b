package abp

import (
	"fmt"
	"strconv"
	"strings"
)

// FunctionName is a function by its name and its image's, as in CountedFunction.
type FunctionName struct {
	Name  string `json:"name,omitempty"`
	Image string `json:"image,omitempty"`
}

// sharedNames is the run as run.json has it. Where several processes were counted their functions are named once, in Functions, and each has one string of numbers
// (Counted.Counts): a build of 200 files has 600 processes with three thousand functions each, which took 186 MB, and a fifth of the time that counting it takes.
// One process has a list, which people read and scripts take apart.
func (r *Run) sharedNames() *Run {
	counted := 0
	for i := range r.Processes {
		if r.Processes[i].Counted != nil {
			counted++
		}
	}
	if counted < 2 {
		return r
	}
	out := *r
	out.Processes, out.Functions = append([]ProcessEntry(nil), r.Processes...), nil
	numbers := map[FunctionName]int{}
	for i := range out.Processes {
		e := &out.Processes[i]
		if e.Counted == nil {
			continue
		}
		text := make([]byte, 0, 12*len(e.Counted.Functions))
		for _, f := range e.Counted.Functions {
			name := FunctionName{f.Name, f.Image}
			n, ok := numbers[name]
			if !ok {
				n = len(out.Functions)
				numbers[name] = n
				out.Functions = append(out.Functions, name)
			}
			text = f.appendCounts(text, n)
		}
		c := *e.Counted
		c.Functions, c.Counts = nil, string(text)
		e.Counted = &c
	}
	return &out
}

// appendCounts appends the function, by its number, to a string of several.
func (f *CountedFunction) appendCounts(text []byte, number int) []byte {
	if len(text) > 0 {
		text = append(text, ' ')
	}
	text = append(strconv.AppendInt(text, int64(number), 10), ':')
	text = strconv.AppendUint(text, f.Instructions, 10)
	if f.Calls > 0 {
		text = strconv.AppendUint(append(text, ':'), f.Calls, 10)
	}
	return text
}

// ownNames undoes sharedNames.
func (r *Run) ownNames() error {
	for i := range r.Processes {
		c := r.Processes[i].Counted
		if c == nil || c.Functions != nil {
			continue
		}
		for word := range strings.FieldsSeq(c.Counts) {
			f, err := r.counted(word)
			if err != nil {
				return fmt.Errorf("process %d: counts %q: %w: %w", r.Processes[i].Number, word, ErrCorrupt, err)
			}
			c.Functions = append(c.Functions, f)
		}
		c.Counts = ""
	}
	r.Functions = nil
	return nil
}

// counted is a function of a string of several.
func (r *Run) counted(word string) (f CountedFunction, err error) {
	number, rest, _ := strings.Cut(word, ":")
	instructions, calls, hasCalls := strings.Cut(rest, ":")
	n, err := strconv.Atoi(number)
	if err == nil && (n < 0 || n >= len(r.Functions)) {
		err = fmt.Errorf("there are %d functions", len(r.Functions))
	}
	if err != nil {
		return f, err
	}
	f.Name, f.Image = r.Functions[n].Name, r.Functions[n].Image
	if f.Instructions, err = strconv.ParseUint(instructions, 10, 64); err == nil && hasCalls {
		f.Calls, err = strconv.ParseUint(calls, 10, 64)
	}
	return f, err
}
