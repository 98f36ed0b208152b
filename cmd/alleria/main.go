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
//
// What goes where: results to standard output, everything else to standard error,
// so that a pipe holds nothing but what was asked for. A message is one sentence
// that begins with "alleria:", or with a place in a file where an editor can jump
// to one. What is wrong with the command line is said before anything is opened,
// started or written.
//
// There are two forms of it, by build tag: the whole (whole.go), and one that only runs programs, for short starts (recorder.go), which executes the whole for
// everything else.
//
// It has no configuration file, reads no environment variable of its own, and
// never asks the user anything: scripts are its users too.
package main

import (
	"os"

	_ "alleria/internal/monitor"
)

// main is all that tests cannot call.
func main() {
	roomy(false)
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// roomy has the goroutine's stack be at once as large as a recording's start makes it, by having a frame of that size. Growing into it, the runtime copies the stack and
// corrects each frame four times, the deeper ones last. used is false: what is not reached is not written either.
//
//go:noinline
func roomy(used bool) byte {
	if !used {
		return 0
	}
	var frame [48 << 10]byte
	return frame[len(os.Args)]
}
