package session

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"alleria/config"
	"alleria/config/vocab"
)

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
