package engine

import (
	"alleria/engine/tracee"
	"alleria/internal/sys"
)

// A far branch, a return from a handler or the kernel's old entry can lead to code of another segment: Wine executes 32-bit programs in 64-bit processes so, and
// programs hide what they do behind it. Such code has no translation: it runs natively. Its first instructions in a process are stepped, so that whoever makes short
// excursions is back in the cache at the right instruction. Behind these the thread stops at system calls: at the end of one that 64-bit code has made it comes back.
//
// Refused: to step for good, 10 to 30 µs an instruction; to detach the process, which would lose everything behind the first excursion.

// elsewhereSteps is how many instructions are stepped in a process, a third of a second.
const elsewhereSteps = 20_000

// otherCode is what a process has executed of other segments.
type otherCode struct {
	stepped int
	unseen  bool
}

// OtherCode is how many instructions of other segments than that of 64-bit code the process has executed one by one, and whether others ran natively, with what 64-bit code they
// led to, until its next system call.
func (p *Process) OtherCode() (stepped int, unseen bool) { return p.other.stepped, p.other.unseen }

// elsewhere reports registers of a thread that executes no 64-bit code.
func elsewhere(regs *sys.Regs) bool { return regs.Cs != tracee.UserCS }

// runElsewhere lets a stopped thread run code of another segment.
func (t *Thread) runElsewhere(regs *sys.Regs, sig sys.Signal) error {
	if sig == 0 {
		if done, err := t.stepElsewhere(regs); done || err != nil {
			return err
		}
	}
	t.p.other.unseen = true
	t.away = true
	return t.runNatively(regs, sig)
}

// stepElsewhere steps a thread until it is back in 64-bit code, and lets it go on there; false if it is not back. regs has its registers then.
func (t *Thread) stepElsewhere(regs *sys.Regs) (done bool, err error) {
	p := t.p
	regs.Gs_base = t.appGS
	if err := t.tracee.SetRegs(regs); err != nil {
		return false, err
	}
	t.native = true
	for elsewhere(regs) {
		if p.other.stepped >= elsewhereSteps || p.isUnsteppable(regs.Rip) {
			return false, nil
		}
		p.other.stepped++
		if err := t.tracee.Undisturbed(t.step); err != nil {
			return false, err
		}
		if err := t.tracee.GetRegs(regs); err != nil {
			return false, err
		}
		if raised := t.tracee.Raised(); raised != nil {
			h := *raised
			t.tracee.DropLast()
			return true, t.deliver(regs, h)
		}
		if t.tracee.Holds() {
			break
		}
	}
	t.noteGS(regs)
	t.segmentChanged(regs)
	return true, t.enter(regs, 0)
}

// isUnsteppable tells instructions that may wait in the kernel, and pushes of flags, which would have the step's. What is taken for one and is none is not seen, that is all.
func (p *Process) isUnsteppable(at uint64) bool {
	var code [2]byte
	n, _ := p.mem.ReadAt(code[:], int64(at))
	if n == 0 {
		return false
	}
	switch code[0] {
	case 0xcd, 0x9c: // int, pushf
		return true
	case 0x66:
		return code[1] == 0x9c
	case 0x0f:
		return code[1] == 0x05 || code[1] == 0x34 // syscall, sysenter
	}
	return false
}

// isBack takes a thread that has run code of another segment to the cache, where it stands at the end of a system call of 64-bit code; false if it stays away.
func (t *Thread) isBack(regs *sys.Regs) bool {
	if !t.away || elsewhere(regs) {
		return false
	}
	t.away = false
	return true
}
