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
// Translations that alleria keeps between runs lie in -dir too, and are removed first: of a row's runs the first is a first one, and the others begin as a user's
// second run does. Of programs that only start and end the first is not counted, and translate-first and addresses-first have rows in which each is one. With -cold
// each is one in all rows, and the table's head says so.
//
// It uses alleria only as its users do: the command line, and run.json for
// counts. Absolute times mean nothing on shared machines, which is why everything
// is a ratio and why rivals belong into the same run.
//
// "make bench" runs it. It decides nothing and gates nothing but outputs: a
// wrong output, or a run that fails, makes the exit status 1.
//
// What a figure means: a ratio is the median of a mode's runs over the median of the
// native ones of the same minutes; its range is what the single runs came to. A ratio
// whose range reaches over the figure to be reached says nothing either way, and more
// runs (-n) are the answer. "must" and "reach" are what the project asks of itself (targets.go); where a
// rival ran, they are derived from what it took here and now.
//
// It runs one thing at a time, in one goroutine but for the watch on memory. Nothing is
// shared and nothing locked. Inputs and outputs lie in -dir, inputs stay there for the
// next time.
package main
