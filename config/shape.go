package config

import (
	"fmt"
	"slices"
	"strings"

	"alleria/config/vocab"
)

// checkShape holds the tree against the language table: names, order, number,
// required attributes and the spelling of values. It also hangs each node's
// description on it. It goes on after a fault, so that all are reported.
func checkShape(f *faults, root *node) {
	if root.name != "AlleriaConfig" {
		f.shape(root.Pos, fmt.Sprintf("the outermost element is %s", short(root.name)), "it must be AlleriaConfig")
		return
	}
	checkElement(f, root, elementNamed(root.name))
}

// checkElement checks one element and those inside. Elements that are known but
// stand in the wrong place are looked into as well: whoever moves one should not
// then be told of the next fault.
func checkElement(f *faults, n *node, spec *element) {
	n.spec = spec
	checkAttributes(f, n)
	checkChildren(f, n)
	for _, c := range n.children {
		if c.spec != nil {
			checkElement(f, c, c.spec)
		}
	}
}

// checkAttributes reports unknown, malformed and missing attributes.
func checkAttributes(f *faults, n *node) {
	// By counting faults and not by a result of each check: they are three calls down.
	before := len(f.errs)
	defer func() { n.bad = len(f.errs) > before }()
	for i := range n.attrs {
		a := &n.attrs[i]
		spec := n.spec.attr(a.name)
		if spec == nil {
			f.shape(a.Pos, fmt.Sprintf("%s has no attribute %s", n.name, short(a.name)), attributeHint(n.spec, a.name))
			continue
		}
		checkValue(f, spec, a)
	}
	// In the table's order, so that of several missing ones the important is first.
	for i := range n.spec.attrs {
		if spec := &n.spec.attrs[i]; spec.required && n.get(spec.name) == nil {
			f.shape(n.Pos, fmt.Sprintf("%s lacks its attribute %s", n.name, spec.name),
				"it must be given: "+spec.doc+ifText(spec.kind != textValue, " ("+spec.right()+")"))
		}
	}
}

// attributeHint names the nearest attribute and the rest of them.
func attributeHint(spec *element, name string) string {
	names := spec.attrNames()
	switch {
	// The nearest to xml:lang would be a joke.
	case name == "xmlns" || strings.Contains(name, ":"):
		return "names have no namespace here"
	case len(names) == 0:
		return "it takes none"
	case len(names) == 1:
		return fmt.Sprintf("the nearest, and only one, is %s", names[0])
	}
	best, _ := vocab.Closest(name, names)
	return fmt.Sprintf("the nearest is %s (it takes %s)", best, strings.Join(names, ", "))
}

// checkChildren reports what may not stand inside, or not there, or not that
// often, and what is missing.
func checkChildren(f *faults, n *node) {
	// A sequence of choices is matched greedily: no name stands in two groups
	// that could both take it next, so the first that fits is the right one.
	counts := make([]int, len(n.spec.groups))
	at := 0 // the group that the last child belonged to
	var last *node
	for _, c := range n.children {
		g := n.spec.place(c.name, at, counts)
		switch {
		case g >= 0:
			at, last = g, c
			counts[g]++
			c.spec = elementNamed(c.name)
		// It may stand nowhere in this element.
		case !slices.Contains(n.spec.childNames(), c.name):
			f.shape(c.Pos, fmt.Sprintf("%s cannot hold an element %s", n.name, short(c.name)), elementHint(n.spec, c.name))
			// Known elsewhere: look inside all the same, there may be more to say.
			c.spec = elementNamed(c.name)
		// It may stand here, but not in this place or not again.
		default:
			c.spec = elementNamed(c.name)
			f.shape(c.Pos, misplaced(n, c, last), n.spec.order())
		}
	}
	for i, g := range n.spec.groups {
		// What stands in the wrong place was reported as that already.
		if counts[i] < g.min && !holdsAny(n, g.names) {
			f.shape(n.Pos, fmt.Sprintf("%s holds no %s", n.name, groupWords(g.names)), n.spec.order())
		}
	}
}

// place finds the group, from at on, that takes another element of that name.
func (e *element) place(name string, at int, counts []int) int {
	// Never back: order is part of the language, as an XML schema's sequence demands
	// it.
	for g := at; g < len(e.groups); g++ {
		if slices.Contains(e.groups[g].names, name) && (e.groups[g].max == 0 || counts[g] < e.groups[g].max) {
			return g
		}
	}
	return -1
}

// misplaced words the two ways in which a known child can be wrong.
func misplaced(n, c, last *node) string {
	for i, g := range n.spec.groups {
		if !slices.Contains(g.names, c.name) || g.max != 1 {
			continue
		}
		for _, d := range n.children {
			if d == c {
				break
			}
			if slices.Contains(g.names, d.name) && (d.name == c.name || len(g.names) > 1) {
				return fmt.Sprintf("%s holds a second %s after the one of line %d", n.name, groupWords(n.spec.groups[i].names), d.Line)
			}
		}
	}
	if last == nil {
		return fmt.Sprintf("%s is out of place in %s", c.name, n.name)
	}
	return fmt.Sprintf("%s stands after %s", c.name, last.name)
}

// holdsAny tells whether an element of one of the names stands inside, in the
// right place or not: something in the wrong place is not missing besides.
func holdsAny(n *node, names []string) bool {
	return slices.ContainsFunc(n.children, func(c *node) bool { return slices.Contains(names, c.name) })
}

// groupWords names a choice; a long one is the choice of events.
func groupWords(names []string) string {
	// Recognised by length, like holdsEvents: seventeen names in a message help
	// nobody, and there is no other long choice.
	if len(names) > 2 {
		return "event"
	}
	return strings.Join(names, " or ")
}

// order words what an element holds: "Window holds, in this order, an optional On, …".
func (e *element) order() string {
	if len(e.groups) == 0 {
		return e.name + " holds nothing"
	}
	// The counts are spelled out: "0..1" is short, and has to be explained each time.
	words := make([]string, len(e.groups))
	for i, g := range e.groups {
		what := groupWords(g.names)
		if what == "event" && g.max != 1 {
			what = "events"
		}
		switch {
		case g.min == 0 && g.max == 1:
			words[i] = "at most one " + what
		case g.max == 1:
			words[i] = "exactly one " + what
		case g.min == 0:
			words[i] = "any number of " + what
		default:
			words[i] = "one or more " + what
		}
	}
	if len(words) == 1 {
		return e.name + " holds " + words[0]
	}
	return e.name + " holds, in this order, " + strings.Join(words, ", ")
}

// elementHint names the nearest element: the nearest that may stand here,
// unless the name is clearly that of an element that belongs elsewhere.
func elementHint(parent *element, name string) string {
	if strings.Contains(name, ":") {
		return "names have no namespace here"
	}
	// Distances are in halves of a letter: up to two slips make it likely that
	// the other element was meant.
	everywhere, far := vocab.Closest(name, ElementNames())
	here, near := vocab.Closest(name, parent.childNames())
	switch {
	case here == "" && everywhere == name:
		return fmt.Sprintf("%s holds nothing; %s belongs in %s", parent.name, name, strings.Join(shortList(parentsOf(name)), ", "))
	case here == "":
		return fmt.Sprintf("%s holds nothing; the nearest element there is elsewhere is %s", parent.name, everywhere)
	case everywhere == name && len(parentsOf(name)) > 0:
		return fmt.Sprintf("%s belongs in %s; here the nearest is %s", name, strings.Join(shortList(parentsOf(name)), ", "), here)
	// Clearly another element, in the wrong place: naming the nearest that may stand
	// here would lead away from what was meant.
	case far < near && far <= 4 && len(parentsOf(everywhere)) > 0:
		return fmt.Sprintf("the nearest is %s, which belongs in %s", everywhere, strings.Join(shortList(parentsOf(everywhere)), ", "))
	}
	return "the nearest that it can hold is " + here
}

// shortList keeps the list of an event's possible parents readable.
func shortList(names []string) []string {
	if len(names) > 2 {
		return names[:2]
	}
	return names
}
