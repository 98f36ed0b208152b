// Command bench measures alleria on real programs against the same programs run
// natively, and against the rivals that are installed, all in one run.
//
// In a nutshell: programs (programs.go) make their inputs deterministically and
// name a command; modes (modes.go, rivals.go) say how to run a command under a
// tool. Every combination runs N times, the modes of one program taking turns so
// that a noisy minute hits all of them; each run's output is compared with the
// native one's; the medians become one table of ratios (table.go), beside the
// figures that are to be reached (targets.go).
//
// It uses alleria only as its users do: the command line, and run.json for
// counts. Absolute times mean nothing on shared machines, which is why everything
// is a ratio and why rivals belong into the same run.
//
// "make bench" runs it. It decides nothing and gates nothing but outputs: a
// wrong output, or a run that fails, makes the exit status 1.
package main
