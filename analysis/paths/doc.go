// Package paths profiles paths: how often each acyclic path through a function's control flow was executed
// (Ball and Larus, MICRO 1996), on machine code as it was executed.
//
// In a nutshell: a run is what is executed from behind one jump up to and including the next, whose address says all of it;
// calls do not end it. A path begins where a function is entered, or behind a jump that leads back, and
// ends with the function's return, or with such a jump: back edges are those to the same or a lower
// address of the same function, which cuts all cycles without having to know the graph. A Counter follows the
// functions of a thread that have not returned (calls.Observed) and keeps for each where it is in a trie of runs; a path is the node
// at which it ends. Functions that are left otherwise (longjmp, an exception, the thread's end)
// end their paths where they are, so that paths always add up to what was executed.
//
// Numbers are Ball's and Larus's: at the end the graph of the runs and edges that were met is numbered so that each of its paths has a number
// of its own from 0 on, and their number is known. They depend on what was met, and compare within one result only.
//
// The published profilers add numbers up in a register of the application. Here the trie does it beside the application: the
// graph need not be known before it is executed, and a path that is too long for a number is one like any other.
//
// Callers: the command analyze paths, and analyses beside the application. A Counter belongs to one goroutine, Totals to one
// at a time. The package knows no source lines: who prints brings them.
package paths
