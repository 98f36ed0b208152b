// Package probe is what is watched by address in a traced process: one point an address, with everything that is to happen
// there.
//
// In a nutshell: Points holds a process's points. An address is given actions: the client is notified (Notify), entries and
// returns of a function are counted (Entries, Within, Returns; Counter is the word that threads count down), its calls are
// captured (Intercept). In the cache translated code does them, as Points.At tells the translator. Natively there is one int3 an
// address, whatever its actions are (points.go), and where the actions allow it a jump to code of ours near the image
// takes its place (jump*.go, capture_native.go). Which returns a thread awaits lies on stacks of frames in its slot (frame.go,
// capture_frame.go), which has those of one goroutine or stack of the program at a time (goroutine.go, stacks.go): the others are kept here.
//
// Package engine calls it from the tracer's goroutine, which owns all of it but for the words of counters and frames: these are
// the target's, too, and are accessed by atomics, while their thread stands, or, frames of a goroutine or stack, while it is not on that. What it needs of the process it gets by two
// interfaces: Code, the application's code, and Host, to stop threads and to have code translated anew. Neither is on the way of an
// entry that code counts.
//
// It stops, steps and moves no thread and makes no system call in the target: that is package engine's (patch.go, jump_thread.go,
// package captures), which is told what to write where.
package probe
