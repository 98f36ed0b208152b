package config

import (
	"fmt"
	"slices"
	"strings"

	"alleria/config/vocab"
)

// ExplainElement documents one element of the language: what it means, where it
// stands, what it holds, its attributes, and an example. The name of an
// attribute documents that, in all elements that have it; Element.attribute in
// one of them. For an unknown name the error says which is the nearest.
func ExplainElement(name string) (string, error) {
	if e := elementNamed(name); e != nil {
		return e.help(), nil
	}
	// Attributes after elements: the names differ in their first letter's case,
	// so that no name means both.
	if text := attributeHelp(name); text != "" {
		return text, nil
	}
	if el, attr, ok := strings.Cut(name, "."); ok {
		if e := elementNamed(el); e != nil {
			if names := e.attrNames(); len(names) > 0 {
				return "", fmt.Errorf("%s has no attribute %q; it has %s", el, short(attr), listWords(names, "and"))
			}
			return "", fmt.Errorf("%s has no attributes", el)
		}
	}
	return "", fmt.Errorf("no element is named %q; %s", short(name), nearestNames(name))
}

// nearestNames suggests names of the language. Several, because what was meant
// may be an attribute as well as an element.
func nearestNames(name string) string {
	best, distance := vocab.Closest(name, ElementNames())
	attr, attrDistance := vocab.Closest(name, attributeNames())
	if attrDistance < distance {
		return fmt.Sprintf("the nearest are the attribute %s and the element %s", attr, best)
	}
	return "the nearest is " + best
}

// attributeNames lists every attribute of the language once.
func attributeNames() []string {
	var out []string
	for i := range language {
		out = append(out, language[i].attrNames()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// help is an element's page.
func (e *element) help() string {
	var b strings.Builder
	b.WriteString(e.name + "\n")
	fold(&b, 1, e.doc)
	// Where it stands before what it holds: help is mostly asked for after "cannot
	// hold an element".
	if parents := parentsOf(e.name); len(parents) > 0 {
		fold(&b, 1, "Stands in "+listWords(parents, "and")+".")
	} else {
		fold(&b, 1, "Is the outermost element.")
	}
	if len(e.groups) > 0 {
		fold(&b, 1, e.order()+".")
		// Once by name: "exactly one event" alone would send the reader to the list.
		if e.holdsEvents() {
			fold(&b, 1, "Events: "+strings.Join(e.groups[0].names, ", ")+".")
		}
	}
	for i := range e.attrs {
		if i == 0 {
			b.WriteString("\n  Attributes\n")
		}
		b.WriteString(e.attrs[i].help())
	}
	if e.name == "Instruction" {
		b.WriteByte('\n')
		fold(&b, 1, formHelp)
	}
	b.WriteString("\n  Example\n")
	for _, line := range strings.Split(exampleOf(e.name), "\n") {
		fmt.Fprintf(&b, "    %s\n", line)
	}
	return b.String()
}

// help is an attribute's entry. The default of booleans is the same everywhere
// and so not part of their own texts, which say the others.
func (a *attribute) help() string {
	var b strings.Builder
	fold(&b, 2, a.name+ifText(a.required, " (required)")+": "+a.doc+".")
	if a.kind != textValue { // "some text" is no news
		fold(&b, 3, "It takes "+a.right()+ifText(a.kind == boolValue, "; false if absent")+".")
	}
	return b.String()
}

// attributeHelp documents an attribute; empty if there is none of that name.
func attributeHelp(name string) string {
	of, attr, qualified := strings.Cut(name, ".")
	if !qualified {
		of, attr = "", name
	}
	var b strings.Builder
	for i := range language {
		e := &language[i]
		a := e.attr(attr)
		// All elements that have it, where none is named: what threshold means differs
		// from one to the next.
		if a == nil || of != "" && of != e.name {
			continue
		}
		b.WriteString(attr + " of " + e.name + "\n" + a.help())
	}
	return b.String()
}

// fold writes a paragraph, indented and broken at the width of a terminal like
// the lines of Explain, but flush: it is prose, in which nothing nests.
func fold(b *strings.Builder, depth int, text string) {
	indent := strings.Repeat("  ", depth)
	at := 0
	for _, word := range strings.Fields(text) {
		switch {
		case at == 0:
			b.WriteString(indent)
			at = len(indent)
		case at+1+len(word) > lineWidth:
			b.WriteString("\n" + indent)
			at = len(indent)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += len(word)
	}
	b.WriteByte('\n')
}

// holdsEvents recognises the choice of events, the only long one.
func (e *element) holdsEvents() bool { return len(e.groups) == 1 && len(e.groups[0].names) > 2 }

// ExplainLanguage lists every element with the first sentence of what it means,
// in the order of the language's parts: the frame, events, what is recorded, and
// interceptors.
func ExplainLanguage() string {
	var b strings.Builder
	for _, part := range []struct {
		title    string
		elements []element
	}{
		{"The frame", structureElements},
		{"Events, in On and Till", eventElements},
		{"What is recorded, in Profile", profileElements},
		{"Interceptors and their types", captureElements},
	} {
		b.WriteString(part.title + "\n")
		for _, e := range part.elements {
			// The doc's first sentence ends at the first full stop before a space;
			// none of them abbreviates anything before that.
			first, _, _ := strings.Cut(e.doc, ". ")
			fmt.Fprintf(&b, "  %-14s %s.\n", e.name, strings.TrimSuffix(first, "."))
		}
	}
	return b.String()
}
