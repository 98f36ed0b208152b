// Package randprog makes random assembly programs for tests: of instructions from
// all over the instruction set (Sequences), and of functions that call each other in
// every way there is (Calls).
//
// In a nutshell: a Generator picks lines from tables of templates, fills their
// placeholders with registers, addresses and constants, and wraps them in what lets
// any of them execute: memory operands lie in a buffer that two registers point
// into, faults are handled, counters bound all loops. The same seed makes the same
// program for the same processor, which prints what it computed and ends with
// status 0.
//
// Callers: the tests that hold the translator against the single-step engine, of the
// engine and of the whole command. They are in different folders, which is why the
// generator is no test file of either.
//
// It assembles nothing and runs nothing, and keeps no state beyond a Generator, which
// belongs to one goroutine.
package randprog
