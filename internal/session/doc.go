// Package session is one recording from launch to closed profiles: it wires
// configuration, windows, engine, rings and profiles together for one run.
//
// In a nutshell: Record checks what can be checked before anything runs,
// then lets the engine launch the target and works as the engine's client
// (run; process for each process). Both know processes, threads and counters by interfaces (target.go), so that tests drive them
// with processes that nobody executes. When a program image starts, its images and functions are read
// (images), the events of its windows become addresses to be notified of (events), and
// the mode is set: native while nothing has to be watched in the cache, else
// plain, counting or recording. When a window opens or closes the mode
// changes and a mark goes into the stream of each thread. What a translated
// block records is decided once for each block (package plan). Rings are consumed by
// processing threads, which write profiles, drop the records, or count.
//
// cmd/alleria calls Record. All call-backs come on the goroutine of Record; what
// processing threads share with it is said at each field. The package parses no
// flags and prints no tables.
//
// Which goroutine does what: Record's is locked by the engine to its thread and makes every
// call-back; the pool's processing threads call sink, and say that writing failed (pool.go); one that adapts their number
// to the load (tuning.go) measures, asks the tuner, and keeps the log; an
// AfterFunc of the context calls end. What more than one of them touches is atomic (over,
// why, failed) or has a mutex that says so (processing, sink, outlet: in this order), and everything else belongs to Record's goroutine.
//
// Errors: what goes wrong before the target's first instruction is returned and leaves no
// output behind; what goes wrong later ends the recording and never the target, and is
// returned with ErrIncomplete. What the user should know and cannot act on at once is a
// note: printed at the end and kept in run.json.
package session
