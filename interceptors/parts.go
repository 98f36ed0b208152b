package interceptors

import (
	"fmt"

	"alleria/abp/calls"
	"alleria/config"
)

// Records that hold records by value many times over have more parts than any memory holds, in a few lines of text: ten levels of ten fields are ten thousand million. Whoever
// walks through a value, to find its pointers, its class or its text, would walk for good. So a record of too many parts is one without any: its size is known, and nothing in it.

// maxParts is how many values a value may have within it, elements of arrays counted once, as of a configuration's Type. Readers take more.
const maxParts = config.MaxRecordParts

// partsOf is how many values a type has within it, itself among them; those of what pointers lead to not.
func (c *Compiler) partsOf(id calls.TypeID) int {
	if n := c.parts[id]; n > 0 {
		return n
	}
	n, ty := 1, c.Table.Type(id)
	switch ty.Kind {
	case calls.Struct, calls.Union, calls.String:
		for i := range ty.Fields {
			n += c.partsOf(ty.Fields[i].Type)
		}
	case calls.Array, calls.Vector:
		n += c.partsOf(ty.Elem)
	}
	c.parts[id] = n
	return n
}

// bounded returns the fields of a record, or none if they have too many parts. They are made already.
func (c *Compiler) bounded(name *string, fields []calls.Field) []calls.Field {
	n := 1
	for i := range fields {
		if n += c.partsOf(fields[i].Type); n > maxParts {
			*name = fmt.Sprintf("%s, of more than %d parts", *name, maxParts)
			c.crowded[*name] = true
			return nil
		}
	}
	return fields
}

// checkParts refuses arguments and results that are of a type without its parts: where they travel is not known.
func (c *Compiler) checkParts(p *Prototype) error {
	for i, t := range append([]calls.TypeID{p.Result}, p.Args...) {
		if name := c.crowdedIn(t, 0); name != "" {
			what := fmt.Sprintf("parameter %d", i-1)
			if i == 0 {
				what = "the result"
			}
			return fmt.Errorf("%s has in it %s: %w", what, name, ErrUnfit)
		}
	}
	return nil
}

// crowdedIn is the name of a record of too many parts that a value has in it, or is; empty: there is none.
func (c *Compiler) crowdedIn(t calls.TypeID, depth int) string {
	ty := c.Table.Type(t)
	if len(c.crowded) == 0 || depth > 64 {
		return ""
	}
	switch ty.Kind {
	case calls.Struct, calls.Union:
		if c.crowded[ty.Name] {
			return ty.Name
		}
		for i := range ty.Fields {
			if name := c.crowdedIn(ty.Fields[i].Type, depth+1); name != "" {
				return name
			}
		}
	case calls.Array:
		return c.crowdedIn(ty.Elem, depth+1)
	}
	return ""
}
