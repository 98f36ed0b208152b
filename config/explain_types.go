package config

import "fmt"

// types lists the types with their computed sizes and offsets: those are what
// one compares with a debugger's when captured values look wrong.
func (e *explainer) types(t *Types) {
	e.line(0, "Types")
	for _, r := range t.Types {
		e.line(1, "%s: a record of %d bytes", r.Name, r.Size)
		for _, f := range r.Fields {
			e.line(2, "%s of type %s at byte %d", f.Name, f.Type.Name, f.Offset)
		}
	}
	// Pointers behind the records, as XML writes them: what they point at has been
	// shown then.
	for _, p := range t.Pointers {
		e.line(1, "%s: a pointer to %s", p.Name, p.words())
	}
}

// words says what a pointer points at. How many elements there are comes first,
// because a wrong answer to that is what makes captures too long or empty.
func (p *Pointer) words() string {
	order := ", the lowest first"
	if p.Dec {
		order = ", the highest first"
	}
	elems := "elements of type " + p.Element.Name
	switch p.Length {
	case LengthCount:
		if p.Count == 1 {
			return "one element of type " + p.Element.Name
		}
		return fmt.Sprintf("%d %s%s", p.Count, elems, order)
	case LengthSentinel:
		return fmt.Sprintf("%s up to and including the first that is %s%s", elems, p.SentinelText, order)
	case LengthVariable:
		return fmt.Sprintf("as many %s as %s says%s", elems, p.Variable, order)
	}
	// Which of the two an end is decides about the last element, and is forgotten more
	// often than anything else.
	end := ifText(!p.EndValid, "one past ") + "the last"
	if p.Length == LengthEnd {
		return fmt.Sprintf("%s; %s points at %s", elems, p.Variable, end)
	}
	return fmt.Sprintf("%s of %s that begin at %s", end, elems, p.Variable)
}
