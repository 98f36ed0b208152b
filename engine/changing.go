package engine

import (
	"encoding/binary"
	"slices"
	"strings"

	"alleria/engine/asm"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Code that may change without a system call, because its pages are writable
// or shared with another mapping that is, compares itself: each block of it
// begins by comparing the application's bytes with those that it was translated
// from, and asks for another translation if they differ. A block ends behind an
// instruction that may write code, so that a program which changes the
// instructions right behind itself sees them changed, as on the processor.
//
// The refused alternative takes the right to write away from such pages and
// catches the faults: two stops and two system calls for each change, system
// calls of the application that write there would fail, and a second mapping
// of the same memory goes unnoticed.

// maxChangingInsns bounds the blocks of such code: what is compared grows with
// them.
const maxChangingInsns = 16

// changing tells whether the code at addr may change unnoticed.
func (p *Process) changing(addr uint64) bool {
	if !p.executable(addr) {
		return false
	}
	m := p.code.mapping(addr)
	return m != nil && (m.Writable() || m.Shared() || strings.HasSuffix(m.Path, deleted))
}

// deleted is what the kernel appends to the path of a file that has no name any more, or never had one. Code does not
// stay in such files by itself: a program has made it, and may write it by another mapping or the file's descriptor,
// which a private mapping shows as well.
const deleted = " (deleted)"

// changes tells whether any of the instructions, which follow each other, may change unnoticed.
func (p *Process) changes(ins []x86.Insn) bool {
	first, last := ins[0].Addr, ins[len(ins)-1].Next()-1
	if p.changing(first) {
		return true
	}
	for at := first&^(pageSize-1) + pageSize; at <= last; at += pageSize {
		if p.changing(at) {
			return true
		}
	}
	return false
}

// untilStore returns how many of the instructions a block of changing code may
// have.
//
// Stores by way of rsp and rbp are taken for the stack's: code would
// else be cut at
// every push. Not where the code itself has just taken them from elsewhere.
func untilStore(ins []x86.Insn) int {
	n := min(len(ins), maxChangingInsns)
	stack := uint16(1<<x86.RSP | 1<<x86.RBP)
	for i := range ins[:n] {
		in := &ins[i]
		for _, m := range in.Mems[:in.NMem] {
			if m.Write != 0 && (m.Base != x86.RSP && m.Base != x86.RBP || stack>>m.Base&1 == 0) {
				return i + 1
			}
		}
		if !keepsStack(in) {
			stack &^= in.GPRWrite
		}
	}
	return n
}

// keepsStack tells an instruction that leads rsp and rbp nowhere but along the stack that they point to.
func keepsStack(in *x86.Insn) bool {
	const stack = 1<<x86.RSP | 1<<x86.RBP
	if in.Cat == x86.CatPUSH || in.GPRWrite&stack == 0 {
		return true
	}
	return in.GPRRead&stack != 0 && in.GPRRead&^stack == 0 && !in.RIPRelative()
}

// compareSelf writes, at a block's entry, the comparison of the n bytes of code
// that it was decoded from with what is there when it runs. Flags stay as they
// are; rcx and rdx are borrowed.
//
// The whole block is compared before any of it executes: between its instructions nobody
// but another thread can change it, and processors promise nothing about that either.
func (u *unit) compareSelf(b *block, n int) {
	a := &u.asm
	code := u.p.withProbes(u.p.code.cur[b.app-u.p.code.base:][:n], b.app)
	ask := u.p.newExit(exit{target: b.app, area: u.ar, v: u.v, fixed: true, how: b.counting(), rareExit: rareExit{stale: b}})
	a.StoreWord(layout.S0, x86.RCX)
	a.StoreWord(layout.S1, x86.RDX)
	for at := 0; at < n; {
		piece := u.pieceAt(b.app+uint64(at), n-at)
		u.comparePiece(piece, code[at:at+piece.n])
		u.coldAsk(a.JnrcxzLater(), ask, func(u *unit) {
			u.asm.LoadWord(x86.RCX, layout.S0)
			u.asm.LoadWord(x86.RDX, layout.S1)
		})
		at += piece.n
	}
	a.LoadWord(x86.RCX, layout.S0)
	a.LoadWord(x86.RDX, layout.S1)
	b.compared = uint16(a.Here() - b.code)
}

// withProbes is the code at addr as it lies there, with the breakpoints of native probes, which
// stay while the process is in the cache: a copy, if there are any.
func (p *Process) withProbes(code []byte, addr uint64) []byte {
	copied := false
	for at := range p.probes {
		if at-addr >= uint64(len(code)) {
			continue
		}
		if !copied {
			code, copied = append([]byte(nil), code...), true
		}
		var b [1]byte
		if _, err := p.mem.ReadAt(b[:], int64(at)); err == nil && b[0] == 0xcc {
			code[at-addr] = 0xcc
		}
	}
	return code
}

// piece is what one load compares: n bytes, which begin skip bytes into the
// aligned word of size bytes at addr.
type piece struct {
	addr          uint64
	size, skip, n int
}

// pieceAt is the first piece of the n bytes at addr. Loads are aligned, because a
// program may have alignment checked (EFLAGS.AC, as the Java virtual machine does
// for a moment to tell processors apart) and would be sent SIGBUS for one of
// ours. An aligned word that sticks out at the ends lies in the same page.
func (u *unit) pieceAt(addr uint64, n int) piece {
	if u.p.hasBMI2 {
		skip := int(addr & 7)
		return piece{addr &^ 7, 8, skip, min(8-skip, n)}
	}
	// Without shifts that leave the flags alone: what is aligned by itself.
	size := 8
	for addr&uint64(size-1) != 0 || size > n {
		size /= 2
	}
	return piece{addr, size, 0, size}
}

// comparePiece leaves 0 in rcx if a piece of memory holds want.
// Bytes outside of the piece are shifted out; what is left is added to minus the
// wanted value.
func (u *unit) comparePiece(pc piece, want []byte) {
	a := &u.asm
	if u.ar.near(pc.addr) {
		a.Load(x86.RCX, asm.Abs(pc.addr), pc.size)
	} else {
		a.MovImm(x86.RDX, pc.addr)
		a.Load(x86.RCX, asm.At(x86.RDX, 0), pc.size)
	}
	var w [8]byte
	copy(w[:], want)
	value := binary.LittleEndian.Uint64(w[:])
	if pc.skip > 0 {
		a.MovImm(x86.RDX, uint64(8*pc.skip))
		a.Shrx(x86.RCX, x86.RCX, x86.RDX)
	}
	if above := pc.size - pc.n; above > 0 {
		a.MovImm(x86.RDX, uint64(8*above))
		a.Shlx(x86.RCX, x86.RCX, x86.RDX)
		value <<= 8 * above
	}
	a.MovImm(x86.RDX, -value)
	a.Lea(x86.RCX, asm.Sum(x86.RCX, x86.RDX, 1, 0))
}

// stale replaces a block whose code has changed.
// Another thread may have asked first.
func (p *Process) stale(b *block) {
	if !b.dead {
		p.forget([]*block{b})
	}
}

// What a process does natively with its code is not seen: a library goes and another one comes to where it was, a just-in-time
// compiler writes anew what it protects again. Before translations are used after a stretch of native code, the mappings
// are compared with those that they were made from, and code that lies in no file with itself.

// inFile tells a mapping whose contents are a file's, which keeps its name: code there changes with the mapping.
func inFile(m *sys.Mapping) bool {
	return m.Path == "[vdso]" || strings.HasPrefix(m.Path, "/") && !strings.HasSuffix(m.Path, deleted)
}

// ran is what of a process's native code may have changed translated code.
type ran uint8

const (
	ranNot  ran = iota // the translations are as good as when they were made
	ranAll             // the process has run natively
	ranRest            // since they were compared, some of its threads still have
)

// checkCode forgets what was translated from code that is not there any more, before t goes on in the cache. It is
// done for the first thread that comes back and for the last.
func (p *Process) checkCode(t *Thread) {
	others := slices.ContainsFunc(p.running(), func(o *Thread) bool { return o != t && o.native && !o.vfork && !o.ending })
	switch {
	case p.code.ran == ranNot, p.code.ran == ranRest && others:
		return
	case others:
		p.code.ran = ranRest
	default:
		p.code.ran = ranNot
	}
	if len(p.code.pages) > 0 {
		p.compareCode()
	}
}

// compareCode compares what blocks were translated from with what is there.
func (p *Process) compareCode() {
	c := &p.code
	before := slices.Clone(c.maps)
	c.valid = false
	p.readMaps()
	c.near = 0
	same := slices.EqualFunc(before, c.maps, sameCode)
	if same && len(c.soft) == 0 {
		return
	}
	old := codePages{maps: before}
	var gone []uint64
	for addr, page := range c.pages {
		if _, soft := c.soft[addr]; soft {
			if !p.samePage(addr, page) {
				gone = append(gone, addr)
			}
		} else if !same {
			a, b := old.mapping(addr), c.mapping(addr)
			if a == nil || b == nil || a.Path != b.Path || a.Inode != b.Inode || a.Prot != b.Prot || addr-a.Start+a.Offset != addr-b.Start+b.Offset {
				gone = append(gone, addr)
			}
		}
	}
	for _, addr := range gone {
		p.invalidate(addr, addr+pageSize)
	}
	if !same {
		p.client.ImagesChanged(p)
	}
}

// sameCode tells whether two executable mappings are one.
func sameCode(a, b sys.Mapping) bool {
	return a.Start == b.Start && a.End == b.End && a.Prot == b.Prot && a.Offset == b.Offset && a.Inode == b.Inode && a.Path == b.Path
}

// samePage tells whether a page that lies in no file holds what it held when it was read, and still cannot change
// unnoticed.
func (p *Process) samePage(addr uint64, page *[pageSize]byte) bool {
	if page == nil || !p.executable(addr) || p.changing(addr) {
		return false
	}
	var now [pageSize]byte
	if _, err := p.mem.ReadAt(now[:], int64(addr)); err != nil {
		return false
	}
	p.unprobed(now[:], addr)
	return now == *page
}
