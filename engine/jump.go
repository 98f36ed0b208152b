package engine

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"

	"alleria/engine/x86"
	"alleria/internal/sys"
)

// Jumps: native probes that count without a stop. A function whose arrivals alone
// are counted, and that was hit a few times, gets a jump in place of its int3. It
// leads to a few instructions in memory of ours near the image, which take one off
// the place's count, execute the function's displaced instructions, and jump back
// behind them. Only when the count has run out does the thread stop, by an int3.
//
// Native code has no word of ours that a thread could call its own (gs is the
// application's), and nothing below the stack pointer may be touched. So the count
// is one locked instruction on the word that translated code counts down as well,
// mapped a second time where a displacement reaches it, and it is done where the
// function is known to overwrite the flags. Everything else in the thread is the
// application's at every instruction, so that a place in this code is translated
// into one of the application's by a table, and back.
//
// What is never done: no function is patched whose first bytes are not whole
// instructions that may lie anywhere, or into whose displaced bytes some branch of
// its image leads (jump_check.go); where anything is in doubt the int3 stays, and a
// program that hits it often goes on in the cache (busy.go).
//
// Refused: relative displacements chosen so that each instruction boundary in them
// is an int3 itself, which would catch any stray branch. That dictates where the
// memory has to lie, up to 800 MiB below each image, and programs at low addresses
// have nothing there.

const (
	// jumpBytes is a jump with a displacement of 32 bits.
	jumpBytes = 5
	// A place is worth a jump if so many more arrivals are awaited.
	jumpLeft = 16
	// At its first hit, since what the int3 leads to is not exact with several
	// threads (overProbe) and lets signals find the thread behind the function's
	// first instruction, to which they return; but a large image, which takes long
	// to look through, has to be worth it.
	jumpHitsLarge = 3
	largeImage    = 8 << 20
)

// jump is what counts a function's arrivals natively.
type jump struct {
	pl    *Place
	entry uint64 // of the function
	size  uint64 // likewise
	patch uint64 // where the jump lies: behind an endbr64, which stays in front
	end   uint64 // where the displaced instructions end
	orig  []byte // the application's code from entry to end
	ours  []byte // what lies there now
	moved []movedInsn
	// leadsTo is where the last displaced instruction may branch, 0: nowhere;
	// pushes tells that it moves the stack pointer instead.
	leadsTo uint64
	pushes  bool
	// The code that counts: where it begins, where the displaced instructions do,
	// and the int3 at its end, for when the count has run out.
	code, body, hit uint64
	// It captures: entries of point, or, where there is none, returns. ask is an int3, for when it is not known whether
	// the return is caught.
	captures bool
	point    *capturePoint
	ask      uint64
}

// movedInsn says where a displaced instruction has gone.
type movedInsn struct{ app, code uint64 }

// jumps is what a process has of them.
type jumps struct {
	at      map[uint64]*jump // in place, by the function's address
	all     []*jump          // ever made: threads may still be in them
	refused map[uint64]bool  // functions that get none
	hits    map[uint64]int   // of their int3s, as long as it is to be seen whether they are worth it
	areas   []*jumpArea
	off     bool
	// interrupted is where signal handlers will return to: once one may lie in a
	// function's first bytes, these must stay as they are.
	interrupted map[uint64]bool
}

// maxInterrupted bounds what is remembered of interrupted places; with more there
// are no further jumps.
const maxInterrupted = 1 << 16

// newJumps makes the state of a process without any.
func newJumps(off bool) jumps {
	return jumps{at: make(map[uint64]*jump), refused: make(map[uint64]bool), hits: make(map[uint64]int), off: off,
		interrupted: make(map[uint64]bool)}
}

// wantsJump tells whether a watched address could have its arrivals counted by a
// jump: nothing but the entry's count is wanted there. Returns need the thread to
// stop, since only at the entry is it known where it will return to.
func (p *Process) wantsJump(addr uint64) bool {
	at := p.placeAt[addr]
	return at.size() > 0 && at.entry != nil && at.returns == nil && at.capture == nil && !p.notify[addr] && !p.awaited(addr)
}

// add keeps a jump, in the order of where their code lies.
func (js *jumps) add(j *jump) {
	i := sort.Search(len(js.all), func(i int) bool { return js.all[i].code > j.code })
	js.all = slices.Insert(js.all, i, j)
}

// considerJump gives the function at addr, whose int3 a thread has just hit, a jump
// if that is worth it and possible. The thread is stopped; regs are what it will go
// on with.
func (tr *Tracer) considerJump(t *Thread, regs *sys.Regs, addr uint64) error {
	p := t.p
	js := &p.jumps
	if _, ok := p.probes[addr]; !ok || js.off || js.refused[addr] || p.mode != ModeNative || !t.native || t.vfork || !p.wantsJump(addr) {
		return nil
	}
	if int64(p.placeAt[addr].entry.left().Load()) < jumpLeft || !p.executable(addr) {
		return nil
	}
	js.hits[addr]++
	if m := p.code.mapping(addr); m.End-m.Start > largeImage && len(p.threads) == 1 && js.hits[addr] < jumpHitsLarge {
		return nil
	}
	// A thread that nobody can stop may be anywhere.
	if t.noteFilters(); !p.mayCall() || p.letGoThreads {
		js.off = true
		return nil
	}
	j, ins := p.planJump(addr)
	if j == nil {
		js.refused[addr] = true
		return nil
	}
	if err := sys.SetRegs(t.tid, regs); err != nil {
		return err
	}
	thaw := tr.freeze(p)
	defer thaw()
	ar, err := tr.jumpArea(t, addr)
	if err != nil {
		return err
	}
	if ar == nil || !p.writeJump(ar, j, ins) {
		js.refused[addr] = true
		return nil
	}
	js.add(j)
	if !tr.placeJump(t, j) {
		js.refused[addr] = true
	}
	return nil
}

// planJump looks whether the function at addr can have a jump, and which instructions
// it displaces; nil if it cannot. Threads run meanwhile: it takes milliseconds in a
// large image.
func (p *Process) planJump(addr uint64) (*jump, []x86.Insn) {
	j := &jump{pl: p.placeAt[addr].entry, entry: addr, size: p.placeAt[addr].size()}
	p.code.reread(p.code.mapping(addr))
	ins := p.displace(j)
	if ins == nil || p.disturbed(j) || p.branchedInto(j) {
		return nil, nil
	}
	return j, ins
}

// disturbed tells whether something else has to do with the bytes that j displaces.
func (p *Process) disturbed(j *jump) bool {
	for addr := j.entry; addr < j.end; addr++ {
		_, probe := p.probes[addr]
		if addr != j.entry && (p.jumps.interrupted[addr] || probe || p.notify[addr] || p.placeAt[addr] != nil || p.awaited(addr)) {
			return true
		}
	}
	for addr := j.entry - mostDisplaced; addr < j.end; addr++ {
		if o := p.jumps.at[addr]; o != nil && j.entry < o.end {
			return true
		}
	}
	return false
}

// mostDisplaced is more than what any jump displaces.
const mostDisplaced = 32

// placeJump puts j in place of its int3. All native threads stand; those in the
// bytes that change go on in the copies. false: one of them stands where there is none.
func (tr *Tracer) placeJump(t *Thread, j *jump) bool {
	p := t.p
	type move struct {
		t    *Thread
		regs sys.Regs
	}
	var moves []move
	for _, o := range p.running() {
		if o == t || !o.native || o.vforking {
			continue
		}
		m := move{t: o}
		if err := sys.GetRegs(o.tid, &m.regs); err != nil {
			if sys.Gone(err) {
				continue
			}
			return false
		}
		if m.regs.Rip <= j.entry || m.regs.Rip >= j.end {
			continue
		}
		if tr.hitPending(o) {
			if m.regs.Rip != j.entry+1 { // it goes back to a breakpoint that is no more
				return false
			}
			continue
		}
		at, ok := j.copyOf(m.regs.Rip)
		if !ok {
			return false
		}
		m.regs.Rip = at
		moves = append(moves, m)
	}
	now := make([]byte, len(j.orig))
	if _, err := p.mem.ReadAt(now, int64(j.entry)); err != nil || now[0] != 0xcc || !bytes.Equal(now[1:], j.orig[1:]) {
		return false
	}
	if _, err := p.mem.WriteAt(j.ours, int64(j.entry)); err != nil {
		return false
	}
	for i := range moves {
		tr.threadError(moves[i].t, sys.SetRegs(moves[i].t.tid, &moves[i].regs))
	}
	p.removed[j.entry] = p.probes[j.entry]
	delete(p.probes, j.entry)
	p.jumps.at[j.entry] = j
	p.stats.Jumps++
	return true
}

// dropJump gives the application its code back and, with watched, puts the int3
// there instead. Threads that are in j's code leave it by themselves.
func (p *Process) dropJump(j *jump, watched bool) error {
	thaw := p.tr.freeze(p)
	defer thaw()
	delete(p.jumps.at, j.entry)
	p.jumps.hits[j.entry] = 0
	if !j.liesIn(p.mem) {
		return nil // other memory is there by now
	}
	b := append([]byte(nil), j.orig...)
	if watched {
		b[0] = 0xcc
	}
	if _, err := p.mem.WriteAt(b, int64(j.entry)); err != nil {
		return fmt.Errorf("code at %#x: %w", j.entry, err)
	}
	if watched {
		p.probes[j.entry] = j.orig[0]
	}
	return nil
}

// liesIn tells whether the jump is where it was put, in a process's memory.
func (j *jump) liesIn(mem io.ReaderAt) bool {
	b := make([]byte, len(j.ours))
	_, err := mem.ReadAt(b, int64(j.entry))
	return err == nil && bytes.Equal(b, j.ours)
}

// uncover takes the jump away that covers addr, if there is one, for good:
// something wants the application's own bytes there.
func (p *Process) uncover(addr uint64) error {
	j := p.coveredBy(addr)
	if j == nil {
		return nil
	}
	p.jumps.refused[j.entry] = true
	return p.dropJump(j, p.notify[j.entry] || p.placeAt[j.entry] != nil || p.awaited(j.entry))
}

// coveredBy is the jump that has displaced the code at addr.
func (p *Process) coveredBy(addr uint64) *jump {
	if len(p.jumps.at) == 0 {
		return nil
	}
	for entry := addr - mostDisplaced; entry <= addr; entry++ {
		if j := p.jumps.at[entry]; j != nil && addr < j.end {
			return j
		}
	}
	return nil
}

// lostJumps forgets the jumps in [start, end) that are no longer there, because
// other memory is.
func (p *Process) lostJumps(start, end uint64) {
	for entry, j := range p.jumps.at {
		if entry < end && j.end > start && !j.liesIn(p.mem) {
			delete(p.jumps.at, entry)
		}
	}
}

// originals puts the application's own bytes into a copy of the memory at addr,
// where jumps lie in it.
func (p *Process) originals(b []byte, addr uint64) {
	for _, j := range p.jumps.at {
		for i, ours := range j.ours {
			if at := j.entry + uint64(i) - addr; at < uint64(len(b)) && b[at] == ours {
				b[at] = j.orig[i]
			}
		}
	}
}

// restore gives a process that has a copy of p's memory its code back: what is
// there now and what was when the copy was made.
func (p *Process) restore(mem *os.File) error {
	for _, j := range p.jumps.all {
		if !j.liesIn(mem) {
			continue
		}
		if _, err := mem.WriteAt(j.orig, int64(j.entry)); err != nil {
			return fmt.Errorf("code at %#x: %w", j.entry, err)
		}
	}
	for _, probes := range []map[uint64]byte{p.probes, p.removed} {
		for at, orig := range probes {
			var b [1]byte
			if _, err := mem.ReadAt(b[:], int64(at)); err != nil || b[0] != 0xcc {
				continue
			}
			if _, ok := p.probes[at]; !ok {
				if _, err := p.mem.ReadAt(b[:], int64(at)); err == nil && b[0] == 0xcc {
					continue // the application's own, by now
				}
			}
			if _, err := mem.WriteAt([]byte{orig}, int64(at)); err != nil {
				return fmt.Errorf("code at %#x: %w", at, err)
			}
		}
	}
	return nil
}

// interruptedAt notes that a signal's handler will return to an address.
func (p *Process) interruptedAt(addr uint64) {
	js := &p.jumps
	if js.off {
		return
	}
	js.interrupted[addr] = true
	if len(js.interrupted) > maxInterrupted {
		js.off, js.interrupted = true, nil
	}
}
