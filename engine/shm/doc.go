// Package shm is the memory that a traced process shares with the tracer: one file a process, with its code cache, its
// control area and a slot for each thread, and one page that all traced processes share, the doorbell.
//
// In a nutshell: Memory makes the file, maps the tracer's view of it and gives out slots; Slot is the words of one
// thread, among them its ring, which the tracer writes as translated code does; Bell is the page. Where in a slot or in the
// control area each word lies is internal/layout's, and so is who writes it.
//
// Package engine calls it from the tracer's goroutine, which is the only one. No lock guards anything: words are
// accessed by atomics, since the target's threads work on the same ones, and what has no atomic is touched while the thread
// concerned is stopped or waits for an answer.
//
// It maps nothing into the target (package engine does, by system calls in the target's name), consumes no ring (package cab),
// and knows nothing of translations: the cache's regions map their parts of the file themselves.
package shm
