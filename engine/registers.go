package engine

import (
	"alleria/engine/recovery"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Registers are the application's registers of a thread, as far as they are known without stopping it.
type Registers struct {
	PC      uint64
	General [x86.NumRegs]uint64
	Known   uint16 // bit i: General[i] is
}

// Registers returns the registers of the thread that the client is being asked about, in BudgetLow or Entering, before it executes app.
//
// A thread that waits in the dispatch routine has saved all but r12 to r15, which would take a stop. app is not asked for of one that is about to enter the cache.
func (t *Thread) Registers(app uint64) Registers {
	if t.stands != nil {
		return Registers{PC: t.stands.Rip, General: recovery.Generals(t.stands), Known: 1<<x86.NumRegs - 1}
	}
	var r sys.Regs
	t.recovery.Saved(&r)
	r.Rbx, r.Rsp, r.Rbp = t.slot.Get(layout.Save+8*int(x86.RBX)), t.recovery.SavedSP(), t.slot.Get(layout.Save+8*int(x86.RBP))
	return Registers{PC: app, General: recovery.Generals(&r), Known: 1<<x86.R12 - 1}
}
