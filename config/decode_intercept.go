package config

import (
	"fmt"
	"slices"

	"alleria/config/vocab"
)

// intercept reads an Intercept. The same argument may stand twice if one
// captures at entry and the other at return, perhaps as different types; a
// second capture at the same moment would only be another view of the same bytes
// under a name that reports could not tell from the first, so it is refused.
func (d *decoder) intercept(n *node) *Intercept {
	ic := &Intercept{Pos: n.Pos, MaxBytes: n.count("maxBytes"), RetType: d.use(n, "retType"), Auto: n.flag("auto"), Depth: DefaultDepth}
	if a := n.get("depth"); a != nil {
		ic.Depth, ic.HasDepth = n.ordinal("depth"), true
		if !ic.Auto {
			d.rule(a.Pos, "depth has no effect without auto", `add auto="true", or leave depth out`)
		}
	}
	vars := variables{"Parameter", "the Intercept", map[string]TypeRef{}}
	// By moment and not by parameter: in and out of one argument are captured at
	// different times and do not collide.
	type slot struct {
		index int
		out   bool
	}
	taken := map[slot]*Parameter{}
	var nodes []*node
	for _, c := range n.children {
		if c.name != "Parameter" {
			continue
		}
		p := &Parameter{Pos: c.Pos, Name: c.text("name"), Index: c.ordinal("index"), Type: d.use(c, "type"), In: c.flag("in"), Out: c.flag("out")}
		d.setParameter(c, p)
		// Kept although it may be wrong, so that the variables below find it: a name
		// that is not found because its element has another fault would be a second
		// message about one mistake.
		ic.Parameters, nodes = append(ic.Parameters, p), append(nodes, c)
		if c.bad {
			continue // index, in or out may read as something else than was meant
		}
		d.boundIndex(c, p)
		if !p.In && !p.Out {
			d.rule(c.Pos, "Parameter is neither in nor out", `add in="true" to capture it at entry, out="true" at return, or both`)
		}
		// Also parameters that are only captured at return: whether the variable is known in time is for the capture to decide.
		vars.add(d, c, p.Name, p.Type)
		for _, out := range []bool{false, true} {
			if out && !p.Out || !out && !p.In {
				continue
			}
			if first, ok := taken[slot{p.Index, out}]; ok {
				d.rule(c.get("index").Pos, fmt.Sprintf("a second Parameter captures argument %d at the same time", p.Index),
					fmt.Sprintf("merge it with the one of line %d", first.Line))
				// One message for an element that collides in both directions.
				break
			}
			taken[slot{p.Index, out}] = p
		}
	}
	d.changes(n, ic)
	// A second pass, because a buffer may stand before the length that it refers to.
	for i, p := range ic.Parameters {
		d.variable(nodes[i], "type", p.Type, vars)
	}
	// A result may have its length from a parameter (read returns how much of the
	// buffer is filled), but not the other way round: the result has no name.
	d.variable(n, "retType", ic.RetType, vars)
	return ic
}

// setParameter reads how an argument is changed.
func (d *decoder) setParameter(n *node, p *Parameter) {
	if p.Set = d.change(n, p.Type); p.Set != nil && !p.In && p.Type.Pointer == nil {
		d.rule(p.Set.Pos, "an argument is changed when the function is entered", `add in="true"`)
	}
}

// changes reads how calls are changed, but for their parameters.
func (d *decoder) changes(n *node, ic *Intercept) {
	d.failure(n, ic)
	for _, c := range n.children {
		if c.name != "Result" || ic.Result != nil {
			continue
		}
		if ic.Result = d.change(c, ic.RetType); ic.RetType.IsZero() && !ic.Auto {
			d.rule(c.Pos, "the type of the result is not known", `add retType or auto="true" to the Intercept`)
		}
	}
	ic.Seed = n.count("seed")
	if a := n.get("seed"); a != nil && !ic.Changes() {
		d.rule(a.Pos, "seed has no effect without a change", "add a set or fail, or leave seed out")
	}
}

// variables is the names that a pointer's length may hang on, in one place.
type variables struct {
	what, where string
	types       map[string]TypeRef
}

// add enters a name. Unnamed parameters are fine: nothing can refer to them, and
// reports use the index.
func (v variables) add(d *decoder, n *node, name string, t TypeRef) {
	if name == "" {
		return
	}
	if _, ok := v.types[name]; ok {
		d.rule(n.get("name").Pos, fmt.Sprintf("a second %s of %s is named %q", v.what, v.where, short(name)), "give it another name")
		return
	}
	v.types[name] = t
}

// fieldVariables checks the pointers among a record's fields.
func (d *decoder) fieldVariables(n *node, t *Type) {
	// The same rules as for parameters, with the record for the intercept: a length
	// and its array mostly stand side by side.
	vars := variables{"Field", "the Type", map[string]TypeRef{}}
	var nodes []*node
	for _, c := range n.children {
		if c.name == "Field" {
			nodes = append(nodes, c)
		}
	}
	for i, f := range t.Fields {
		vars.add(d, nodes[i], f.Name, f.Type)
	}
	for i, f := range t.Fields {
		d.variable(nodes[i], "type", f.Type, vars)
	}
}

// variable checks that the variable on which a pointer's length hangs is there,
// and of a kind that can say it.
func (d *decoder) variable(n *node, attr string, use TypeRef, vars variables) {
	p := use.Pointer
	if p == nil || p.Variable == "" {
		return
	}
	// The place of the use. The declaration is right for other uses and would be the
	// wrong line to look at.
	at := n.get(attr).Pos
	ref, ok := vars.types[p.Variable]
	if !ok {
		names := make([]string, 0, len(vars.types))
		for name := range vars.types {
			names = append(names, name)
		}
		// Sorted, so that of two names that are equally near always the same is
		// suggested.
		slices.Sort(names)
		right := fmt.Sprintf("%s has no named %s", vars.where, vars.what)
		if best, _ := vocab.Closest(p.Variable, names); best != "" {
			right = fmt.Sprintf("the nearest known one is %q", best)
		}
		d.rule(at, fmt.Sprintf("type %q takes its length from %q, which is no %s of %s", short(p.Name), short(p.Variable), vars.what, vars.where), right)
		return
	}
	if ref.IsZero() {
		return // its own type is unknown and reported
	}
	if right := p.unfit(ref); right != "" {
		d.rule(at, fmt.Sprintf("type %q cannot take its length from %q, which is of type %q", short(p.Name), short(p.Variable), short(ref.Name)), right)
	}
}

// unfit says what a variable would have to be, or nothing if it is that.
func (p *Pointer) unfit(v TypeRef) string {
	q := v.Pointer
	if p.Length == LengthVariable {
		// A pointer to an integer is how functions return a length through an
		// argument; bool, floats and characters count nothing.
		if v.Builtin.Integer() || q != nil && q.Length == LengthCount && q.Count == 1 && q.Element.Builtin.Integer() {
			return ""
		}
		return "a number of elements is an integer, or a pointer to one integer"
	}
	// The attributes endVariable and startVariable remain, which name addresses.
	if v.Builtin == Ptr {
		return ""
	}
	// Both ends must step by the same elements, or the distance between them says
	// nothing. An untyped ptr is trusted.
	if q == nil || q.Element != p.Element {
		return "the other end is a pointer to " + p.Element.Name + ", or ptr"
	}
	// Two pointers that name each other must be the two ends of one array and
	// agree on what the end means.
	ends := q.Length == LengthEnd || q.Length == LengthStart
	if ends && (q.Length == p.Length || q.EndValid != p.EndValid) {
		return "one of two pointers that delimit an array has startVariable, the other endVariable, with the same endValid"
	}
	return ""
}

// boundIndex refuses a parameter's position that no function has.
func (d *decoder) boundIndex(n *node, p *Parameter) {
	if p.Index > MaxParameter {
		d.rule(n.get("index").Pos, fmt.Sprintf("no function has a parameter %d that could be captured", p.Index), fmt.Sprintf("give its position in the signature, from 0 to %d", MaxParameter))
	}
}
