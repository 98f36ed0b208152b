package interceptors

import (
	"slices"

	"alleria/abp/calls"
	"alleria/config"
	"alleria/internal/errno"
)

// Configured makes the prototype of an Intercept. known is what else is known of the function, nil if nothing: it
// says where the parameters that the configuration leaves out travel.
func (c *Compiler) Configured(ic *config.Intercept, known *Prototype) *Prototype {
	p := &Prototype{MaxBytes: ic.MaxBytes}
	if known != nil {
		p.Args = append(p.Args, known.Args...)
		p.Result, p.Variadic, p.Go, p.Windows, p.Results, p.Clang, p.Widest = known.Result, known.Variadic, known.Go, known.Windows, known.Results, known.Clang, known.Widest
		p.Rust, p.Unplaced, p.Fails = known.Rust, known.Unplaced, known.Fails
		p.Left, p.Unsure = slices.Clone(known.Left), slices.Clone(known.Unsure)
	}
	if known != nil && ic.Auto {
		p.CaptureResult, p.Format = known.CaptureResult, known.Format
		for _, w := range known.Captures {
			if !slices.ContainsFunc(ic.Parameters, func(q *config.Parameter) bool { return q.Index == w.Index || q.Name != "" && q.Name == w.Name }) {
				p.Captures = append(p.Captures, w)
			}
		}
	}
	for _, q := range ic.Parameters {
		for len(p.Args) <= q.Index {
			p.Args = append(p.Args, 0)
			if p.Left != nil {
				p.Left, p.Unsure = append(p.Left, false), append(p.Unsure, false)
			}
		}
		t := c.use(q.Type)
		if p.Rust == 0 || known == nil || q.Index >= len(known.Args) { // of a Rust type a configuration cannot say how it is represented
			p.Args[q.Index] = t
		}
		p.Captures = append(p.Captures, Wanted{Name: q.Name, Index: q.Index, Type: t, In: q.In, Out: q.Out, Set: q.Set})
	}
	slices.SortStableFunc(p.Captures, func(a, b Wanted) int { return a.Index - b.Index })
	if !ic.RetType.IsZero() {
		if p.Rust > 0 {
			p.ResultAs = p.Result
		}
		p.Result, p.CaptureResult, p.Results = c.use(ic.RetType), true, false
	}
	if ic.Changes() {
		p.Changes = &Changes{Seed: ic.Seed, Result: ic.Result, Fail: errno.Number(ic.Fail), FailProbability: ic.FailProbability}
		if p.Result != 0 {
			p.CaptureResult = true
		}
	}
	return p
}

// use makes a type of a configuration.
func (c *Compiler) use(r config.TypeRef) calls.TypeID {
	switch {
	case r.Record != nil:
		return c.record(r.Record)
	case r.Pointer != nil:
		return c.pointer(r.Pointer)
	}
	return c.builtin(r.Builtin)
}

// builtin makes a built-in type, once.
func (c *Compiler) builtin(b config.Builtin) calls.TypeID {
	if b == config.NoBuiltin {
		return 0
	}
	if id := c.plain[b]; id != 0 {
		return id
	}
	r := config.TypeRef{Builtin: b}
	t := calls.Type{Kind: calls.Unsigned, Name: b.String(), Size: uint32(r.Size()), Align: uint32(r.Align())}
	switch {
	case b.Signed():
		t.Kind = calls.Signed
	case b.Float():
		t.Kind = calls.Float
	case b == config.ASCII:
		t.Kind = calls.Char
	case b == config.Unicode:
		t.Kind = calls.Char16
	case b == config.Bool:
		t.Kind = calls.Bool
	case b == config.Ptr:
		t.Kind = calls.Address
	}
	id := c.Table.Add(t)
	c.plain[b] = id
	return id
}

// record makes a Type. Its number is known before its fields are made, since they may lead back to it.
func (c *Compiler) record(r *config.Type) calls.TypeID {
	if id := c.config[r]; id != 0 {
		return id
	}
	id := c.Table.Add(calls.Type{Kind: calls.Struct, Name: r.Name, Size: uint32(r.Size), Align: uint32(r.Align)})
	c.config[r] = id
	var fields []calls.Field
	for _, f := range r.Fields {
		fields = append(fields, calls.Field{Name: f.Name, Type: c.use(f.Type), Offset: uint32(f.Offset)})
	}
	name := r.Name
	fields = c.bounded(&name, fields)
	c.Table.Types[id-1].Fields, c.Table.Types[id-1].Name = fields, name
	return id
}

// pointer makes a Pointer.
func (c *Compiler) pointer(p *config.Pointer) calls.TypeID {
	if id := c.config[p]; id != 0 {
		return id
	}
	t := calls.Type{Kind: calls.Pointer, Name: p.Name, Size: 8, Align: 8, Variable: p.Variable, Sentinel: p.Sentinel, Dec: p.Dec}
	switch p.Length {
	case config.LengthSentinel:
		t.Extent = calls.ExtentSentinel
	case config.LengthVariable:
		t.Extent = calls.ExtentVariable
	case config.LengthEnd:
		t.Extent = calls.ExtentEnd
	case config.LengthStart:
		t.Extent = calls.ExtentStart
	default:
		t.Extent, t.Count = calls.ExtentCount, p.Count
	}
	id := c.Table.Add(t)
	c.config[p] = id
	c.facts[id] = pointerFacts{max: p.MaxBytes, endValid: p.EndValid}
	c.Table.Types[id-1].Elem = c.use(p.Element)
	return id
}
