// Package appcode is what is known of a traced process's own code: where it lies, what it holds, and whether translations of it
// are still good.
//
// In a nutshell: Pages reads executable mappings (maps.go) and pages of code (pages.go) when they are wanted, and keeps them. What
// changes them is told by who sees it: mprotect and mmap (Protect, SetAside, Remapped), writes (Invalidate), a stretch of native
// code that nobody saw (RunsNatively, Check, which compares). Translations of what has changed are forgotten; those of a page that
// loses the right to execute are set aside, and put back where they still hold when it is executed again (check.go).
//
// Package engine calls it from the tracer's goroutine, which owns all of it; package probe reads code by it. What lies in the code for
// native probes never shows: the process behind Host takes it out of each page that is read, which is when Host is asked.
//
// It writes nothing into the target and stops no thread: Host.Forget does, where translations are in use.
package appcode
