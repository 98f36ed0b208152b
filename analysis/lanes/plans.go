package lanes

import "alleria/abp"

// Plans is what a loop in C knows of blocks: numbers in slices, which C may look at.
type Plans struct {
	plans  []plan   // by block
	arena  []uint64 // groups of accesses of all blocks
	groups int      // that there are
	fs     uint64   // the base of fs that offsets have with them
	inFS   []uint32 // where in the arena these offsets are
}

// plan is what there is to be known of a block. It has the layout of C's.
type plan struct {
	at     uint32
	words  uint16 // 0: it is left to Go
	groups uint16
}

// The layout of the arena: see lanes_amd64.h.
const (
	lanes       = 8
	groupMasks  = 0
	groupNumber = 32
	groupIndex  = 1  // of the words that are added
	groupOffset = 3  // that is added to them
	groupOwn    = 11 // what the loop keeps of each
	groupWords  = 19
	mostGroups  = 32
)

// MostAccesses is how many accesses a block with a plan has at most.
const MostAccesses = lanes * mostGroups

// Has tells whether a block is left to C.
func (v *Plans) Has(id uint32) bool { return int(id) < len(v.plans) && v.plans[id].words > 0 }

// Blocks is a number that no block reaches which is left to C.
func (v *Plans) Blocks() int { return len(v.plans) }

// Base says what the base of fs is in the executions that come. It is nearly always the same for a thread, so that loops know nothing of it: it is added to offsets.
// Many functions of a distribution's programs look at their stack protector there.
func (v *Plans) Base(fs uint64) {
	if fs == v.fs {
		return
	}
	for _, at := range v.inFS {
		v.arena[at] += fs - v.fs
	}
	v.fs = fs
}

// add makes a block known, all of whose accesses are plain but for a base of fs, if it is not too large; own is what the loop keeps of each.
func (v *Plans) add(b *abp.Block, own func(a *abp.Access) uint64) {
	if !plainOrFS(b) {
		return
	}
	var p groups
	n := 0
	counted(b, func(_ int, a *abp.Access) {
		if n%lanes == 0 {
			p.begin(uint64(v.groups + n/lanes))
		}
		p.put(n/lanes, n%lanes, a, own(a))
		n++
	})
	v.keep(b, &p)
}

// keep keeps the groups of a block, if it is not too large.
func (v *Plans) keep(b *abp.Block, p *groups) {
	if n := int(b.ID) + 1 - len(v.plans); n > 0 {
		v.plans = append(v.plans, make([]plan, n+len(v.plans)/2)...)
	}
	n := len(p.words) / groupWords
	if n > mostGroups || b.Words >= 1<<15 {
		return
	}
	v.plans[b.ID] = plan{at: uint32(len(v.arena)), words: uint16(b.Words + 1), groups: uint16(n)}
	v.groups += n
	for _, at := range p.inFS {
		p.words[at] += v.fs
		v.inFS = append(v.inFS, uint32(len(v.arena)+at))
	}
	v.arena = append(v.arena, p.words...)
}

// of are the groups of a plan.
func (v *Plans) of(p plan) []uint64 { return v.arena[p.at:][:int(p.groups)*groupWords] }

// groups are those of a block that is looked at, and which of their words are offsets from the base of fs.
type groups struct {
	words []uint64
	inFS  []int
}

// begin begins a group with a number of its own, and returns which one it is.
func (p *groups) begin(number uint64) int {
	p.words = append(p.words, make([]uint64, groupWords)...)
	i := len(p.words)/groupWords - 1
	p.group(i)[groupMasks] = number << groupNumber
	return i
}

// group is one of them.
func (p *groups) group(i int) []uint64 { return p.words[i*groupWords:][:groupWords] }

// put puts an access into a lane of a group.
func (p *groups) put(i, k int, a *abp.Access, own uint64) {
	g := p.group(i)
	g[groupOffset+k], g[groupOwn+k] = uint64(a.Offset), own
	g[groupMasks] |= 1 << k
	if a.Seg == abp.SegFS {
		p.inFS = append(p.inFS, i*groupWords+groupOffset+k)
	}
	if a.Word >= 0 {
		g[groupIndex+k/4] |= uint64(a.Word) << (k % 4 * 16)
		g[groupMasks] |= 1 << (lanes + k)
	}
	if a.Store {
		g[groupMasks] |= 1 << (2*lanes + k)
	}
}
