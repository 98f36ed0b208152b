package engine

import "alleria/internal/sys"

// probedCall tells whether a native probe lies on a syscall instruction.
func (p *Process) probedCall(addr uint64) bool {
	var second [1]byte
	if p.probes[addr] != 0x0f {
		return false
	}
	n, _ := p.mem.ReadAt(second[:], int64(addr+1))
	return n == 1 && second[0] == 0x05
}

// callAtProbe lets a native thread make the system call at regs.Rip, under a probe:
// from another syscall instruction, up to where it has entered the kernel, which is
// then made to believe that it came from here. Other signals than those of faults wait
// until then.
//
// Refused: a single step like that over any other probe (overProbe). The kernel reports
// no call in a step, so that whoever watches calls would miss it; a step over a call
// that blocks would hold up the tracer, and what it reports of a clone or an execve is
// lost on somebody who waits for a trap.
func (tr *Tracer) callAtProbe(t *Thread, regs *sys.Regs) error {
	next, a := regs.Rip+2, t.p.cache.Regions[0]
	r := *regs
	r.Rip, r.Orig_rax = a.Base+a.Routines.Inject, ^uint64(0)
	if err := sys.SetRegs(t.tid, &r); err != nil {
		return err
	}
	if err := undisturbed(t, func() error { return tr.callStops(t, 1) }); err != nil {
		return err
	}
	if err := sys.GetRegs(t.tid, &r); err != nil {
		return err
	}
	r.Rip, r.Rcx = next, next
	if err := sys.SetRegs(t.tid, &r); err != nil {
		return err
	}
	if err := tr.nativeCall(t, &r); err != nil {
		return err
	}
	tr.awaitReturn(t, true)
	return tr.resume(t, 0)
}
