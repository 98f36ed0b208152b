package interceptors

import (
	"slices"

	"alleria/abp/calls"
	"alleria/config"
)

// Several windows, or elements for different threads, may capture one function in different ways. A function has one program at a time, which captures what any of
// them asks for: a record for each would be two calls to whoever pairs entries with returns.

// Join adds to p what another Intercept of the same function asks for. What both capture alike stands there once. Where they differ in what the
// result is, or in how calls are changed, the first says it.
func (c *Compiler) Join(p, q *Prototype) {
	scopes := p.scopes()
	first := len(scopes)
	p.Scopes = append(slices.Clone(scopes), q.scopes()...)
	for i, t := range q.Args {
		if i == len(p.Args) {
			p.Args = append(p.Args, 0)
		}
		if p.Args[i] == 0 {
			p.Args[i] = t
		}
	}
	for _, w := range q.Captures {
		w.Scope += first
		if k := slices.IndexFunc(p.Captures, func(o Wanted) bool { return c.sameCapture(p, &o, q, &w) }); k >= 0 {
			o := &p.Captures[k]
			o.In, o.Out = o.In || w.In, o.Out || w.Out
			if o.Set == nil {
				o.Set = w.Set
			}
			continue
		}
		p.Captures = append(p.Captures, w)
	}
	slices.SortStableFunc(p.Captures, func(a, b Wanted) int { return a.Index - b.Index })
	if q.CaptureResult && !p.CaptureResult {
		p.Result, p.ResultAs, p.Results, p.CaptureResult, p.ResultScope = q.Result, q.ResultAs, q.Results, true, first+q.ResultScope
	}
	p.Fails = max(p.Fails, q.Fails)
	p.Variadic, p.Format = p.Variadic || q.Variadic, p.Format || q.Format
	p.MaxBytes = max(callBytes(p), callBytes(q))
	p.joinChanges(q)
}

// callBytes is how much of a call a prototype has captured.
func callBytes(p *Prototype) uint64 {
	if p.MaxBytes == 0 {
		return config.DefaultCallBytes
	}
	return p.MaxBytes
}

// joinChanges has calls changed as q says where p says nothing.
func (p *Prototype) joinChanges(q *Prototype) {
	switch {
	case q.Changes == nil:
		return
	case p.Changes == nil:
		p.Changes = q.Changes
		return
	}
	changes := *p.Changes
	if changes.Result == nil {
		changes.Result = q.Changes.Result
	}
	if changes.Fail == 0 {
		changes.Fail, changes.FailProbability = q.Changes.Fail, q.Changes.FailProbability
	}
	p.Changes = &changes
}

// sameCapture tells whether a capture of the joined p is of the same argument and type as one of q, and as long.
func (c *Compiler) sameCapture(p *Prototype, o *Wanted, q *Prototype, w *Wanted) bool {
	if o.Index != w.Index || o.Type != w.Type {
		return false
	}
	switch name := c.Table.Type(w.Type).Variable; name {
	case "":
		return true
	case ResultName:
		return p.Result == q.Result
	default:
		return p.Scopes[o.Scope][name] == p.Scopes[w.Scope][name]
	}
}

// Scope says what the names of one Intercept mean, on which the lengths of its pointers hang.
type Scope map[string]Variable

// Variable is a parameter that has a name.
type Variable struct {
	Index int // in Prototype.Args
	Type  calls.TypeID
}

// scopes are those of p: of a prototype that was not joined the names of its captures.
func (p *Prototype) scopes() []Scope {
	if len(p.Scopes) > 0 {
		return p.Scopes
	}
	s := make(Scope)
	for _, w := range p.Captures {
		if w.Name != "" {
			s[w.Name] = Variable{w.Index, w.Type}
		}
	}
	return []Scope{s}
}
