// Package costmodel says what an analysis costs beside the program and in it, by the model of the CAB paper's section 4, and
// measures what goes into it.
//
// In a nutshell: Measure runs a program by itself and under alleria record, some times each and by turns: with events produced
// and dropped where they are, handed over and not analysed, analysed beside the program, and analysed while it waits. Runs has the
// least that each took. Terms of these, and the two sums that the model makes of the terms, stand beside what the whole took.
//
// Times of the program's side are elapsed ones, since a program also waits: for translations, and for room. Times of the analysis's side are
// processor time of the processing threads, since these wait for events most of all.
//
// cmd/alleria calls it. It does not know analyses nor configurations: the command says what alleria is run with. Nothing in it is
// shared between goroutines.
package costmodel
