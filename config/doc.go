// Package config reads window configurations: the XML files that say when to
// record (windows, opened and closed by events), what to record while a window
// is open (processes, threads, images, functions, instructions, and which facts
// of each), and which calls to intercept with typed arguments.
//
// How it works, in a nutshell:
//
//	bytes ── scan ──▶ positions, well-formedness   (encoding/xml, byte offsets)
//	      ── tree ──▶ element tree with positions  (etree joined with the scan)
//	      ── shape ─▶ the language table: names, order, number, spelling of values
//	      ── decode ▶ Config: the validated model; rules that no table can say
//	Config ── NewMatcher ─▶ Matcher: "what of this instruction is recorded?"
//	       ── XML, Explain, Unsupported ─▶ file, plain words, what cannot run yet
//
// The language table (language*.go) is the single source of the element and
// attribute names, their documentation, the schema in package schemas (a test
// regenerates and compares it) and ExplainElement. Nothing else lists names.
//
// Errors are collected, never thrown: a file is reported with all of its faults
// at once, sorted by place, each saying what is wrong and what would be right.
// Parse returns either a Config or Errors, never both.
//
// Called by the command line (check, record, explain), by window (events and
// their order) and by the session that wires a run. A Config is immutable once
// returned and so is a Matcher: both may be shared between goroutines without a
// lock, and there is no package state that changes.
//
// What it does not do: it knows no process, no symbol table and no decoder.
// Names of images, functions and instructions are compared as the caller hands
// them in; whether anything of that name exists is found out elsewhere.
package config
