package engine

import (
	"encoding/binary"

	"alleria/engine/codecache"
	"alleria/engine/tracee"
	"alleria/engine/translate"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Some runtimes go on from an exception by iretq, .NET's for each one: it takes the instruction pointer, flags and the stack pointer from
// the stack at once. The tracer has the thread execute it in the cache, as it does a return from a handler: from a copy of the five words in the
// thread's slot, whose instruction pointer leads to the translation.
//
// Refused: flags, stack pointer and target set one by one by translated code, each of which a fault or a signal in between would have
// to know of. Where the instruction is recorded, or leads to anything but 64-bit code as it runs now, the thread is stopped and executes it natively.

// interrupted is what iretq takes from the stack.
type interrupted struct{ rip, cs, flags, rsp, ss uint64 }

const (
	iretSize   = 5 * 8
	iretLength = 2
	// What it can change in a program's flags: what popf can, and the resume flag.
	iretMask = popMask | 1<<16
)

// bytes is those words in order.
func (w *interrupted) bytes() []byte {
	var b []byte
	for _, v := range [...]uint64{w.rip, w.cs, w.flags, w.rsp, w.ss} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// readInterrupted reads them at sp.
func (p *Process) readInterrupted(sp uint64) (w interrupted, ok bool) {
	var b [iretSize]byte
	if _, err := p.mem.ReadAt(b[:], int64(sp)); err != nil {
		return w, false
	}
	get := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	return interrupted{get(0), get(1), get(2), get(3), get(4)}, true
}

// iretInCache has a thread that waits at an iretq, the only instruction of b, execute it in the cache; false if that takes a stop.
func (t *Thread) iretInCache(b *codecache.Block) bool {
	p, s := t.p, t.slot
	if b.Insns != 1 || b.Rec.ID != 0 || p.translator.CountsAccesses || p.tr.opts.NoReturn || !t.goesOn() {
		return false
	}
	at, sp := p.cache.InsAddr(b, 0), t.recovery.SavedSP()
	if code := p.code.Fetch(at, iretLength); len(code) < iretLength || code[0] != 0x48 || code[1] != 0xcf {
		return false
	}
	w, ok := p.readInterrupted(sp)
	switch {
	case !ok || sp%8 != 0: // it faults, or may
		return false
	case w.flags&translate.FlagTrap != 0 || uint16(w.cs) != tracee.UserCS || uint16(w.ss) != tracee.UserSS || p.cache.Watched[w.rip] || w.rip == at:
		return false
	}
	code := p.codeFor(w.rip, t.variant, codecache.Uncounted)
	if code == 0 {
		return false
	}
	t.iret = iret{block: b, to: w}
	t.countIret(1)
	w.rip = code
	copy(s.Mem[layout.SigFrame:], w.bytes())
	s.Set(layout.SigCopy, s.Base+layout.SigFrame)
	a := p.cache.RegionAt(b.Code)
	t.tracee.LetInAt(code)
	t.reply(a.Base + a.Routines.Iret)
	p.stats.Irets++
	return true
}

// iret is the iretq that a thread executes in the cache: where it is asked for, and what it takes.
type iret struct {
	block *codecache.Block
	to    interrupted
}

// countIret counts it, and where it leads; times of -1 is for one that faults.
func (t *Thread) countIret(times int) {
	b := t.iret.block
	if b.Variant != codecache.Count {
		return
	}
	t.counts.Executed(b.App, uint64(times))
	was := sys.Regs{Rip: b.App, Rsp: t.recovery.SavedSP()}
	t.ledBy(b, &was, &sys.Regs{Rip: t.iret.to.rip, Rsp: t.iret.to.rsp}, times)
}

// recoverIret rebuilds the registers of a thread that is about to execute the copy: as behind it, since nothing can keep it from that, but
// where the processor refuses it (the flag NT is set), and as in front of it then.
func (t *Thread) recoverIret(regs *sys.Regs, refused bool) {
	b, to := t.iret.block, &t.iret.to
	if !refused {
		regs.Rip, regs.Rsp = to.rip, to.rsp
		regs.Eflags = regs.Eflags&^iretMask | to.flags&iretMask
		return
	}
	t.countIret(-1)
	regs.Rsp = t.recovery.SavedSP()
	how := t.untrapped(b, regs)
	regs.Rip = t.p.cache.InsAddr(b, 0)
	t.resume.At(regs, how)
}
