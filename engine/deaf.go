package engine

import (
	"alleria/engine/translate"
	"alleria/engine/x86"
	"alleria/internal/sys"
)

// deaf is the handler of a process whose program is gone, of which the client has been told, while a child that shares its memory (CLONE_VM, no thread) goes on in
// its code cache: what that maps and calls is none of the program's that the process has executed since, nor of one that has ended. It records nothing.
//
// Refused: to have each of the client's methods look whether its image is still there; it would find the next program's.
type deaf struct{ told Handler }

var _ Handler = deaf{}

// Orphan is the only thing that the client is still asked: whose a child is.
func (d deaf) Orphan(pid int) Fate { return d.told.Orphan(pid) }

// Started and the following are Handler's.
func (deaf) Started(*Process) error                                  { return nil }
func (deaf) Notified(*Thread, uint64, NotifiedRegs)                  {}
func (deaf) Reached(*Thread, *Counter, uint64, uint64)               {}
func (deaf) Toggled(*Thread, bool, uint64)                           {}
func (deaf) Entering(*Thread)                                        {}
func (deaf) BudgetLow(*Thread, uint64)                               {}
func (deaf) ImagesChanged(*Process)                                  {}
func (deaf) Unmapped(*Process, uint64, uint64)                       {}
func (deaf) Mapped(*Process, Mapped)                                 {}
func (deaf) ThreadStarted(*Thread) error                             { return nil }
func (deaf) ThreadEnded(*Thread)                                     {}
func (deaf) Ending(*Thread)                                          {}
func (deaf) CallEntered(*Thread, *Call)                              {}
func (deaf) CallReturned(*Thread, *Call)                             {}
func (deaf) Signalled(*Thread, *sys.Siginfo, sys.Signal, uint64)     {}
func (deaf) Forked(*Thread, int)                                     {}
func (deaf) Executing(*Thread)                                       {}
func (deaf) Alarm(*Process)                                          {}
func (deaf) Ended(*Process, *End)                                    {}
func (deaf) Plan(*Process, int, []x86.Insn, []translate.Want) uint32 { return 0 }
func (deaf) RecordsLike(*Process) string                             { return "" }
func (deaf) Names(*Process) Names                                    { return nil }
func (deaf) TakeNames(*Process, Names, uint64) bool                  { return false }
