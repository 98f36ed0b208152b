// Package tuner decides how many processing threads work and how many buffers there are: the state machine of adaptive
// profiling (Alleria paper, section 3).
//
// In a nutshell: facts in, decisions out, once a period. In phase X (ramping up) a thread and a buffer are added each period
// until the processing threads' idle time (ptit) has risen by TP. Then phase Z (ramping down) suspends a thread each
// period until the application threads' wait time (atwt) has risen by TAZ. Phase Y is stable: a rise of atwt by TAY1, or a fall
// by TAY2, adds a thread and a buffer and begins a phase X.
//
// internal/session calls it, measures and carries out; the package starts no thread, knows no ring and reads no clock, so that
// a simulation can test it.
//
// What differs from the paper, each for a reason that a simulation or a small machine has shown:
//
//   - percentages of nothing: times below a hundredth of the period are no change, and two of them are the same;
//   - phase X ends as well where no application thread waits, since a thread more cannot help then, and where there are as many
//     threads as there may be (Limit), which then is stable and not too many;
//   - a phase Z that has suspended one too many, which the rise of atwt says, resumes that one. In the paper it stays
//     suspended until phase Y has noticed another change;
//   - the number of processors, and what the application and others use of them, bound the number of threads
//     (Facts.Limit): on few processors the application keeps its own.
package tuner
