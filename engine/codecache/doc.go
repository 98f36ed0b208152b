// Package codecache holds a process's translations: the memory that they are written to, what is known of them
// by application address and by cache address, and the branches between them.
//
// In a nutshell: a Region is a stretch of memory, executable in the target and writable in the tracer, with the
// assembly routines at its start, hot code behind them and cold code from three quarters on. A Block is one
// translation, kept packed for the life of the process: what signals have to know of the code at each place
// (PositionsOf, Recording) is with it. The index finds blocks by application address, or the exits that wait for there to be
// one: Enter makes a block known, LinkEntered patches the branches that lead to it, Kill makes its entry
// ask for another translation. Indirect branches go by tables in the threads' slots, whose chains of target checks
// begin in SlotChecks.
//
// The translator writes blocks, the tracer answers dispatches and looks threads' places up. Everything here is the
// goroutine's that owns the process; threads of the target execute the code meanwhile, which is why a live branch is
// changed by one aligned store (patch32) and nothing that a thread may be in is ever written over, but for
// entries, for which threads have to stand still outside of them (Overwritten).
//
// It knows neither processes nor threads nor ptrace; what is translated, and how, is not its business.
package codecache
