// Package difftest compares the translator with the single-step oracle and
// with native runs. It consists of tests.
//
// In a nutshell: small static programs, written by hand (testdata/insns) or
// made at random from a table of instruction templates, run natively, through
// the translator in each of its variants, and through engine/step. Outputs and
// exit statuses must be the native ones, and what the translator's raw records
// expand to must be, entry by entry, what the oracle saw: instructions, their
// accesses in order, values, branch outcomes. The expander here is a second
// reading of internal/layout on purpose: a mistake that the product's own made
// together with the recorder would otherwise agree with itself.
//
// The tests run one after another, since a tracer waits for every child of its
// process.
package difftest
