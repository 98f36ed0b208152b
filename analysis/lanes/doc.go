// Package lanes takes accesses of whole executions eight at a time, where the processor has AVX-512: a lane is one of the eight.
//
// In a nutshell: nearly all accesses are plain, an offset and a word of the execution that is added. Those of a block are groups of eight, made once (Plans), and loops in C go
// over words with them: Lines lists the lines that are referred to (lines_amd64.c), Pages counts by page (pages_amd64.c), Tracks finds where operands' strides change
// (tracks_amd64.c). They stop at what has no plan, and their callers go on in Go.
//
// analysis/stream, analysis/pages and analysis/strides call it, which do the same one by one elsewhere, and of which tests hold both ways together. All of one value belongs to one goroutine. analysis/cache has a
// loop of its own, whose groups know which operation each access is. The package knows nothing of threads or files, and takes no execution that is cut.
package lanes
