// Package topology says on which processors records should be consumed, and how large the pieces are in which they are handed over: what a producer
// has just written lies in its caches, and a consumer on a processor that shares one of them finds it there (CAB paper, section 3.3).
//
// Read takes the machine's processors and caches from /sys, Choose decides: facts in, processors out. It has no threads and no clock and binds
// nothing; internal/session asks it now and then while a program runs, and binds the processing threads, its own alone. The
// application's threads run where the kernel and the user put them.
//
// The last-level cache is what is gone by. Who shares a smaller one with a producer shares its core as well, and takes half of that from it; within
// a last-level cache the kernel's scheduler finds an idle core better than anybody who looks now and then. Refused: binding each processing thread to one
// processor, as the paper does on a machine of its own: the application's threads move, and others want processors too.
package topology
