package syscalls

import (
	"alleria/engine/tracee"
	"alleria/internal/sys"
)

// Commands of membarrier (include/uapi/linux/membarrier.h) that have to do with restartable sequences.
const (
	barrierQuery        = 0
	barrierRseq         = 1 << 7
	barrierRegisterRseq = 1 << 8
	barriersOfRseq      = barrierRseq | barrierRegisterRseq
)

// barrier makes or answers a call of membarrier: a kernel without restartable sequences, which is what most processes are shown, has
// none of the commands for them. A program that finds one without the other says so (tcmalloc writes it to
// standard error at each start).
//
// Refused: having translated code look at the command. Who waits on barriers of other threads calls it some
// hundred times a second, which the tracer can answer.
func (t *Thread) barrier(regs *sys.Regs, plain uint64) (Next, error) {
	if t.calls.sequences {
		return t.Let(regs, plain)
	}
	switch uint32(regs.Rdi) {
	case barrierRseq, barrierRegisterRseq:
		return t.Finish(regs, ^uint64(einval)+1)
	case barrierQuery:
	default:
		return t.Let(regs, plain)
	}
	r := *regs
	r.Rip, r.Gs_base = plain, t.slot.Base
	if err := t.tracee.CallWith(&r); err != nil {
		return Resume, err
	}
	if !Failed(r.Rax) {
		r.Rax &^= barriersOfRseq
		if err := t.tracee.SetRegs(&r); err != nil {
			return Resume, err
		}
	}
	if !tracee.Restarting(&r) {
		t.Done(r.Rax)
	}
	*regs = r
	return Over, nil
}
