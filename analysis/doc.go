// Package analysis makes tables and pictures of profiles: the report, the
// textual dump and the heat map.
//
// In a nutshell: each product is an accumulator that one pass of abp's reading
// library feeds (Summarise, Dump, Heat), and a writer that puts the result into
// words, JSON or pixels. Memory is bounded by what is counted (functions, pages),
// never by the number of entries.
//
// cmd/alleria calls it, and the session for what is counted while recording. An
// accumulator belongs to one goroutine; those that can be merged say so. The
// package opens no profiles and parses no flags.
//
// What guards what: nothing in here takes a lock while it reads. Frames of a profile are
// counted side by side by eachFrame's workers, each with a reader and a count of its own;
// results meet under one lock that is taken once a worker and thread. Progress is the only thing that is looked at while it changes, and is
// atomic. A Profile may be read by any number of these at a time.
//
// Numbers mean what docs/format.md says: an instruction counts when it retired,
// `rep` once however many iterations, each iteration's operand is an access, and
// what ran natively or outside of any window is not in the profile and therefore
// not here either.
package analysis
