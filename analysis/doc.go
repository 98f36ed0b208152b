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
package analysis
