// Package tool is for those who write analyses of their own: which facts of which instructions a program's threads are to
// record, into records and buffers of the user's own, and what is to be done with full buffers. The program is unmodified,
// and runs as under `alleria record`.
//
// In a nutshell: New makes a Tool; Define says what a record is (any struct of numbers), how many a buffer holds and how
// many buffers each thread has, and names the function that gets full ones; Fill says where records are made (At: the window
// language's selectors, for accesses, instructions, blocks or functions' entries) and what each of their fields gets
// (Fields). Main reads the command line, runs the program and ends with its exit status; Run is for callers that have their own.
//
//	t := tool.New("loads")
//	refs := tool.Define(t, tool.Buffer[ref]{Records: 4096, Full: func(b *tool.Batch[ref]) []ref { …; return b.Records }})
//	refs.Fill(tool.Accesses("anyMem"), tool.Fields{"Addr": tool.Address})
//	t.Main()
//
// How it works: each Fill is a window of a configuration (package config), so that the engine's generator writes the code which records what
// cannot be derived into the thread's ring, inlined, a check a block. Processing threads take the rings (internal/session, analysis/live)
// and fill the buffers by a plan that is made once a block: constants are in a template, everything else is a word of
// the ring plus a constant. What the engine knows is therefore never written by the program, and a slow callback never runs in its time.
//
// Who calls what: a callback is called by one goroutine a thread of the program and buffer type, in order, with the thread's records alone;
// those of several threads run at once. With one buffer the processing thread waits for the callback, with more it fills the
// next meanwhile. What guards what: a buffer belongs to who fills it, then to the callback, and to the user if the callback
// returns another one; Type.mu guards the list of the user's.
//
// An analysis that panics, takes longer over a buffer than Tool.Limit, or never gives buffers back is over, and the end says
// which and at which place of its code; the program runs on as if nothing were. The user's main and callbacks are in a process
// of their own (apart.go), so that this holds for whatever ends that process.
//
// The package changes nothing of the program: no registers, no memory, no calls in its place.
package tool
