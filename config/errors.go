package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in a configuration file. Line and Col count from 1, Col in
// characters rather than bytes because that is what editors show. The zero Line
// means that there is no such place: a built-in or command-line configuration.
type Pos struct {
	File string // as it was given; "(options)" for flags
	Line int    // from 1
	Col  int    // from 1, in characters
}

// String formats the place as file:line:column, or the file alone.
func (p Pos) String() string {
	switch {
	case p.Line > 0:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
	case p.File != "":
		return p.File
	}
	return "(no file)"
}

// compare orders places as a reader meets them.
func (p Pos) compare(q Pos) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Col, q.Col))
}

// Error is one fault: where, what is wrong, and what would be right instead.
type Error struct {
	Pos
	What  string // what is wrong, without the place
	Right string // what would be right; may be empty
	// Err is the cause where there is one (the file could not be read).
	Err error
	// Unmatched tells of a warning that it is about a selector which no instruction can match. A file may be older
	// or newer than the decoder; where somebody has just written the name it is an error.
	Unmatched bool

	// rule marks a fault that XSD 1.0 has no means to express; the agreement
	// test between parser and schema rests on it.
	rule bool
}

// Error formats the fault as file:line:column: what is wrong; what would be right.
func (e Error) Error() string {
	if e.Right == "" {
		return e.Pos.String() + ": " + e.What
	}
	return e.Pos.String() + ": " + e.What + "; " + e.Right
}

// Unwrap returns the cause.
func (e Error) Unwrap() error { return e.Err }

// Errors is every fault of a file, sorted by place. It is what Parse and Load
// return as their error.
type Errors []Error

// Error joins the faults, one on each line.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.Is and errors.As see each fault.
func (es Errors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}

// Warning is something that loads but cannot have the effect that its author
// probably wants. It has the form of an Error and never stops a run.
type Warning Error

// String formats the warning like an Error.
func (w Warning) String() string { return Error(w).Error() }

// faults collects what is found; it is the sticky error of every pass.
type faults struct {
	errs  Errors
	warns []Warning
}

// shape records a fault that the schema can see too.
func (f *faults) shape(p Pos, what, right string) {
	f.errs = append(f.errs, Error{Pos: p, What: what, Right: right})
}

// rule records a fault that XSD 1.0 cannot express.
func (f *faults) rule(p Pos, what, right string) {
	f.errs = append(f.errs, Error{Pos: p, What: what, Right: right, rule: true})
}

// warn records a warning.
func (f *faults) warn(p Pos, what, right string) {
	f.warns = append(f.warns, Warning{Pos: p, What: what, Right: right})
}

// unmatched records a warning of a selector that no instruction can match.
func (f *faults) unmatched(p Pos, what, right string) {
	f.warns = append(f.warns, Warning{Pos: p, What: what, Right: right, Unmatched: true})
}

// sort puts both lists into reading order. Stable, so that two faults of one
// place stay in the order in which the passes found them.
func (f *faults) sort() {
	slices.SortStableFunc(f.errs, func(a, b Error) int { return a.Pos.compare(b.Pos) })
	slices.SortStableFunc(f.warns, func(a, b Warning) int { return a.Pos.compare(b.Pos) })
}
