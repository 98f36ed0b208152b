package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"alleria/config/vocab"
)

// Default is the configuration that applies where no file is found: one window,
// always open, that records every memory access of every process with all four
// facts of the published profiler.
func Default() *Config {
	return always(&Image{Functions: []*Function{{Instructions: []*Instruction{{
		By:     AnyMemory,
		Fields: Recorded | TimeStamp | RoutineID | AccessAddressAndSize | AccessValue,
	}}}}})
}

// FollowOnly is the configuration that follows every process and records nothing.
func FollowOnly() *Config {
	return &Config{Windows: []*Window{{Number: 1, Profile: &Profile{Processes: []*Process{{}}}}}}
}

// always wraps an image selection in a window without events.
func always(images ...*Image) *Config {
	return &Config{Windows: []*Window{{
		Number:  1,
		Profile: &Profile{Processes: []*Process{{Threads: []*Thread{{Images: images}}}}},
	}}}
}

// OneOffOptions is a window as command-line options describe it. The zero value
// is Default.
type OneOffOptions struct {
	// OnCall opens the window when the function is entered, TillReturn closes it
	// when the function has returned. FUNCTION means the main executable's,
	// FUNCTION@IMAGE that of another, by file name or full path.
	OnCall, TillReturn string
	// OnInstructions and TillInstructions open and close the window at those
	// numbers of instructions, with the suffixes k, M and G. Empty: not.
	OnInstructions, TillInstructions string
	// Reopenable lets the window open again.
	Reopenable bool
	// Process lists the processes that are recorded, as ParseProcesses reads it; all others
	// are followed and nothing of them is recorded. Empty: every process.
	Process string
	// Image is main, app (every image but the system's), a file name or a full
	// path. Empty: all code.
	Image string
	// Function narrows the image down; it may hold *. Empty: all.
	Function string
	// Select is the instruction selector: any, anyMem, or form=, class=, isa=,
	// ext= or cat= with a XED name. Empty: anyMem.
	Select string
	// Fields are the facts to record, as ParseFields returns them. 0: all four
	// of the published profiler.
	Fields Fields
	// Intercept are functions whose calls are captured with what is known of their types, FUNCTION
	// (which may hold *) of any image, FUNCTION@IMAGE of one. No instruction is recorded then.
	Intercept []string
}

// IsZero tells that no option is given.
func (o OneOffOptions) IsZero() bool { return reflect.ValueOf(o).IsZero() }

// ErrOption is wrapped by what OneOff and ParseFields return for an option that
// makes no sense.
var ErrOption = errors.New("window option")

// OneOff builds the configuration that options describe. It passes through the
// parser, so that no option can build what a file could not say. Warnings are the
// parser's: of a selector that can match nothing.
func OneOff(o OneOffOptions) (*Config, []Warning, error) {
	// Before anything is built: XML cannot carry these characters, and an error from
	// the parser would name a file that nobody has written.
	for _, v := range append([]string{o.OnCall, o.TillReturn, o.Process, o.Image, o.Function, o.Select}, o.Intercept...) {
		if strings.ContainsFunc(v, unprintable) {
			return nil, nil, fmt.Errorf("%w: %q holds a character that a configuration cannot", ErrOption, short(v))
		}
	}
	c := Default()
	w := c.Windows[0]
	w.Reopenable = o.Reopenable
	w.On = o.event(EventCall, o.OnCall, o.OnInstructions)
	w.Till = o.event(EventReturn, o.TillReturn, o.TillInstructions)
	for _, e := range []*Event{w.On, w.Till} {
		if e != nil && e.Kind == EventInstructions && e.Threshold == 0 {
			return nil, nil, fmt.Errorf("%w: a number of instructions takes %s", ErrOption, spellings[count1Value].right)
		}
	}
	// Options stay as simple as they are because there are files; All and One are
	// theirs.
	if o.OnCall != "" && o.OnInstructions != "" || o.TillReturn != "" && o.TillInstructions != "" {
		return nil, nil, fmt.Errorf("%w: a window has one event to open and one to close; a file can combine several", ErrOption)
	}
	thread := w.Profile.Processes[0].Threads[0]
	var err error
	if len(o.Intercept) > 0 {
		thread.Images, err = o.captured()
	} else {
		err = o.instructions(thread.Images[0])
	}
	if err != nil {
		return nil, nil, err
	}
	if err := w.Profile.only(o.Process); err != nil {
		return nil, nil, err
	}
	out, warnings, err := Parse("(options)", c.XML())
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrOption, err)
	}
	return out, warnings, nil
}

// instructions narrows down an image whose instructions are recorded.
func (o OneOffOptions) instructions(image *Image) error {
	image.named(o.Image)
	image.Functions[0].Name = o.Function
	ins := image.Functions[0].Instructions[0]
	if o.Fields != 0 {
		ins.Fields = o.Fields | Recorded
	}
	return ins.selectBy(o.Select)
}

// captured is the images with the functions whose calls are captured.
func (o OneOffOptions) captured() ([]*Image, error) {
	if o.Image != "" || o.Function != "" || o.Select != "" || o.Fields != 0 {
		return nil, fmt.Errorf("%w: calls are captured instead of instructions; a file can ask for both", ErrOption)
	}
	var images []*Image
	of := make(map[string]*Image)
	for _, word := range o.Intercept {
		name, where := SplitFunction(trim(word))
		if name == "" {
			return nil, fmt.Errorf("%w: a function to intercept has a name, which may hold *", ErrOption)
		}
		if where == "all" {
			where = ""
		}
		image := of[where]
		if image == nil {
			image = &Image{}
			image.named(where)
			of[where], images = image, append(images, image)
		}
		image.Functions = append(image.Functions, &Function{Name: name, Intercept: &Intercept{Auto: true}})
	}
	// Of several elements that an image matches the most specific alone applies: what is asked for of all is
	// asked for of those that are named, too.
	if all := of[""]; all != nil {
		for _, image := range images {
			if image != all {
				image.Functions = append(image.Functions, all.Functions...)
			}
		}
	}
	return images, nil
}

// named makes an image the one that an option names.
// Five ways in one option: an image called main, app or all is still reachable by its path.
func (i *Image) named(word string) {
	switch {
	case word == "main":
		i.Main = true
	case word == "all": // as in the files that new writes
	case word == "app":
		i.AnyButSys = true
	case strings.Contains(word, "/"):
		i.Path = word
	default:
		i.Name = word
	}
}

// unprintable finds what XML cannot carry, and the replacement character, which
// is what invalid UTF-8 reads as: both would come back changed.
func unprintable(r rune) bool {
	return r < 0x20 && r != '\t' || r == utf8.RuneError || r == 0xfffe || r == 0xffff
}

// SplitFunction takes FUNCTION@IMAGE apart, the way in which options name the
// function of an image. Without @IMAGE the image is empty.
func SplitFunction(s string) (function, image string) {
	// Cut at the last @ like uftrace does: a symbol version, which holds one
	// too, is never part of a name here.
	if i := strings.LastIndexByte(s, '@'); i > 0 && i < len(s)-1 {
		return s[:i], s[i+1:]
	}
	return s, ""
}

// event builds the event for a function or a number of instructions, or none.
func (o OneOffOptions) event(kind EventKind, function, instructions string) *Event {
	switch {
	case function != "":
		e := &Event{Kind: kind}
		var image string
		if e.Name, image = SplitFunction(function); strings.Contains(image, "/") {
			e.ImagePath = image
		} else {
			e.ImageName = image
		}
		return e
	case instructions != "":
		return &Event{Kind: EventInstructions, Threshold: parseCount(instructions).val}
	}
	return nil
}

// selectBy reads an instruction selector option.
func (i *Instruction) selectBy(sel string) error {
	name, value, found := strings.Cut(sel, "=")
	if !found {
		name, value = "cat", sel
		if sel != "" && sel != "any" && sel != "anyMem" {
			return fmt.Errorf("%w: the selector %q is not any, anyMem, or one of %s followed by = and a XED name",
				ErrOption, short(sel), listWords(selectorAttributes[:], "and"))
		}
	}
	by := slices.Index(selectorAttributes[:], name)
	switch {
	case by < 0:
		best, _ := vocab.Closest(name, selectorAttributes[:])
		return fmt.Errorf("%w: nothing is selected by %q; the nearest known is %q", ErrOption, short(name), best)
	case sel == "" || name == "cat" && value == "anyMem":
		i.By = AnyMemory
	case name == "cat" && value == "any":
		i.By = AnyInstruction
	case value == "":
		return fmt.Errorf("%w: the selector %q lacks a XED name", ErrOption, short(sel))
	default:
		i.By, i.Value = SelectorKind(by), value
	}
	return nil
}

// ParseFields reads a comma-separated list of facts by their short names (time,
// function, address, value, branch) or their attributes' names; "none" is the
// instruction's address alone, "all" everything.
func ParseFields(list string) (Fields, error) {
	f := Recorded
	// All words are read before anything is returned, except that the first unknown
	// one ends it: one message for one option.
	for _, word := range strings.Split(list, ",") {
		word = trim(word)
		known := []string{"all", "none"}
		found := word == "none"
		for _, row := range fieldRows {
			known = append(known, row.short)
			if word == row.short || word == row.attr || word == "all" {
				f |= row.field
				found = true
			}
		}
		if !found {
			best, _ := vocab.Closest(word, known)
			return 0, fmt.Errorf("%w: nothing is recorded under the name %q; the nearest known is %q (of %s)",
				ErrOption, short(word), best, strings.Join(known, ", "))
		}
	}
	// The rule of the language, applied here as well because these fields do not go
	// through a file.
	if f.Has(AccessValue) {
		f |= AccessAddressAndSize
	}
	return f, nil
}
