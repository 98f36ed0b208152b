// Package against holds a configuration against a program that is not run: which of its names
// and selectors match nothing there, and how much of the code each window selects.
//
// In a nutshell: Open finds the images that the kernel and the dynamic loader will map when the
// program starts, by its files alone. CheckNames looks images, functions and addresses up in their
// symbol tables, with the nearest name where one does not exist. Compare decodes all functions
// once, counts instructions by function and kind (the inventory), and asks config's matchers, the same that a recording
// asks, what each window selects of them; the result is an Estimate. UnknownClasses compares
// class names with the decoder's list and needs no program.
//
// Callers: the commands check, new and functions, and the completion of names in shells. A
// Target is for one goroutine; nothing in it is guarded.
//
// It executes nothing, so it does not see what a program loads later with dlopen, and counts
// instructions as they stand in the files, not how often they run. It does not look programs up in PATH
// and decides no exit status: those are the commands'.
package against
