package engine

import (
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// System calls that do not come back, or not to where they were made.
const (
	sysVfork     = 58
	sysExit      = 60
	sysFork      = 57
	sysExecve    = 59
	sysExitGroup = 231
	sysExecveat  = 322
)

// leaves tells calls that are looked at when they begin, because they may not come
// back.
func leaves(nr uint64) bool {
	switch nr {
	case sysExit, sysExitGroup, sysExecve, sysExecveat, sysSigreturn:
		return true
	}
	return false
}

// WatchReturns asks for Watcher.CallReturned, or no longer. Translated code makes
// calls by itself and then tells of them through the mailbox, with the time when
// they began: no stop. What is not told of is a call that was under way when the
// process, or the recording, came to its end.
func (p *Process) WatchReturns(on bool) {
	if p.hearCalls == on {
		return
	}
	p.hearCalls = on
	for nr := range uint32(layout.SyscallEntries) {
		p.setCallTable(nr)
	}
}

// callBegins notes a call that the tracer sees begin. recorded: its instruction is
// part of the records.
func (tr *Tracer) callBegins(t *Thread, regs *sys.Regs, recorded bool) {
	t.call = nil
	if !t.p.hearCalls || t.vfork {
		return
	}
	c := callRegs(regs, regs.Rax, regs.Rip+2)
	c.Recorded = recorded
	switch c.Number {
	// Told of at once, as not returned: nobody will be there to do it later.
	case sysExit, sysExitGroup, sysSigreturn:
		t.p.client.CallReturned(t, c)
	default:
		t.call = c
	}
}

// callDone tells of the return of the call that callBegins noted, if any.
func (tr *Tracer) callDone(t *Thread, result uint64) {
	c := t.call
	if c == nil {
		return
	}
	t.call = nil
	c.Returned, c.Result, c.EndTSC = true, int64(result), sys.TSC()
	t.p.client.CallReturned(t, c)
}

// notedCall tells of a call that translated code has made by itself; regs are those
// behind it, with the arguments and the result.
func (tr *Tracer) notedCall(t *Thread, nr uint64, regs *sys.Regs, recorded bool) {
	if !t.p.hearCalls || t.vfork {
		return
	}
	c := callRegs(regs, nr, 0)
	c.TSC, c.EndTSC = t.slot.get(layout.CallTSC), t.slot.get(layout.CallEnd)
	if c.EndTSC < c.TSC { // a signal came first
		c.EndTSC = sys.TSC()
	}
	c.Recorded, c.Returned, c.Result = recorded, true, int64(regs.Rax)
	t.p.client.CallReturned(t, c)
}

// bornHere tells a new thread or process, which stands behind the call that its
// parent has made.
func bornHere(regs *sys.Regs) bool {
	switch regs.Orig_rax {
	case sysClone, sysClone3, sysFork, sysVfork:
		return regs.Rax == 0
	}
	return false
}
