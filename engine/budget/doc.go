// Package budget is what threads may still execute before they ask: budgets of instructions and accesses.
//
// In a nutshell: an Account is one thread's budgets. What is left of a metric lies in sixteen words of the thread's slot, of which
// each translated block uses one and asks when it falls below zero, so that no block waits for the one before it. The account
// deals shares out, adds them up, takes back what a block subtracted too much, and empties all words of a thread that is to ask
// soon (Call). Dispatches tells when a process asks so often that one word would be better.
//
// Package engine calls it from the tracer's goroutine, for threads that are stopped or wait; the words are otherwise their
// threads' own. Which blocks subtract what is package translate's, and what happens when a budget is used up is the client's.
package budget
