package translate

import (
	"maps"
	"slices"

	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// Who calls whom is counted by the counting variant at the branch, as neither a function's entry nor its block knows where a thread
// has come from:
//
//   - a direct call is counted by its block, which ends with it and leads to one place: nothing is added;
//   - a direct jump to another function's first instruction, taken or fallen into, has a counter of its own;
//   - an indirect call or jump adds to an entry of a table in the thread's slot that goes by the branch and the target (countTarget).
//
// Refused: a chain of comparisons with the targets met so far at each branch, with a counter each: a thread walks through all of
// it for the last one, a branch of an interpreter has a hundred, and such chains would have to go with the blocks that they lead
// to. Refused, too, a word that says which branch was last, for the target to look at: each return would have to clear it.

// Edge is a branch that was counted: of the instruction at From to To.
type Edge struct {
	From, To uint64
	Jump     bool // it is no call instruction: it enters a function only where To is one's first instruction
}

// EdgeCounts is what a process knows of the edges that are counted.
type EdgeCounts struct {
	On    bool
	Calls map[uint32]Edge // of blocks that end with a direct call, by the block's number
	Jumps map[int]Edge    // of direct jumps into functions, by counter

	Sites  []Branch        // indirect branches, by number
	number map[Site]uint32 // of those
	hashes uint32          // that have been given to branches
	// Pairs are the edges that have an entry in a thread's table, by the slot's number and the entry's.
	Pairs map[int]map[uint32]Edge
	// Met are those of them that threads are given an entry for without asking: what others have asked for, here or in what was taken over. A branch that gets another hash has its pairs
	// there once more.
	Met  []Pair
	met  map[Pair]struct{}
	away []Pair // of branches of images that are not here
}

// Pair is an indirect branch, by its number, that has led to an address.
type Pair struct {
	Site uint32
	To   uint64
}

// mostMet bounds them, so that tables have room for others.
const mostMet = layout.EdgeEntries / 2

// Meet notes a pair.
func (e *EdgeCounts) Meet(p Pair) {
	if _, ok := e.met[p]; !ok && len(e.met) < mostMet {
		e.met[p] = struct{}{}
		e.Met = append(e.Met, p)
	}
}

// Site is an indirect branch.
type Site struct {
	Addr uint64
	Jump bool
}

// Branch is what is known of one.
type Branch struct {
	Site
	hash   uint32
	hashed bool    // else there were too many: each execution asks
	places []place // where code has its hash
	lost   int     // entries that others had, since it got its hash
	bears  int     // so many, until it gets another one
}

// place is where in a region something lies.
type place struct {
	region uint8
	off    uint32
}

// Inherit is for who has got another process's translations: what their counters and hashes are of.
func (e *EntryCounts) Inherit(from *EntryCounts) {
	e.Jumps = maps.Clone(from.Jumps)
	f := &from.Edges
	e.Edges = EdgeCounts{On: f.On, Calls: maps.Clone(f.Calls), Jumps: maps.Clone(f.Jumps), number: maps.Clone(f.number), hashes: f.hashes,
		Sites: slices.Clone(f.Sites), Pairs: make(map[int]map[uint32]Edge), Met: slices.Clone(f.Met), met: maps.Clone(f.met), away: slices.Clone(f.away)}
	for i := range e.Edges.Sites {
		s := &e.Edges.Sites[i]
		s.places = slices.Clone(s.places)
	}
}

// Like tells whether translations count the same as those of another process.
func (e *EntryCounts) Like(o *EntryCounts) bool {
	return (e.Function == nil) == (o.Function == nil) && e.Edges.On == o.Edges.On
}

// Start has edges counted.
func (e *EdgeCounts) Start() {
	*e = EdgeCounts{On: true, Calls: make(map[uint32]Edge), Jumps: make(map[int]Edge), number: make(map[Site]uint32), Pairs: make(map[int]map[uint32]Edge), met: make(map[Pair]struct{})}
}

// IsJump tells whether a counter is one of jumps into functions.
func (e *EdgeCounts) IsJump(counter int) bool {
	_, ok := e.Jumps[counter]
	return ok
}

// Forget is for when all blocks and counters are forgotten. Hashes of indirect branches stay: threads' tables go by them.
func (e *EdgeCounts) Forget() {
	clear(e.Calls)
	clear(e.Jumps)
	for i := range e.Sites {
		e.Sites[i].places = nil
	}
}

// leastBorne is how many entries an indirect branch may take from others before it gets another hash; each time it may be twice as many, as a branch with very many
// targets meets others wherever it is.
const leastBorne = 4

// Number is the number of an indirect branch.
func (e *EdgeCounts) Number(s Site) uint32 {
	n, ok := e.number[s]
	if !ok {
		n = uint32(len(e.Sites))
		e.number[s] = n
		e.Sites = append(e.Sites, Branch{Site: s, bears: leastBorne})
		e.Sites[n].hash, e.Sites[n].hashed = e.newHash()
	}
	return n
}

// newHash is a hash that no branch has had; false if all have been given.
func (e *EdgeCounts) newHash() (uint32, bool) {
	if e.hashes == layout.EdgeEntries {
		return 0, false
	}
	e.hashes++
	return e.hashes * 0x9e3b % layout.EdgeEntries, true // an odd factor gives each another one
}

// Entry is the entry of a branch, by its number, and a target; false for a branch that has none.
func (e *EdgeCounts) Entry(site uint32, to uint64) (uint32, bool) {
	b := &e.Sites[site]
	return (b.hash + uint32(to)) % layout.EdgeEntries, b.hashed
}

// Took notes that a branch has taken an entry that another edge had. Two that are executed by turns would do so each time: the branch gets another hash
// then, in the code that threads may be executing. Where they still see the old one they find the old entries, whose counts are right.
func (e *EdgeCounts) Took(c *codecache.Cache, site uint32) {
	b := &e.Sites[site]
	if b.lost++; b.lost < b.bears {
		return
	}
	h, ok := e.newHash()
	if !ok {
		return
	}
	b.hash, b.lost, b.bears = h, 0, 2*b.bears
	for _, p := range e.Met {
		if p.Site == site {
			e.Met = append(e.Met, p)
		}
	}
	for _, p := range b.places {
		codecache.Patch32(c.Regions[p.region].Mem[p.off:][:4], h)
	}
}

// countsEdges tells whether what is being written counts edges.
func (u *Translator) countsEdges() bool {
	return u.Variant == codecache.Count && u.Entries.Edges.On
}

// noteCall notes the call that a counted block ends with. One of the next instruction, which wants to know where it is, is none.
func (u *Translator) noteCall(b *codecache.Block, in *x86.Insn) {
	if u.countsEdges() && in.Cat == x86.CatCALL && in.Opcode == 0xe8 && in.Target() != in.Next() {
		u.Entries.Edges.Calls[b.Num] = Edge{From: in.Addr, To: in.Target()}
	}
}

// entersFrom tells whether who goes on at to behind an instruction, by something else than a call, enters another function there.
func (u *Translator) entersFrom(from, to uint64) bool {
	if !u.countsEdges() || u.cache.Counters.N == layout.MaxCounters {
		return false
	}
	start, end := u.Entries.Function(to)
	if end == start || start != to {
		return false
	}
	s, e := u.Entries.Function(from)
	return s != start || e == s
}

// countEnter writes the counting of a jump, or of falling, from an instruction into a function.
func (u *Translator) countEnter(from, to uint64) {
	n := u.cache.Counters.N
	u.cache.Counters.Append(0)
	u.Entries.Edges.Jumps[n] = Edge{From: from, To: to, Jump: true}
	u.increment(layout.CounterOff+8*n, x86.RAX)
}

// countFall writes the counting of falling from a block's last instruction into the next function. What lies behind a system call is looked
// at by state recovery, and behind a call nothing falls.
func (u *Translator) countFall(in *x86.Insn, next uint64) {
	switch in.Cat {
	case x86.CatUNCONDBR, x86.CatCALL, x86.CatRET, x86.CatSYSCALL:
		return
	}
	if next == in.Next() && u.entersFrom(in.Addr, next) {
		u.countEnter(in.Addr, next)
	}
}

// countTarget counts where an indirect branch leads: its target is in rcx, whose own value is in S0. Registers and flags stay as they
// are. What has no entry in the thread's table yet asks the tracer, which goes on as where a target has no translation.
func (u *Translator) countTarget(s Site) {
	if !u.countsEdges() {
		return
	}
	a := &u.asm
	site := u.Entries.Edges.Number(s)
	a.StoreWord(layout.S1, x86.RDX)
	a.StoreWord(layout.EdgeTo, x86.RCX)
	a.StoreWord(layout.EdgeRAX, x86.RAX)
	ask := func(u *Translator) {
		a := &u.asm
		a.LoadWord(x86.RAX, layout.EdgeRAX)
		a.LoadWord(x86.RCX, layout.EdgeTo)
		a.StoreWord(layout.ReqArg, x86.RCX)
		a.LoadWord(x86.RCX, layout.S0)
		a.LoadWord(x86.RDX, layout.S1)
		a.StoreWordImm(layout.EdgeSite, site+1)
		u.dispatch(layout.ReqBranched)
	}
	b := &u.Entries.Edges.Sites[site]
	if !b.hashed {
		u.cold = append(u.cold, coldStub{a.JmpLater(), ask})
		return
	}
	a.AlignRel32(leaOpcode)
	b.places = append(b.places, place{u.ar.Num, uint32(a.Pos() + leaOpcode)})
	a.LeaLong(x86.RDX, x86.RCX, int32(b.hash))
	a.MovzxHalf(x86.RDX, x86.RDX)
	a.Load(x86.RAX, asm.WordBy(layout.EdgeKeys, x86.RDX, 8), 8)
	a.Lea(x86.RCX, asm.Sum(x86.RCX, x86.RAX, 1, 0))
	u.cold = append(u.cold, coldStub{a.JnrcxzLater(), ask})
	a.Load(x86.RAX, asm.WordBy(layout.EdgeCounts, x86.RDX, 8), 8)
	a.LeaDisp(x86.RAX, x86.RAX, 1)
	a.Store(asm.WordBy(layout.EdgeCounts, x86.RDX, 8), 8, x86.RAX)
	a.LoadWord(x86.RAX, layout.EdgeRAX)
	a.LoadWord(x86.RCX, layout.EdgeTo)
	a.LoadWord(x86.RDX, layout.S1)
}

// leaOpcode is how many bytes are in front of the displacement that LeaLong writes.
const leaOpcode = 3
