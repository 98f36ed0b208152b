package config

import (
	"fmt"
	"slices"
	"time"

	"alleria/config/vocab"
)

// decoder turns a checked tree into the model and finds the faults that no
// table can tell. It goes on after a fault: values that were already reported
// as misspelt read as zero, and the rules keep quiet about those.
type decoder struct {
	*faults
	types map[string]TypeRef
}

// config decodes the whole file: types first, because windows refer to them,
// then the windows in order. A window's number is its position, so that unnamed
// windows have something to be called by.
func (d *decoder) config(root *node) *Config {
	c := &Config{Pos: root.Pos}
	d.declareTypes(c, root)
	labels := map[string]Pos{} // by Label: an unnamed window has its number for a name
	for _, n := range root.children {
		if n.name != "Window" {
			continue
		}
		w := d.window(n)
		// Before the label is asked for, which falls back on it.
		w.Number = len(c.Windows) + 1
		c.Windows = append(c.Windows, w)
		if first, ok := labels[w.Label()]; ok {
			d.rule(n.Pos, fmt.Sprintf("a second window goes by the name %q", short(w.Label())),
				fmt.Sprintf("give it another name than the one of line %d", first.Line))
		} else {
			labels[w.Label()] = n.Pos
		}
	}
	d.oneRate(c)
	return c
}

// window decodes a Window. Of On, Till and Profile the first counts where the
// shape check found several: the rules inside it are still worth reporting.
// Reopenable without On is an error as in the published profiler; without Till
// it is merely without effect, and old files have it.
func (d *decoder) window(n *node) *Window {
	w := &Window{Pos: n.Pos, Name: n.text("name"), Reopenable: n.flag("reopenable")}
	for _, c := range n.children {
		switch {
		case c.name == "On" && w.On == nil:
			w.On = d.onlyEvent(c)
		case c.name == "Till" && w.Till == nil:
			w.Till = d.onlyEvent(c)
		case c.name == "Profile" && w.Profile == nil:
			w.Profile = d.profile(c)
		}
	}
	// Ahead of the return below: most windows are not reopenable, and these have this
	// fault as well.
	d.emptyWindow(w)
	if !w.Reopenable {
		return w
	}
	switch at := n.get("reopenable").Pos; {
	case !n.holds("On"):
		d.rule(at, "the window is reopenable but has no On", "add the event that reopens it, or remove reopenable")
	// Sample closes the window itself.
	case !n.holds("Till") && w.On != nil && w.On.Kind != EventSample:
		d.warn(at, "the window has no Till and so never closes to be reopened", "add a Till, or remove reopenable")
	}
	return w
}

// emptyWindow warns of windows that open for nothing: those that close before
// they could have opened, and those that record nothing while open. Both are
// what a slip looks like, of an order of magnitude or of a forgotten element.
func (d *decoder) emptyWindow(w *Window) {
	if on, till := w.On, w.Till; on != nil && till != nil && on.Kind == till.Kind && !till.SinceOpen &&
		on.Process == till.Process && on.Thread == till.Thread && on.AnyThread == till.AnyThread {
		early := on.Kind == EventInstructions && till.Threshold <= on.Threshold || on.Kind == EventTime && till.After <= on.After
		if early {
			d.warn(till.Pos, "Till is reached no later than On, so the window closes as it opens",
				"both count from the process's first instruction: let Till count further")
		}
	}
	// A profile without any Process is an error of shape already.
	if w.Profile != nil && len(w.Profile.Processes) > 0 && !w.Profile.recordsAnything() {
		d.warn(w.Profile.Pos, "the window records nothing: no Function holds an Instruction or an Intercept",
			`all accesses of all code are <Image><Function><Instruction cat="anyMem"/></Function></Image>`)
	}
}

// recordsAnything tells whether some selection is not an exclusion.
func (p *Profile) recordsAnything() bool {
	for _, proc := range p.Processes {
		for _, t := range proc.Threads {
			// The matcher knows what can record something; a second opinion here would
			// differ one day.
			if !compileThread(t).empty {
				return true
			}
		}
	}
	return false
}

// text returns an attribute's value as it stands, empty when absent.
func (n *node) text(name string) string {
	if a := n.get(name); a != nil {
		return a.value
	}
	return ""
}

// The accessors below give zero for what is absent and for what was misspelt
// alike: the shape check has reported the latter, and rules that could be misled
// look at node.bad.

// flag returns a boolean, false when absent.
func (n *node) flag(name string) bool {
	v, _ := parseBool(n.text(name))
	return v
}

// ordinal returns a number in creation order, 0 when absent.
func (n *node) ordinal(name string) int {
	// Bounded again, because a number that is too large was reported but still is in
	// the text.
	v := parseNumber(trim(n.text(name)))
	if !v.ok || v.val > maxOrdinal {
		return 0
	}
	return int(v.val)
}

// count returns a count, 0 when absent.
func (n *node) count(name string) uint64 {
	if v := parseCount(n.text(name)); v.ok {
		return v.val
	}
	return 0
}

// number returns a 64-bit number and whether there is one.
func (n *node) number(name string) (uint64, bool) {
	v := parseNumber(trim(n.text(name)))
	return v.val, v.ok
}

// duration returns a time, 0 when absent.
func (n *node) duration(name string) time.Duration {
	if v := parseTime(n.text(name)); v.ok {
		return time.Duration(v.val)
	}
	return 0
}

// holds tells whether an element of that name stands inside.
func (n *node) holds(name string) bool { return holdsAny(n, []string{name}) }

// given returns those of the attributes that are there, in the order written,
// so that of two that exclude each other the second is the one reported.
func (n *node) given(names ...string) []*attr {
	var out []*attr
	for i := range n.attrs {
		if slices.Contains(names, n.attrs[i].name) {
			out = append(out, &n.attrs[i])
		}
	}
	return out
}

// exactlyOne reports a choice of attributes of which none or several are given.
func (d *decoder) exactlyOne(n *node, names ...string) {
	switch got := n.given(names...); {
	// A misspelt attribute leaves its choice empty.
	case len(got) == 0 && n.meant(names):
		// Reported already, with the right name: saying it twice helps nobody.
	case len(got) == 0:
		d.rule(n.Pos, fmt.Sprintf("%s gives none of %s", n.name, listWords(names, "and")), "exactly one of them is needed")
	case len(got) > 1:
		d.rule(got[1].Pos, fmt.Sprintf("%s gives %s besides %s", n.name, got[1].name, got[0].name),
			fmt.Sprintf("exactly one of %s can be given", listWords(names, "and")))
	}
}

// meant tells that an unknown attribute is probably one of names, misspelt.
func (n *node) meant(names []string) bool {
	for i := range n.attrs {
		if n.spec.attr(n.attrs[i].name) != nil {
			continue
		}
		best, distance := vocab.Closest(n.attrs[i].name, n.spec.attrNames())
		// Two letters, in halves: further away it is probably something else that was
		// meant, and both messages help.
		if distance <= 4 && slices.Contains(names, best) {
			return true
		}
	}
	return false
}

// listWords joins names with commas and a last word.
func listWords(names []string, last string) string {
	s := ""
	for i, n := range names {
		switch {
		case i == 0:
			s = n
		case i == len(names)-1:
			s += " " + last + " " + n
		default:
			s += ", " + n
		}
	}
	return s
}

// onlyEvent decodes the event in On or Till. Further ones were reported by the
// shape check and are not looked at.
func (d *decoder) onlyEvent(n *node) *Event {
	for _, c := range n.children {
		if k := eventKindOf(c.name); k != EventNone {
			return d.event(c, k, n.name == "On")
		}
	}
	return nil
}

// event decodes an event and those inside. on tells that it stands in an On.
func (d *decoder) event(n *node, kind EventKind, on bool) *Event {
	// What most kinds share is read for all of them: an attribute that a kind does not
	// take was refused by the shape check, so that it reads as absent here.
	e := &Event{
		Pos: n.Pos, Kind: kind,
		Process: n.ordinal("process"), Thread: n.ordinal("thread"),
		AnyThread: n.flag("anyThread"), SinceOpen: trim(n.text("since")) == "open",
		Threshold: n.count("threshold"),
	}
	if decode := kind.spec().decode; decode != nil {
		decode(d, n, e, on)
	}
	// Only groups have any; elsewhere the shape check has refused them.
	for _, c := range n.children {
		if k := eventKindOf(c.name); k != EventNone && kind.Is(Group) {
			e.Children = append(e.Children, d.event(c, k, on))
		}
	}
	return e
}
