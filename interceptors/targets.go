package interceptors

import (
	"fmt"

	"alleria/abp/calls"
	"alleria/config"
	"alleria/internal/capture"
)

// targetKey is what a target within a record depends on: the pointer's type, and where the variable lies that its
// length hangs on.
type targetKey struct {
	ptr calls.TypeID
	off uint32
	typ calls.TypeID
}

// fieldPointer is a followed pointer within a value, and the field of the same record that its length hangs on.
type fieldPointer struct {
	off     uint32
	ptr     calls.TypeID
	hasVar  bool
	varOff  uint32
	varType calls.TypeID
}

// fieldPointers lists the pointers of a value as calls.Table.Points does, with their variables.
func (c *Compiler) fieldPointers(t calls.TypeID) []fieldPointer {
	points := c.Table.Points(t)
	out := make([]fieldPointer, len(points))
	for i, p := range points {
		out[i] = fieldPointer{off: p.Offset, ptr: p.Type}
	}
	i := 0
	c.variables(t, 0, out, &i)
	return out
}

// variables walks a type in the order of its pointers and finds their variables.
func (c *Compiler) variables(t calls.TypeID, at uint32, out []fieldPointer, i *int) {
	ty := c.Table.Type(t)
	switch ty.Kind {
	case calls.Pointer:
		*i++
	case calls.Struct, calls.String:
		for k := range ty.Fields {
			f := &ty.Fields[k]
			if f.Bits > 0 {
				continue
			}
			if p := c.Table.Type(f.Type); p.Kind == calls.Pointer && *i < len(out) {
				c.variableOf(ty, at, p, &out[*i])
			}
			c.variables(f.Type, at+f.Offset, out, i)
		}
	case calls.Array:
		if len(c.Table.Points(ty.Elem)) == 0 {
			return
		}
		size := c.Table.Type(ty.Elem).Size
		for k := uint64(0); k < ty.Count && *i < len(out); k++ {
			c.variables(ty.Elem, at+uint32(k)*size, out, i)
		}
	}
}

// variableOf finds the field of a record that a pointer's length hangs on.
func (c *Compiler) variableOf(record *calls.Type, at uint32, p *calls.Type, out *fieldPointer) {
	if p.Variable == "" {
		return
	}
	for k := range record.Fields {
		if f := &record.Fields[k]; f.Name == p.Variable && f.Bits == 0 {
			out.hasVar, out.varOff, out.varType = true, at+f.Offset, f.Type
			return
		}
	}
}

// pointers makes the pointers of each element of a target.
func (c *Compiler) pointers(t calls.TypeID) ([]capture.Pointer, error) {
	var out []capture.Pointer
	for _, f := range c.fieldPointers(t) {
		target, err := c.fieldTarget(&f)
		if err != nil {
			return nil, err
		}
		out = append(out, capture.Pointer{Off: f.off, Target: target})
	}
	return out, nil
}

// fieldTarget makes the target of a pointer in a record in memory. A pointer to a record that holds such a pointer
// again leads to the same target: that is how lists end.
func (c *Compiler) fieldTarget(f *fieldPointer) (*capture.Target, error) {
	key := targetKey{f.ptr, f.varOff, f.varType}
	if t := c.targets[key]; t != nil {
		return t, nil
	}
	var v capture.Var
	if f.hasVar {
		v = capture.Var{Field: true, Off: f.varOff}
		c.measure(&v, f.varType)
	} else if c.Table.Type(f.ptr).Variable != "" {
		return nil, fmt.Errorf("the length of %s hangs on %q, which is not in the same record: %w", c.Table.Type(f.ptr).Name, c.Table.Type(f.ptr).Variable, ErrUnfit)
	}
	t := &capture.Target{}
	c.targets[key] = t
	return t, c.fill(t, f.ptr, v)
}

// target makes the target of a pointer in a value that is captured by itself, of which p is the piece with the pointer.
func (b *build) target(f *fieldPointer, pl place, p piece) (*capture.Target, error) {
	ty := b.c.Table.Type(f.ptr)
	switch {
	case ty.Variable == "":
		return b.c.fieldTarget(f)
	case f.hasVar: // of a record that is passed by value
		return b.recordTarget(f, pl, p)
	}
	v, err := b.variable(ty)
	if err != nil {
		return nil, err
	}
	t := &capture.Target{}
	return t, b.c.fill(t, f.ptr, v)
}

// recordTarget makes the target of a pointer in a record passed by value: the variable is in the same piece, or is one.
func (b *build) recordTarget(f *fieldPointer, pl place, p piece) (*capture.Target, error) {
	var v capture.Var
	for _, q := range pl.pieces {
		if f.varOff < q.off || f.varOff >= q.off+q.bytes {
			continue
		}
		switch {
		case q == p:
			v = capture.Var{Field: true, Off: f.varOff - q.off}
		case f.varOff == q.off:
			v = capture.Var{Src: q.src}
		case q.src.Kind == capture.Stack:
			v = capture.Var{Src: capture.Source{Kind: capture.Stack, N: q.src.N + f.varOff - q.off}}
		default:
			return nil, fmt.Errorf("the length of %s lies in the middle of a register: %w", b.c.Table.Type(f.ptr).Name, ErrUnfit)
		}
	}
	b.c.measure(&v, f.varType)
	t := &capture.Target{}
	return t, b.c.fill(t, f.ptr, v)
}

// variable finds the parameter that a pointer's length hangs on.
func (b *build) variable(ptr *calls.Type) (v capture.Var, err error) {
	if ptr.Variable == ResultName {
		if !b.exit || len(b.result.pieces) != 1 {
			return v, fmt.Errorf("the result is not known at entry: %w", ErrUnfit)
		}
		v.Src = b.result.pieces[0].src
		b.c.measure(&v, b.p.Result)
		return v, nil
	}
	w, ok := b.scope[ptr.Variable]
	if !ok {
		return v, fmt.Errorf("the length of %s hangs on %q, which is no parameter: %w", ptr.Name, ptr.Variable, ErrUnfit)
	}
	pl := b.places[w.Index]
	if len(pl.pieces) != 1 || pl.hidden {
		return v, fmt.Errorf("parameter %q is no number: %w", ptr.Variable, ErrUnfit)
	}
	v.Src = pl.pieces[0].src
	if b.exit {
		n, err := b.save(v.Src)
		if err != nil {
			return v, err
		}
		v.Src = capture.Source{Kind: capture.Saved, N: n}
	}
	b.c.measure(&v, w.Type)
	return v, nil
}

// measure says how a variable of a type is read: a number, an address that is a limit, or a pointer to one number.
func (c *Compiler) measure(v *capture.Var, t calls.TypeID) {
	ty := c.Table.Type(t)
	v.Bytes = uint8(min(max(ty.Size, 1), 8))
	switch ty.Kind {
	case calls.Signed:
		v.Signed = true
	case calls.Pointer:
		if e := c.Table.Type(ty.Elem); ty.Extent == calls.ExtentCount && ty.Count == 1 && (e.Kind == calls.Signed || e.Kind == calls.Unsigned) {
			v.Deref, v.Bytes, v.Signed = true, uint8(min(max(e.Size, 1), 8)), e.Kind == calls.Signed
		}
	}
}

// fill fills in the target of a pointer type.
func (c *Compiler) fill(t *capture.Target, ptr calls.TypeID, v capture.Var) error {
	ty := c.Table.Type(ptr)
	facts := c.facts[ptr]
	elem := c.Table.Type(ty.Elem)
	t.Size, t.Dec = max(elem.Size, 1), ty.Dec
	t.Max = uint32(min(facts.max, 1<<31))
	if t.Max == 0 {
		t.Max = config.DefaultPointerBytes
	}
	t.Len = capture.Length{Var: v, EndValid: facts.endValid}
	switch ty.Extent {
	case calls.ExtentCount:
		t.Len.Kind, t.Len.N = capture.Fixed, ty.Count
	case calls.ExtentSentinel:
		t.Len.Kind, t.Len.N = capture.Sentinel, ty.Sentinel
	case calls.ExtentVariable:
		t.Len.Kind = capture.Count
	case calls.ExtentEnd:
		t.Len.Kind, t.Len.Var.Deref, t.Len.Var.Bytes, t.Len.Var.Signed = capture.End, false, 8, false
	case calls.ExtentStart:
		t.Len.Kind, t.Len.Var.Deref, t.Len.Var.Bytes, t.Len.Var.Signed = capture.Start, false, 8, false
	}
	var err error
	t.Points, err = c.pointers(ty.Elem)
	return err
}
