// Package adaptive draws what a run has adapted (abp.Adaptation) over time, as figure 10 of the Alleria paper does: what the application uses of
// processors and disks, the idle time of processing threads, the wait time of application threads, how many processing
// threads work, and above it where one was created, resumed or suspended.
//
// In a nutshell: New samples the log's lines into columns of equal time, and Text and SVG draw these. The times of a line
// are of the period that it ends, and are spread over it, so that pictures of different widths show the same.
//
// cmd/alleria calls it. Everything is by value and nothing is shared: no locks. It reads no files and judges nothing.
package adaptive
