package session

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"alleria/config"
	"alleria/internal/symbols"
)

// optionsFile is what config calls the text that it makes of a command's flags.
const optionsFile = "(options)"

// Names that do not exist: of so many the nearest are looked for, which takes a comparison with
// each function that there is, and so many are told of one by one.
const (
	mostSuggested = 10
	mostMissing   = 50
)

// fewMissing cuts a list of names that do not exist: a configuration may have been generated.
func fewMissing(out []string) []string {
	if len(out) <= mostMissing {
		return out
	}
	return append(out[:mostMissing:mostMissing], fmt.Sprintf("%d more names do not exist; alleria check --against lists them", len(out)-mostMissing))
}

// missingAtStart says what no later library can mend: functions of the main executable that it has not.
func (e *events) missingAtStart() []string {
	var out []string
	for _, l := range e.run.leaves() {
		ev := l.Event
		if l.Set() == e.run.windows && ev.Kind.Is(config.OfFunction) && !ev.OtherImage() && !e.found[l] {
			out = append(out, fmt.Sprintf("%s: %s", eventPlace(ev), e.whyMissing(ev, len(out) < mostSuggested)))
		}
	}
	return fewMissing(out)
}

// missed is the events whose function no process has had so far, in the order of the configuration, with what
// the first that lacked it had that comes nearest. Which there are is known after the run, because a
// library may be loaded as late as that. They are notes and no errors: the run went as the configuration said.
type missed struct {
	found map[*config.Event]bool
	why   map[*config.Event]string
	order []*config.Event
}

// see takes note of what a program image that ends has had.
func (m *missed) see(e *events) {
	if m.found == nil {
		m.found, m.why = make(map[*config.Event]bool), make(map[*config.Event]string)
	}
	for _, l := range e.run.leaves() {
		ev := l.Event
		if !ev.Kind.Is(config.OfFunction) {
			continue
		}
		if e.found[l] {
			m.found[ev] = true
		} else if _, ok := m.why[ev]; !ok && !m.found[ev] {
			m.why[ev] = fmt.Sprintf("%s: %s", eventPlace(ev), e.whyMissing(ev, len(m.order) < mostSuggested))
			m.order = append(m.order, ev)
		}
	}
}

// notes says which have never been found.
func (m *missed) notes() []string {
	var out []string
	for _, ev := range m.order {
		if !m.found[ev] {
			out = append(out, m.why[ev])
		}
	}
	return fewMissing(out)
}

// eventPlace says where an event was written: its line, or the flag it came by.
// A window made from flags has no lines of a file to point at.
func eventPlace(ev *config.Event) string {
	pos := ev.Pos.String()
	if !strings.HasPrefix(pos, optionsFile) {
		return pos
	}
	if ev.Kind == config.EventReturn {
		return "--till-return " + ev.Name
	}
	return "--on-call " + ev.Name
}

// whyMissing says why an event found no function: its image was never loaded, or has
// no such function, and then which it has.
// Three of the nearest names an image, if any are wanted: more would bury the right one.
func (e *events) whyMissing(ev *config.Event, suggest bool) string {
	var near []string
	matched := 0
	for _, l := range e.im.tables.Symbols.Images() {
		if !ev.MatchesImage(e.im.tables.Key(l)) {
			continue
		}
		matched++
		if suggest {
			near = append(near, e.suggest(l.Image, ev.Name)()...)
		}
	}
	image := ev.ImageName + ev.ImagePath
	switch {
	case matched == 0:
		return fmt.Sprintf("no image %s was loaded; the loaded images were %s", image, e.loadedNames())
	case len(near) > 0:
		// Sorted and compacted: several images may offer the same name.
		slices.Sort(near)
		return fmt.Sprintf("there is no function %s in %s; the nearest: %s", ev.Name, imageOr(image), strings.Join(slices.Compact(near), ", "))
	default:
		return fmt.Sprintf("there is no function %s in %s; alleria functions lists what can be named", ev.Name, imageOr(image))
	}
}

// suggestion asks for the names in an image that are nearest to one that it lacks.
type suggestion struct {
	image *symbols.Image
	name  string
}

// suggest begins to look for the nearest names, three at most, which its result waits for: all of an image's names are
// demangled and compared for that, which takes a compiler's a twentieth of a second. The target has
// just begun to run meanwhile, natively, so that there is a processor for it; afterwards somebody
// would wait.
func (e *events) suggest(im *symbols.Image, name string) func() []string {
	k := suggestion{im, name}
	near := e.near[k]
	if near == nil {
		near = sync.OnceValue(func() []string { return im.Nearest(name, 3) })
		if len(e.near) == mostSuggested { // looked for if it is told of
			return near
		}
		e.near[k] = near
		e.run.background.Go(func() { near() })
	}
	return near
}

// imageOr names the image of an event, which without one is the main executable.
func imageOr(image string) string {
	if image == "" {
		return "the main executable"
	}
	return image
}

// loadedNames lists images by name, those of the kernel left out.
// The vdso is not among them: no configuration can mean it.
func (e *events) loadedNames() string {
	var names []string
	for _, l := range e.im.tables.Symbols.Images() {
		if name := loadedName(l); name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// loadedName is an image's name as a configuration would give it, "" for the vdso.
func loadedName(l *symbols.Loaded) string {
	if strings.HasPrefix(l.Name, "[") {
		return ""
	}
	return l.Name
}
