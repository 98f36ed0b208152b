package pages

// vector takes whole executions eight accesses at a time (pages_amd64.c), and lists what leaves its page. What it knows of blocks are numbers in
// slices, which C may look at.
type vector struct {
	plans  []vectorPlan // by block
	arena  []uint64     // groups of accesses of all blocks
	since  []uint64     // of each group's accesses how many executions there had been when they came to their pages
	runs   []uint64     // by block: executions
	recent [recents]recent
	events []uint64
	used   int // words of events that are filled
}

// recent is what was counted of a page lately, of loads and of stores. It has the layout of C's.
type recent struct {
	page uint64
	n    [2]uint64
}

// vectorPlan is what there is to be known of a block. It has the layout of C's.
type vectorPlan struct {
	at     uint32
	words  uint16 // 0: it is left to Go
	groups uint16
}

// The layout of the arena and of events: see pages_amd64.h.
const (
	lanes       = 8
	groupMasks  = 0
	groupSince  = 32
	groupIndex  = 1  // of the words that are added
	groupOffset = 3  // that is added to them
	groupPage   = 11 // that each was in last
	groupWords  = 19
	mostGroups  = 32
	recents     = 512
	eventWords  = 2
	eventRoom   = 1 << 12
)

func newVector() *vector { return &vector{events: make([]uint64, eventRoom)} }

// has tells whether a block is left to C.
func (v *vector) has(id uint32) bool { return int(id) < len(v.plans) && v.plans[id].words > 0 }

// plan makes a block known. Its accesses are counted here alone from then on.
func (v *vector) plan(id uint32, p *plan) {
	if n := int(id) + 1 - len(v.plans); n > 0 {
		n += len(v.plans) / 2
		v.plans = append(v.plans, make([]vectorPlan, n)...)
		v.runs = append(v.runs, make([]uint64, n)...)
	}
	groups := (len(p.plain) + lanes - 1) / lanes
	if groups > mostGroups || p.words > 1<<15 {
		return
	}
	v.plans[id] = vectorPlan{at: uint32(len(v.arena)), words: uint16(p.words), groups: uint16(groups)}
	for from := 0; from < len(p.plain); from += lanes {
		var g [groupWords]uint64
		g[groupMasks] = uint64(len(v.since)/lanes) << groupSince
		for k, a := range p.plain[from:min(from+lanes, len(p.plain))] {
			g[groupOffset+k] = a.offset
			g[groupMasks] |= 1 << k
			if a.word >= 0 {
				g[groupIndex+k/4] |= uint64(a.word) << (k % 4 * 16)
				g[groupMasks] |= 1 << (lanes + k)
			}
			if a.store {
				g[groupMasks] |= 1 << (2*lanes + k)
			}
		}
		v.arena = append(v.arena, g[:]...)
		v.since = append(v.since, make([]uint64, lanes)...)
	}
}

// stretch takes whole executions as far as it knows them, and returns where it stopped.
func (v *vector) stretch(c *Counter, words []uint64, at int) int {
	for {
		next := v.run(c.shift, words, at)
		for e := 0; e < v.used; e += eventWords {
			c.add(v.events[e]<<c.shift, v.events[e+1]&1 != 0, v.events[e+1]>>1)
		}
		if next == at || v.used+2*eventWords*lanes*mostGroups <= len(v.events) {
			return next
		}
		at = next
	}
}

// flush tells what accesses have counted in the pages that they are in.
func (v *vector) flush(c *Counter) {
	for i := range v.recent {
		r := &v.recent[i]
		for store, n := range r.n {
			if n > 0 {
				c.add(r.page<<c.shift, store == 1, n)
			}
		}
		r.n = [2]uint64{}
	}
	for id := range v.plans {
		p := &v.plans[id]
		for n := range int(p.groups) {
			g := v.arena[int(p.at)+n*groupWords:][:groupWords]
			since := v.since[g[groupMasks]>>groupSince*lanes:][:lanes]
			for k := range lanes {
				if n := v.runs[id] - since[k]; g[groupMasks]>>k&1 != 0 && n > 0 {
					c.add(g[groupPage+k]<<c.shift, g[groupMasks]>>(2*lanes+k)&1 != 0, n)
					since[k] = v.runs[id]
				}
			}
		}
	}
}
