package session

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"alleria/config"
	"alleria/config/vocab"
	"alleria/internal/session/plan"
	"alleria/internal/symbols"
)

// selections follows which images and functions that are to be recorded there have been.
// A name that nothing has is most often misspelt, and an empty profile does not say so.
//
// They are of the run and not of a program image: what an execve left behind was there.
type selections struct {
	processes *selectedProcesses
	images    []*config.Image                        // that name one
	loaded    map[*config.Image]bool                 // some loaded image was meant
	found     map[*config.Function]bool              // some function was meant
	searched  map[*config.Function][]*symbols.Loaded // where one was looked for in vain
	were      []string                               // names of what was loaded, for the message
	config    string                                 // what tells the configuration from others, also in another run
}

// newSelections collects what a configuration names.
// Images without a name are not followed, and their functions are: "any image" may
// be the right place for a wrong name.
func newSelections(c *config.Config) *selections {
	s := &selections{processes: newSelectedProcesses(c), loaded: make(map[*config.Image]bool), found: make(map[*config.Function]bool),
		searched: make(map[*config.Function][]*symbols.Loaded), config: fmt.Sprintf("%x", sha256.Sum256(c.XML()))}
	for _, w := range c.Windows {
		for _, p := range w.Profile.Processes {
			for _, t := range p.Threads {
				s.images = append(s.images, t.Images...)
			}
		}
	}
	return s
}

// see takes note of what is loaded now. It is told at each change, since an image may
// be unloaded again.
func (s *selections) see(t *plan.Tables) {
	for _, l := range t.Symbols.Images() {
		if name := loadedName(l); name != "" && !slices.Contains(s.were, name) {
			s.were = append(s.were, name)
		}
		for _, i := range s.images {
			if !s.loaded[i] && i.Matches(t.Key(l)) {
				s.loaded[i] = true
			}
		}
	}
}

// search looks for the functions in a program image that is about to end.
//
// Only images are searched whose code was looked at for recording: their tables of
// functions have been read, and where no window opened a name has done no harm yet.
// An image that was unloaded before is given the benefit of the doubt.
func (s *selections) search(t *plan.Tables) {
	for _, i := range s.images {
		var images []*symbols.Loaded
		for _, l := range t.Symbols.Images() {
			if t.Recorded(l) && i.Matches(t.Key(l)) {
				images = append(images, l)
			}
		}
		for _, f := range i.Functions {
			if f.Name == "" && f.Type == "" || s.found[f] {
				continue
			}
			for _, l := range images {
				if selects(l.Image, f) {
					s.found[f] = true
					break
				}
				s.searched[f] = append(s.searched[f], l)
			}
		}
	}
}

// selects tells whether an element means a function of an image.
func selects(im *symbols.Image, f *config.Function) bool {
	if f.Type == "" {
		return len(im.Select(f.Name, f.Decorated)) > 0
	}
	matches := f.Matching()
	fns := im.Functions()
	return slices.ContainsFunc(fns, func(fn symbols.Function) bool { return matches(plan.FuncKey(im, &fn)) })
}

// missing words what was never there. Notes and no errors, as for events.
func (s *selections) missing() []string {
	var out []string
	s.gather()
	for _, i := range s.images {
		if name := i.Name + i.Path; name != "" && !s.loaded[i] {
			out = append(out, fmt.Sprintf("%s: no image %s was loaded; the loaded images were %s", selectionPlace(i.Pos, imageFlag(i), name), name, strings.Join(s.were, ", ")))
		}
		for _, f := range i.Functions {
			if len(s.searched[f]) > 0 && !s.found[f] {
				out = append(out, fmt.Sprintf("%s: %s", selectionPlace(f.Pos, functionFlag(f), f.Name), s.noFunction(f, len(out) < mostSuggested)))
			}
		}
	}
	return fewMissing(out)
}

// gather has functions that options name without an image be told of once: config has put them into each image that other options name as well, and they are where any image has them.
func (s *selections) gather() {
	all := make(map[string]*config.Function)
	isOption := func(i *config.Image) bool { return strings.HasPrefix(i.Pos.String(), optionsFile) }
	isNamed := func(i *config.Image) bool { return i.Main || i.AnyButSys || i.Name+i.Path != "" }
	for _, i := range s.images {
		for _, f := range i.Functions {
			if isOption(i) && !isNamed(i) {
				all[f.Name] = f
			}
		}
	}
	for _, i := range s.images {
		for _, f := range i.Functions {
			of := all[f.Name]
			if of == nil || of == f || !isOption(i) {
				continue
			}
			s.found[of] = s.found[of] || s.found[f]
			s.searched[of] = append(s.searched[of], s.searched[f]...)
			delete(s.searched, f)
		}
	}
}

// functionFlag is the option that named a function, where an option did.
func functionFlag(f *config.Function) string {
	if f.Intercept != nil {
		return "--intercept"
	}
	return "--function"
}

// imageFlag is the option that named an image, where an option did: of calls the function's does.
func imageFlag(i *config.Image) string {
	if len(i.Functions) > 0 && i.Functions[0].Intercept != nil {
		return "--intercept"
	}
	return "--image"
}

// noFunction says where a function is not, and what comes nearest there, if that is wanted.
func (s *selections) noFunction(f *config.Function, suggest bool) string {
	var near, where []string
	for _, l := range s.searched[f] {
		if name := loadedName(l); name != "" && !slices.Contains(where, name) {
			where = append(where, name)
			if suggest && f.Type == "" {
				near = append(near, l.Image.Nearest(f.Name, 3)...)
			}
		}
	}
	if f.Type != "" {
		name := f.Name
		if name != "" {
			name = " " + name
		}
		return fmt.Sprintf("there is no function%s with a parameter of type %q in %s, as far as debug information says", name, f.Type, strings.Join(where, ", "))
	}
	slices.Sort(near)
	near = slices.Compact(near)
	text := fmt.Sprintf("there is no function %s in %s", f.Name, strings.Join(where, ", "))
	if len(near) == 0 {
		return text + "; alleria functions lists what can be named"
	}
	return text + "; the nearest: " + strings.Join(near[:min(len(near), 3)], ", ")
}

// selectionPlace says where a selection was written: its line, or the flag it came by.
func selectionPlace(p config.Pos, flag, name string) string {
	pos := p.String()
	if strings.HasPrefix(pos, optionsFile) {
		return flag + " " + name
	}
	return pos
}

// selectedProcesses follows which of the processes that a configuration names there have been. Whether there are is known
// after the run only: the tree may reach any number, and execute anything, until it ends.
type selectedProcesses struct {
	elements []*config.Process // that choose
	events   []*config.Event   // that name one
	found    map[*config.Process]bool
	highest  int      // the number of the last process
	executed []string // names of programs
}

// newSelectedProcesses collects what a configuration names.
func newSelectedProcesses(c *config.Config) *selectedProcesses {
	s := &selectedProcesses{found: make(map[*config.Process]bool)}
	for _, w := range c.Windows {
		for _, p := range w.Profile.Processes {
			if p.N > 0 || p.Name != "" || p.Path != "" || p.Argument != "" || p.Under > 0 || p.Depth.Given {
				s.elements = append(s.elements, p)
			}
		}
	}
	anyEvent(c, func(e *config.Event) bool {
		if e.Process > 0 {
			s.events = append(s.events, e)
		}
		return false
	})
	return s
}

// see takes note of a process that has been created, or has executed a program.
func (s *selectedProcesses) see(f *config.ProcessFacts) {
	s.highest = max(s.highest, f.Number)
	for _, p := range s.elements {
		s.found[p] = s.found[p] || p.Matches(f)
	}
	for _, path := range append([]string{f.Path}, f.Also...) {
		if name := filepath.Base(path); path != "" && len(s.executed) < maxUnrecordedNames && !slices.Contains(s.executed, name) {
			s.executed = append(s.executed, name)
		}
	}
}

// missing says which there never were. They are notes and no errors: the run went as the configuration said.
func (s *selectedProcesses) missing() []string {
	if s.highest == 0 { // nothing has run
		return nil
	}
	var out []string
	for _, p := range s.elements {
		if !s.found[p] {
			out = append(out, fmt.Sprintf("%s: %s", selectionPlace(p.Pos, "--process", s.chooses(p)), s.noProcess(p)))
		}
	}
	for _, e := range s.events {
		if e.Process > s.highest {
			out = append(out, fmt.Sprintf("%s: the event never came: there was no process %d; %s", e.Pos, e.Process, s.numbers()))
		}
	}
	return fewMissing(out)
}

// chooses is how --process names what the element chooses.
func (s *selectedProcesses) chooses(p *config.Process) string {
	if p.N > 0 {
		return fmt.Sprint(p.N)
	}
	return p.Path + p.Name
}

// noProcess says what of the element no process had.
func (s *selectedProcesses) noProcess(p *config.Process) string {
	if p.N > 0 {
		return fmt.Sprintf("there was no process %d; %s", p.N, s.numbers())
	}
	if p.Argument == "" && p.Under == 0 && !p.Depth.Given {
		if near := vocab.Nearest(p.Name, s.executed); near != "" {
			return fmt.Sprintf("no process executed %s; the nearest is %s", p.Path+p.Name, near)
		}
		return fmt.Sprintf("no process executed %s; executed were %s", p.Path+p.Name, strings.Join(s.executed, ", "))
	}
	return "no process was as this element says; alleria tree -- PROGRAM shows which there are"
}

// numbers says which processes there were.
func (s *selectedProcesses) numbers() string {
	if s.highest == 1 {
		return "the program created none"
	}
	return fmt.Sprintf("the tree had 1 to %d", s.highest)
}
