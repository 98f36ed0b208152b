// Package pstree draws trees of processes: numbered, with what each ran, when, how it
// ended and what it used.
//
// In a nutshell: FromProfile makes a Node for each process of a profile, and callers make those of a run
// that recorded nothing; Link hangs them on each other; Text, DOT and SVG draw, and a Node
// is its own JSON. The numbers are the point: they are what window configurations select
// processes by.
//
// Called by cmd/alleria. It knows no configuration, and keeps no state:
// Nodes belong to the caller, and drawing does not change them.
package pstree
