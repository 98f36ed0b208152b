// Package intercepts makes lists and statistics of captured calls.
//
// In a nutshell: a Query chooses calls; Each hands those of a process on, in the order in which they end or
// are entered; Writers print them as text, rows or JSON; Stats sums them up; Leaks pairs allocations with what
// frees them. Calls are read as a stream: only Stats and Leaks keep something, of each distinct value
// and each live allocation.
//
// cmd/alleria calls it. The package opens no profiles, but for the files of images whose symbols name callers.
package intercepts
