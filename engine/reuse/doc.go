// Package reuse is what is kept of programs that ran in a tree of processes, for the next process that executes one of them.
//
// In a nutshell: while a process translates, Written holds what of its translations is about the application, and the files that
// its code is of (images.go). When the process is gone, Templates keeps them as a Template, by program (template.go). The next process of the
// program takes a copy and corrects it, image by image, as these are mapped (taken.go). History remembers in which order
// programs asked for code, as places in files, for what cannot be taken over whole (history.go).
//
// Package engine calls it from the tracer's goroutine, which owns all of it; a Template does not change once it is made. What it
// has to know of the process is behind the interface Host, and asked for once an image.
//
// Templates stay on disk for later runs (disk.go), as lists that lie there as in memory (flat.go), in a folder of package diskcache. What a process lacks of what it has taken
// over is carried on (carry.go). Those of recording code have the facts of its blocks with them, and what numbers of images and functions in these mean, behind the interface Names.
//
// It translates nothing and reads no memory of the target.
package reuse
