// Package proctree numbers the processes of a traced tree as section 2.5 of the Alleria
// paper says, and shows them to whoever asks: it keeps the PPN (parent process number)
// database, a region of shared memory that holds all trees that are traced on the machine
// at the same time.
//
// The process that a tracer starts is number 1. A counter of the tree gives each process
// that a followed process creates the next number, followed or not, in the order of the
// calls to Created; children of a process that is not followed have none.
//
// In a nutshell: New opens the region, takes a slot for the tree and returns a Tree, which
// has all processes that ever were, in the tracer's memory. What lives is in the region
// besides: List reads it, in another process ("alleria ps"). The first tracer creates the
// region and the last one removes it; what killed tracers left is cleaned by the next that
// opens or closes it. A tracer is alive if a process of its number with its start time is.
//
//	file   header │ slots of trees │ slots of processes (backed by memory as they are needed)
//	tree   number of the tree, tracer, its start, counter, command
//	process owner (number of a tree), number, OS number, parent, generation, state, counts, program
//
// What guards what. The region has one lock, of the open file: it holds for creating,
// cleaning and removing the region and for giving out slots of trees, and the kernel gives
// it back when its holder dies. All else is free of it, since a tracer may not wait for a
// process that it may itself have stopped: a tree's slots are written by its tracer alone,
// and slots of processes are taken by an exchange of the owner word. So death at any
// instruction leaves slots that belong to a dead tree, and nothing else. Readers check a
// sequence number around what has to fit together. In the tracer, each Tree has a mutex.
//
// Refused: a counter under the lock for each process that is created, as the paper has it,
// whose tracers live in the processes. Here each tree has one tracer; its counter needs
// no lock, and the creation of a process no system call.
//
// Where the region cannot be had (no /dev/shm, no room, somebody else's file in its
// place), a Tree goes on in its own memory: numbers are the same, and only "alleria ps"
// does not show it. Options.Warn hears of that once.
//
// Called by the session that runs a tree and by cmd/alleria. It follows no process, asks
// the kernel for nothing but start times, and knows neither configurations nor profiles.
package proctree
