// Package symbols knows what is inside ELF images: which functions they have,
// what those are called, where they come from in the source, where a program's
// main is, whether a file can be traced at all, and which images a process has
// loaded where.
//
// In a nutshell: Open reads an image's headers and nothing else. The function
// table is made on first use, in three steps that each have a file of their
// own: names are collected (symtab.go for symbol tables, minidebug.go,
// debugfile.go and gotable.go for those that live elsewhere, plt.go for stubs, maincall.go for
// main in stripped programs), bounds are collected from the unwind tables
// (ehframe.go), and merge.go makes one sorted table of both, in which every
// piece of code that anything knows about belongs to a Function; or it is the
// one that an earlier run has left (kept.go). Demangled
// names are made when somebody asks for them, source lines likewise
// (lines.go). Classify (classify.go) judges a file before it is executed, Map
// (maps.go) tells which image an address of a process belongs to.
//
// All addresses of functions are virtual addresses as the file states them,
// what nm and objdump print; a process's addresses are those plus the load
// bias that a Loaded carries.
//
// Callers: internal/session, for resolving the names in a configuration and for
// the image and function tables of a profile, and cmd/alleria, for judging the
// program on the command line. Package symbols imports nothing of ours, does no
// ptrace and never reads /proc by itself: who has a process hands over its maps
// and a reader of its memory.
//
// Concurrency: everything here may be used by several goroutines. An Image is
// immutable after Open but for three lazily made parts, each behind a
// sync.Once or its own mutex (functions, demangled names, line tables), which
// are never held together. Cache has one mutex, under which nothing else is
// locked. Map is replaced as a whole by Update and read without locks.
//
// ELF files are input that somebody else wrote: every offset and count is
// checked against the file's size before memory is allocated for it, and what
// cannot be read is left out of the table and noted in Image.Problem rather
// than ending the run.
//
// What it does not do: unwind, relocate, or look at anything but x86-64.
package symbols
