// Package pages counts accesses to memory by the page that they are in, for heat maps.
//
// In a nutshell: one access of a block mostly goes on in the page that it was in. So a Counter keeps, for each access of a block, the page that it was in last and
// how often the block had been executed when it came there; an execution is a comparison of pages, eight at a time with AVX-512 (analysis/lanes), and a count a
// block. Only what leaves its page is told to the caller, with how often it was there.
//
// Package analysis calls it (HeatCount), for what is analysed beside a program. A Counter belongs to one goroutine. It keeps no pages
// itself, reads no files and knows nothing of threads.
package pages
