// Package stacks says who has called whom where a burst of recording begins, so that what is recorded can be counted for all functions that had
// not returned, not only for those that the burst sees called.
//
// In a nutshell: Stacks.Words goes up a thread's stack by package unwind and gives the words of a mark (abp.Stack). What an address means (its image and
// function, whether a call stands in front of it, and what that calls) is looked up once an address. Functions on the stack get rows in the profile,
// since nothing else of them may be recorded.
//
// Its caller is internal/session (sampler.go). A Stacks belongs to Record's goroutine. The thread waits meanwhile, or is stopped.
package stacks
