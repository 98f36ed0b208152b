package stream

// vector takes whole executions eight accesses at a time (lines_amd64.c). What it knows of blocks are numbers in slices, which C may look at.
type vector struct {
	plans []vectorPlan // by block
	arena []uint64     // groups of accesses of all blocks
}

// vectorPlan is what there is to be known of a block. It has the layout of C's.
type vectorPlan struct {
	at     uint32
	words  uint16 // 0: it is left to Go
	groups uint16
}

// The layout of the arena: see lines_amd64.h.
const (
	lanes       = 8
	groupMasks  = 0
	groupIndex  = 1  // of the words that are added
	groupOffset = 3  // that is added to them
	groupLast   = 11 // sizes less one
	groupWords  = 19
	mostGroups  = 32
)

// has tells whether a block is left to C.
func (v *vector) has(id uint32) bool { return int(id) < len(v.plans) && v.plans[id].words > 0 }

// plan makes a block known.
func (v *vector) plan(id uint32, p *accessPlan) {
	if n := int(id) + 1 - len(v.plans); n > 0 {
		v.plans = append(v.plans, make([]vectorPlan, n+len(v.plans)/2)...)
	}
	groups := (len(p.ops) + lanes - 1) / lanes
	if !p.plain || groups > mostGroups || p.words > 1<<15 {
		return
	}
	v.plans[id] = vectorPlan{at: uint32(len(v.arena)), words: uint16(p.words), groups: uint16(groups)}
	for from := 0; from < len(p.ops); from += lanes {
		var g [groupWords]uint64
		for k, op := range p.ops[from:min(from+lanes, len(p.ops))] {
			g[groupOffset+k], g[groupLast+k] = op.offset, uint64(op.size)-1
			g[groupMasks] |= 1 << k
			if op.word >= 0 {
				g[groupIndex+k/4] |= uint64(op.word) << (k % 4 * 16)
				g[groupMasks] |= 1 << (lanes + k)
			}
		}
		v.arena = append(v.arena, g[:]...)
	}
}

// stretch takes whole executions as far as it knows them, and returns where it stopped.
func (v *vector) stretch(l *Lines, words []uint64, at int) int {
	for {
		at = v.run(l, words, at)
		if l.n < l.many {
			return at
		}
		l.hand()
	}
}
