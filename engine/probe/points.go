package probe

import (
	"fmt"

	"alleria/engine/codecache"
	"alleria/engine/shm"
	"alleria/engine/translate"
	"alleria/engine/x86"
	"alleria/internal/sys"
)

// Points is what is watched by address in one process, natively and in the cache, and what lies in the application's code for it.
//
// A point is an address with actions: the client is notified, entries or returns are counted, the calls of a function are
// captured, a return is awaited. All of them share the int3 or the jump that lies there natively; it goes when the last of
// them goes. Only the tracer's goroutine touches it.
type Points struct {
	host       Host
	code       Code
	pid        int
	mem        *sys.ProcessMemory // the process's memory
	cache      *codecache.Cache
	translator *translate.Translator
	shm        *shm.Memory
	off        Off
	filled     bool         // memory may be userfaultfd's, which code would ask for by following a pointer
	errno      func() int64 // see FindErrno

	probes  byPage[byte]    // original bytes under native breakpoints
	removed map[uint64]byte // and under those that are no more: a thread may have run into one just before
	lost    byPage[byte]    // and under those whose memory was replaced: the program may have a copy of its code, see copied
	jumps   jumps
	// whose entries code counts, by number and by address; sites are native returns
	// that frames await, and how many. awaits: returns look whether they are awaited
	counters []*Counter
	at       map[uint64]*point
	sites    map[uint64]int
	captures captures
	gone     bool       // RemoveAll was called
	room     []x86.Insn // see decoded
	scans    *Scans     // of all processes; nil: none
}

// appPage is the size of pages of the application.
const appPage = 4096

// Off is what is switched off, for comparison.
type Off struct {
	Jumps                       bool // native probes are int3s, all of them
	NativeCapture, CacheCapture bool // calls are captured by the tracer where they are made natively, or in the cache
	PlaceAhead                  bool // each int3 is written by itself
	Scans                       bool // branches of an image are looked for in each process
	BehindCheck                 bool // calls of all functions are captured at their first instructions
	OneStack                    bool // goroutines are not told apart
}

// Code is the application's code, as it is without what lies there for probes.
type Code interface {
	// Fetch reads up to n bytes, fewer where executable memory ends. They are valid until the next Fetch.
	Fetch(addr uint64, n int) []byte
	Executable(addr uint64) bool
	// MayChange tells whether the code at addr may change without a system call.
	MayChange(addr uint64) bool
	// Mapping is the executable mapping that holds addr, nil if none does.
	Mapping(addr uint64) *sys.Mapping
	// Lowest is where the first executable mapping begins.
	Lowest() uint64
	// Reread forgets what was read of a mapping, Remapped what is known of all mappings: natively they change unnoticed.
	Reread(m *sys.Mapping)
	Remapped()
}

// Host is the process whose points these are.
type Host interface {
	// Native tells whether its threads are to run their own code.
	Native() bool
	// Freeze stops the threads that run natively, and returns what lets them go on.
	Freeze() (thaw func())
	// Invalidate has code in [start, end) translated anew.
	Invalidate(start, end uint64)
	// Fail takes an error after which the process cannot go on.
	Fail(err error)
}

// NewPoints makes the points of a process, none yet, with the memory at mem.
func New(host Host, code Code, pid int, mem *sys.ProcessMemory, cache *codecache.Cache, tr *translate.Translator, shared *shm.Memory, off Off) Points {
	return Points{host: host, code: code, pid: pid, mem: mem, cache: cache, translator: tr, shm: shared, off: off,
		removed: make(map[uint64]byte),
		jumps:   newJumps(off.Jumps), at: make(map[uint64]*point), sites: make(map[uint64]int)}
}

// Unasked tells whether nothing is watched that translations depend on.
func (p *Points) Unasked() bool { return len(p.at) == 0 && len(p.captures.points) == 0 }

// Untouched tells whether nothing ever was.
func (p *Points) Untouched() bool {
	return p.Unasked() && len(p.counters) == 0 && len(p.jumps.all) == 0
}

// Counts reads the words of all counters that cost a stop natively, added up: it shows whether anything was counted meanwhile.
func (p *Points) Counts() (sum uint64) {
	for _, pl := range p.counters {
		if p.JumpOf(pl.addr) == nil {
			sum += pl.left().Load()
		}
	}
	return sum
}

// IsPoint tells whether something else than a breakpoint of the tracer's own is wanted at an address.
func (p *Points) IsPoint(addr uint64) bool { return p.cache.Watched[addr] || p.at[addr] != nil }

// IsWatched tells whether anything is counted or captured at an address.
func (p *Points) IsWatched(addr uint64) bool { return p.at[addr] != nil }

// Counter is the counter with a number, which code tells of when its count has run out.
func (p *Points) Counter(n uint32) *Counter { return p.counters[n] }

// CountersAt are the counters at an address; nil where nothing is counted.
func (p *Points) CountersAt(addr uint64) (entry, returns, within *Counter) {
	if at := p.at[addr]; at != nil {
		return at.entry, at.returns, at.within
	}
	return nil, nil, nil
}

// CountsWithin tells whether a counter counts jumps from within its function.
func (p *Points) CountsWithin(pl *Counter) bool {
	at := p.at[pl.addr]
	return at != nil && at.within == pl
}

// AwaitsAt tells whether frames await a native return to an address, and catchesAt whether such returns are captured.
func (p *Points) AwaitsAt(site uint64) bool  { return p.sites[site] > 0 }
func (p *Points) CatchesAt(site uint64) bool { return p.captures.sites[site] }

// Interception is the captured function with a number.
func (p *Points) Interception(n uint32) *Interception { return p.captures.points[n] }

// JumpOf is the jump in place at a function's entry, nil if there is none; hasJumped tells whether there ever was one.
func (p *Points) JumpOf(entry uint64) *Jump {
	j, _ := p.jumps.at.get(entry)
	return j
}
func (p *Points) HasJumped() bool { return len(p.jumps.all) > 0 }

// Original is the byte under a native breakpoint.
func (p *Points) Original(addr uint64) (b byte, ok bool) {
	return p.probes.get(addr)
}

// Raises tells whether an int3 of ours is at an address, natively: a breakpoint, or one in the code of a jump.
func (p *Points) Raises(at uint64) bool {
	if _, ok := p.probes.get(at); ok {
		return true
	}
	j := p.JumpAt(at)
	return j != nil && (at == j.Hit && !j.notes || j.Ask != 0 && at == j.Ask || j.asks != 0 && at == j.asks)
}

// Notify asks for Client.Notified whenever a thread is about to execute addr.
// In native code a probe is put there.
//
// The address must be an instruction's first byte. In the cache that costs a dispatch each
// time it is reached; in native code a stop of the kernel.
func (p *Points) Notify(addr uint64) error {
	if p.cache.Watched[addr] {
		return nil
	}
	p.cache.Watched[addr] = true
	p.watch(addr)
	if p.host.Native() {
		return p.Add(addr)
	}
	return nil
}

// Unnotify undoes Notify.
// An address that was notified twice needs to be unnotified once.
func (p *Points) Unnotify(addr uint64) {
	if !p.cache.Watched[addr] {
		return
	}
	delete(p.cache.Watched, addr)
	p.watch(addr)
	p.RemoveIdle(addr)
}

// watch makes all translations of code at addr be made anew, so that they
// begin a block there that is entered through the tracer, or no longer do.
func (p *Points) watch(addr uint64) {
	p.host.Invalidate(addr, addr+1)
	for k := range p.cache.BareChecks { // its blocks are dead now
		if k.App == addr {
			delete(p.cache.BareChecks, k)
		}
	}
}

// PlaceAll puts native probes at all notify points, where returns are awaited first: code at an entry that finds a return site in the
// table relies on what lies there.
func (p *Points) PlaceAll(slots []*shm.Slot) error {
	if err := p.placeCaptureSites(slots); err != nil {
		return err
	}
	if err := p.placeSites(slots); err != nil {
		return err
	}
	for addr := range p.cache.Watched {
		if err := p.place(addr); err != nil {
			return err
		}
	}
	for addr := range p.at {
		if err := p.place(addr); err != nil {
			return err
		}
	}
	return nil
}

// place is Add for what was asked for before: its image may have been unmapped since, natively, by a thread that has not told of it yet.
func (p *Points) place(addr uint64) error {
	if err := p.Add(addr); !sys.NotMapped(err) {
		return err
	}
	return nil
}

// Add writes a breakpoint into the application's code.
//
// It is written through /proc/PID/mem, which ignores the protection of the page and copies it
// for this process alone. Threads of the process may be executing there: one byte is
// replaced as a whole.
//
// Where a jump lies it stays if it does what is wanted.
func (p *Points) Add(addr uint64) error {
	if _, ok := p.probes.get(addr); ok || p.gone {
		return nil
	}
	if p.foundJumps(addr, addr+1); p.JumpOf(addr) != nil {
		if p.lostJumps(addr, addr+1); p.JumpOf(addr) != nil && (p.wantsJump(addr) || p.wantsCaptureJump(addr)) {
			return nil
		}
	}
	if err := p.Uncover(addr); err != nil {
		return err
	}
	if _, ok := p.probes.get(addr); ok {
		return nil
	}
	var b [1]byte
	if _, err := p.mem.ReadAt(b[:], int64(addr)); err != nil {
		return fmt.Errorf("code at %#x: %w", addr, err)
	}
	if orig, ours := p.copied(addr); ours {
		b[0] = orig
	}
	if _, err := p.mem.WriteAt([]byte{0xcc}, int64(addr)); err != nil {
		return fmt.Errorf("code at %#x: %w", addr, err)
	}
	p.lost.drop(addr)
	p.probes.put(addr, b[0])
	return nil
}

// RemoveIdle removes a probe if nothing needs it.
func (p *Points) RemoveIdle(addr uint64) {
	if !p.cache.Watched[addr] && p.at[addr] == nil && !p.awaited(addr) {
		p.removeProbe(addr)
	}
}

// removeProbe gives the application its code back.
func (p *Points) removeProbe(addr uint64) {
	p.Lost(addr, addr+1)
	if j := p.JumpOf(addr); j != nil {
		p.host.Fail(p.dropJump(j, false))
		return
	}
	orig, ok := p.probes.get(addr)
	if !ok {
		return
	}
	if _, err := p.mem.WriteAt([]byte{orig}, int64(addr)); err == nil {
		p.probes.drop(addr)
		p.removed[addr] = orig
	}
}

// RemoveAll gives the application all of its code back, for good: a thread that is led out of a jump's code afterwards may
// still ask for its return to be caught, which nobody would be there for.
func (p *Points) RemoveAll() {
	p.gone = true
	for addr := range p.probes.all() {
		p.removeProbe(addr)
	}
	p.foundJumps(0, ^uint64(0))
	for addr := range p.jumps.at.all() {
		p.removeProbe(addr)
	}
	for addr := range p.lost.all() {
		p.MendCopy(addr)
	}
}

// Lost forgets the breakpoints in [start, end) that are no longer there,
// because other memory is, and that returns are caught there: an instruction need not begin at that place any more.
func (p *Points) Lost(start, end uint64) {
	p.lostJumps(start, end)
	for at, orig := range p.probes.within(start, end) {
		var b [1]byte
		if _, err := p.mem.ReadAt(b[:], int64(at)); err != nil || b[0] != 0xcc {
			p.removed[at] = orig // a thread may have run into it just before
			p.lost.put(at, orig)
			p.probes.drop(at)
			p.forgetSites(at, at+1)
		}
	}
}

// copied tells whether an int3 of ours lies where one was whose memory has been replaced since, and what the program has there: it had copied its code, and has copied it back over other
// memory, as one does that moves itself into large pages. Memory that is filled with int3s is no copy.
func (p *Points) copied(at uint64) (orig byte, ours bool) {
	orig, was := p.lost.get(at)
	if !was {
		return 0, false
	}
	var b [2]byte
	_, err := p.mem.ReadAt(b[:], int64(at))
	return orig, err == nil && isCopy(b[:])
}

// isCopy is copied for what lies there.
func isCopy(code []byte) bool { return code[0] == 0xcc && (len(code) == 1 || code[1] != 0xcc) }

// MendCopy gives the program its code back at an address, and tells whether an int3 of ours lay there that it had copied.
func (p *Points) MendCopy(at uint64) bool {
	orig, ours := p.copied(at)
	if !ours {
		return false
	}
	if _, err := p.mem.WriteAt([]byte{orig}, int64(at)); err != nil {
		return false
	}
	p.lost.drop(at)
	p.removed[at] = orig // other threads may have run into it just before
	return true
}

// Unprobed puts the application's own bytes where breakpoints and jumps of ours lie in a page, or a part of one.
func (p *Points) Unprobed(pg []byte, addr uint64) {
	for at, orig := range p.probes.within(addr, addr+uint64(len(pg))) {
		if pg[at-addr] == 0xcc {
			pg[at-addr] = orig
		}
	}
	for at, orig := range p.lost.within(addr, addr+uint64(len(pg))) {
		if isCopy(pg[at-addr:]) {
			pg[at-addr] = orig
		}
	}
	p.originals(pg, addr)
}

// Splits tells whether a block must begin at addr because something watches it.
func (p *Points) Splits(addr uint64) bool {
	return len(p.cache.Watched) > 0 && p.cache.Watched[addr] || len(p.at) > 0 && p.at[addr] != nil
}

// WithProbes is the code at addr as it lies there, with the breakpoints of native probes, which
// stay while the process is in the cache: a copy, if there are any.
func (p *Points) WithProbes(code []byte, addr uint64) []byte {
	copied := false
	for at := range p.probes.within(addr, addr+uint64(len(code))) {
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

// Gone tells whether a breakpoint of ours was at an address and is no more, maybe with the memory
// that it was in: then the fault that belongs there comes next.
func (p *Points) Gone(at uint64) bool {
	var b [1]byte
	if _, ok := p.removed[at]; !ok {
		return false
	}
	_, err := p.mem.ReadAt(b[:], int64(at))
	return err != nil || b[0] != 0xcc
}

// ProbedCall tells whether a native probe lies on a syscall instruction.
func (p *Points) ProbedCall(addr uint64) bool {
	var second [1]byte
	if b, _ := p.probes.get(addr); b != 0x0f {
		return false
	}
	n, _ := p.mem.ReadAt(second[:], int64(addr+1))
	return n == 1 && second[0] == 0x05
}

// CapturesAt is the function that is captured when it is entered at an address; nil: none.
func (p *Points) CapturesAt(addr uint64) *Interception {
	if at := p.at[addr]; at != nil {
		return at.capture
	}
	return nil
}

// Counted tells whether entries at an address are counted.
func (p *Points) Counted(addr uint64) bool {
	at := p.at[addr]
	return at != nil && (at.entry != nil || at.returns != nil || at.within != nil)
}

// Captured tells whether something is captured natively where a breakpoint lies.
func (p *Points) Captured(addr uint64) bool {
	return p.CapturesAt(addr) != nil || p.captures.sites[addr]
}
