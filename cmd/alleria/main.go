// Command alleria traces unmodified Linux x86-64 programs, only where and when
// a window configuration says, and makes reports and pictures of the profiles.
//
// In a nutshell: main calls run, run builds the tree of subcommands (one file
// each) around an app, which holds the streams and the flags that all share,
// and turns whatever a subcommand returns into one sentence and an exit status
// (status.go). The subcommands only translate flags: recording is
// internal/session's work, reading abp's, and what is made of profiles
// analysis's.
//
// Nothing here is shared between goroutines, and nothing outlives run, so that
// tests can call it as often as they like.
package main

import "os"

// main is all that tests cannot call.
func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
