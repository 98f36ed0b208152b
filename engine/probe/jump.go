package probe

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sort"

	"alleria/engine/x86"
	"alleria/internal/sys"
)

// Jumps: native probes that count without a stop. A function whose entries alone
// are counted, and that was hit a few times, gets a jump in place of its int3. It
// leads to a few instructions in memory of ours near the image, which take one off
// the counter's count, execute the function's displaced instructions, and jump back
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
// program that hits it often goes on in the cache (package residency).
//
// Refused: relative displacements chosen so that each instruction boundary in them
// is an int3 itself, which would catch any stray branch. That dictates where the
// memory has to lie, up to 800 MiB below each image, and programs at low addresses
// have nothing there.

const (
	// jumpBytes is a jump with a displacement of 32 bits.
	jumpBytes = 5
	// A counter is worth a jump if so many more entries are awaited.
	jumpLeft = 16
	// At its first hit, since what the int3 leads to is not exact with several
	// threads (overProbe) and lets signals find the thread behind the function's
	// first instruction, to which they return; but a large image, which takes long
	// to look through, has to be worth it.
	jumpHitsLarge = 3
	largeImage    = 8 << 20
)

// Jump is what counts a function's entries natively.
type Jump struct {
	pl    *Counter
	Entry uint64 // of the function
	size  uint64 // likewise
	Patch uint64 // where the jump lies: behind an endbr64, which stays in front
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
	Code, Body, Hit uint64
	// It captures: entries of point, or, where there is none, returns. ask is an int3, for when it is not known whether
	// the return is caught.
	captures bool
	point    *Interception
	Ask      uint64
	// It notes what the program does with SIGTRAP (note.go): behind that it goes on at skip.
	// asks is an int3 of it, for calls that the tracer has to know of beforehand; 0: none.
	notes bool
	skip  uint64
	asks  uint64
}

// movedInsn says where a displaced instruction has gone.
type movedInsn struct{ app, code uint64 }

// jumps is what a process has of them.
type jumps struct {
	at      byPage[*Jump]   // in place, by the function's address
	lost    byPage[*Jump]   // whose memory was replaced: the program may have a copy of its code, see foundJumps
	all     []*Jump         // ever made: threads may still be in them
	refused map[uint64]bool // functions that get none
	hits    map[uint64]int  // of their int3s, as long as it is to be seen whether they are worth it
	regions []*JumpRegion
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
	return jumps{refused: make(map[uint64]bool), hits: make(map[uint64]int), off: off,
		interrupted: make(map[uint64]bool)}
}

// wantsJump tells whether a watched address could have its entries counted by a
// jump: nothing but the entry's count is wanted there. Returns need the thread to
// stop, since only at the entry is it known where it will return to.
func (p *Points) wantsJump(addr uint64) bool {
	at := p.at[addr]
	return at.size() > 0 && at.entry != nil && at.returns == nil && at.capture == nil && !p.cache.Watched[addr] && !p.awaited(addr)
}

// add keeps a jump, in the order of where their code lies.
func (js *jumps) add(j *Jump) {
	i := sort.Search(len(js.all), func(i int) bool { return js.all[i].Code > j.Code })
	js.all = slices.Insert(js.all, i, j)
}

// PlanJump looks whether the function at addr can have a jump, and which instructions
// it displaces; nil if it cannot. Threads run meanwhile: it takes milliseconds in a
// large image.
func (p *Points) PlanJump(addr uint64) (*Jump, []x86.Insn) {
	j := &Jump{pl: p.at[addr].entry, Entry: addr, size: p.at[addr].size()}
	p.code.Reread(p.code.Mapping(addr))
	ins := p.displace(j)
	if ins == nil || p.disturbed(j) || p.branchedInto(j) {
		return nil, nil
	}
	return j, ins
}

// disturbed tells whether something else has to do with the bytes that j displaces.
func (p *Points) disturbed(j *Jump) bool {
	for addr := j.Entry; addr < j.end; addr++ {
		_, probe := p.probes.get(addr)
		if addr != j.Entry && (p.jumps.interrupted[addr] || probe || p.cache.Watched[addr] || p.at[addr] != nil || p.awaited(addr)) {
			return true
		}
	}
	for addr := j.Entry - mostDisplaced; addr < j.end; addr++ {
		if o := p.JumpOf(addr); o != nil && j.Entry < o.end {
			return true
		}
	}
	return false
}

// mostDisplaced is more than what any jump displaces.
const mostDisplaced = 32

// dropJump gives the application its code back and, with watched, puts the int3
// there instead. Threads that are in j's code leave it by themselves.
func (p *Points) dropJump(j *Jump, watched bool) error {
	thaw := p.host.Freeze()
	defer thaw()
	p.jumps.at.drop(j.Entry)
	p.jumps.hits[j.Entry] = 0
	if !j.liesIn(p.mem) {
		return nil // other memory is there by now
	}
	b := append([]byte(nil), j.orig...)
	if watched {
		b[0] = 0xcc
	}
	if _, err := p.mem.WriteAt(b, int64(j.Entry)); err != nil {
		return fmt.Errorf("code at %#x: %w", j.Entry, err)
	}
	if watched {
		p.probes.put(j.Entry, j.orig[0])
	}
	return nil
}

// liesIn tells whether the jump is where it was put, in a process's memory.
func (j *Jump) liesIn(mem io.ReaderAt) bool {
	b := make([]byte, len(j.ours))
	_, err := mem.ReadAt(b, int64(j.Entry))
	return err == nil && bytes.Equal(b, j.ours)
}

// Uncover takes the jump away that covers addr, if there is one, for good:
// something wants the application's own bytes there.
func (p *Points) Uncover(addr uint64) error {
	j := p.coveredBy(addr)
	if j == nil {
		return nil
	}
	p.jumps.refused[j.Entry] = true
	return p.dropJump(j, p.cache.Watched[j.Entry] || p.at[j.Entry] != nil || p.awaited(j.Entry))
}

// coveredBy is the jump that has displaced the code at addr.
func (p *Points) coveredBy(addr uint64) *Jump {
	if p.jumps.at.n == 0 {
		return nil
	}
	for entry := addr - mostDisplaced; entry <= addr; entry++ {
		if j := p.JumpOf(entry); j != nil && addr < j.end {
			return j
		}
	}
	return nil
}

// lostJumps forgets the jumps in [start, end) that are no longer there, because
// other memory is.
func (p *Points) lostJumps(start, end uint64) {
	for entry, j := range p.jumps.at.within(start-min(start, mostDisplaced), end) {
		if j.end > start && !j.liesIn(p.mem) {
			p.jumps.at.drop(entry)
			p.jumps.lost.put(entry, j)
			p.forgetSites(entry, j.end)
		}
	}
	p.foundJumps(start, end)
}

// foundJumps knows those jumps again that were lost and lie where they did: the program had copied its code, and has copied it back over other memory.
func (p *Points) foundJumps(start, end uint64) {
	for entry, j := range p.jumps.lost.within(start-min(start, mostDisplaced), end) {
		if j.end > start && p.JumpOf(entry) == nil && j.liesIn(p.mem) {
			p.jumps.lost.drop(entry)
			p.jumps.at.put(entry, j)
		}
	}
}

// originals puts the application's own bytes into a copy of the memory at addr,
// where jumps lie in it.
func (p *Points) originals(b []byte, addr uint64) {
	p.foundJumps(addr, addr+uint64(len(b)))
	for _, j := range p.jumps.at.within(addr-min(addr, mostDisplaced), addr+uint64(len(b))) {
		for i, ours := range j.ours {
			if at := j.Entry + uint64(i) - addr; at < uint64(len(b)) && b[at] == ours {
				b[at] = j.orig[i]
			}
		}
	}
}

// Restore gives a process that has a copy of p's memory its code back: what is
// there now and what was when the copy was made.
func (p *Points) Restore(mem *sys.ProcessMemory) error {
	for _, j := range p.jumps.all {
		if !j.liesIn(mem) {
			continue
		}
		if _, err := mem.WriteAt(j.orig, int64(j.Entry)); err != nil {
			return fmt.Errorf("code at %#x: %w", j.Entry, err)
		}
	}
	var page [appPage]byte
	for n, probes := range p.probes.pages {
		if err := restorePage(mem, page[:], n*appPage, probes); err != nil {
			return err
		}
	}
	for at, orig := range p.removed {
		if _, ok := p.probes.get(at); ok || p.isOwn(at) {
			continue
		}
		if err := restorePage(mem, page[:1], at, map[uint64]byte{at: orig}); err != nil {
			return err
		}
	}
	return nil
}

// isOwn tells whether an int3 at an address, where one of ours was, is the application's own by now.
func (p *Points) isOwn(at uint64) bool {
	if _, ours := p.copied(at); ours {
		return false
	}
	var b [1]byte
	_, err := p.mem.ReadAt(b[:], int64(at))
	return err == nil && b[0] == 0xcc
}

// restorePage takes the int3s out of a process's memory at an address, as much as there is room to read it: of the page that
// they are in, or of one. A page at a time, since there may be hundreds in each, and tens of thousands.
func restorePage(mem *sys.ProcessMemory, page []byte, start uint64, probes map[uint64]byte) error {
	n, _ := mem.ReadAt(page, int64(start)) // nothing where there is no memory by now
	first, end := uint64(len(page)), uint64(0)
	for at, orig := range probes {
		off := at - start
		if off >= uint64(n) || page[off] != 0xcc {
			continue
		}
		page[off] = orig
		first, end = min(first, off), max(end, off+1)
	}
	if first >= end {
		return nil
	}
	if _, err := mem.WriteAt(page[first:end], int64(start+first)); err != nil {
		return fmt.Errorf("code at %#x: %w", start+first, err)
	}
	return nil
}

// InterruptedAt notes that a signal's handler will return to an address.
func (p *Points) InterruptedAt(addr uint64) {
	js := &p.jumps
	if js.off {
		return
	}
	js.interrupted[addr] = true
	if len(js.interrupted) > maxInterrupted {
		js.off, js.interrupted = true, nil
	}
}

// WorthJump tells whether a function whose int3 a thread has just hit is worth a jump that counts; alone: no other thread could
// slip through while the int3 is stepped over.
func (p *Points) WorthJump(addr uint64, alone bool) bool {
	js := &p.jumps
	if _, ok := p.probes.get(addr); !ok || js.off || js.refused[addr] || !p.wantsJump(addr) {
		return false
	}
	if int64(p.at[addr].entry.left().Load()) < jumpLeft || !p.code.Executable(addr) {
		return false
	}
	js.hits[addr]++
	m := p.code.Mapping(addr)
	return m.End-m.Start <= largeImage || !alone || js.hits[addr] >= jumpHitsLarge
}

// NoJumps says that no further jumps are to be made.
func (p *Points) NoJumps() { p.jumps.off = true }

// Refuse says that what is watched at addr gets no jump.
func (p *Points) Refuse(addr uint64) { p.jumps.refused[addr] = true }

// Write writes the code that a planned jump leads to; false if something is too far away.
func (p *Points) Write(ar *JumpRegion, j *Jump, ins []x86.Insn) bool {
	ok := j.captures && p.writeCapture(ar, j, ins) || !j.captures && p.writeJump(ar, j, ins)
	if ok {
		p.jumps.add(j)
	}
	return ok
}

// Displaces tells whether an address lies in the bytes that a jump changes, behind the first.
func (j *Jump) Displaces(addr uint64) bool { return addr > j.Entry && addr < j.end }

// PlaceJump writes a jump over its int3; false if other code is there by now. Nobody executes there.
func (p *Points) PlaceJump(j *Jump) bool {
	now := make([]byte, len(j.orig))
	if _, err := p.mem.ReadAt(now, int64(j.Entry)); err != nil || now[0] != 0xcc || !bytes.Equal(now[1:], j.orig[1:]) {
		return false
	}
	if _, err := p.mem.WriteAt(j.ours, int64(j.Entry)); err != nil {
		return false
	}
	p.removed[j.Entry], _ = p.probes.get(j.Entry)
	p.probes.drop(j.Entry)
	p.jumps.at.put(j.Entry, j)
	return true
}
