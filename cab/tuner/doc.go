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
// What differs from the paper, each for a load of the simulation (docs/internal/pool.md has them all):
//
//   - percentages of nothing: times below a hundredth of a thread's are no change;
//   - loads that come in bursts: pauses between them are passed over while ramping up, and a thread is suspended only when one
//     has been idle for a while;
//   - a phase Z that has suspended one too many, which the rise of atwt says, resumes that one, and where one more has made
//     things worse, fewer are tried;
//   - the number of processors, and what the application and others use of them, bound the number of threads
//     (Facts.Limit): on few processors the application keeps its own.
package tuner
