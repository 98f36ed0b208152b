// Package convert writes recorded profiles in the formats of other tools.
//
// In a nutshell: Formats lists what there is, a file each; Format.Write reads a profile once
// and writes one output. Formats are of three kinds. Those with a row for each access or
// instruction (csv, jsonl, parquet, din, champsim) are expanded on all processors by
// analysis.Ordered and written in the order of the profile. Those with a sum for each
// instruction (drcov, lcov) take analysis.EachCount, which counts frames side by side.
// Those with call stacks walk the executions of each thread with a shadow stack.
// Memory goes with the program's code and stacks, never with the recording's length.
//
// cmd/alleria calls it. Nothing here keeps state between calls, and a Format may be used by
// several goroutines. It opens no profiles and names no output files; it opens the images
// that a profile names, for source lines, and takes them only where their build-id is the
// recorded one.
package convert
