package topology

import "slices"

// Facts are what is decided by.
type Facts struct {
	Allowed   []int // processors that may be used: cpusets and the user's taskset, as the affinity mask has them
	Producers []int // the processor that each thread of the application runs on, or ran on last, of those that run
	Threads   int   // processing threads that work
}

// Choice is where processing threads should run.
type Choice struct {
	CPUs []int // nil: anywhere where they may
	Why  string
}

// Reasons for no binding.
const (
	whyOne       = "there is one processor that may be used"
	whyShared    = "all processors that may be used share a last-level cache"
	whyUnknown   = "the machine does not say which processors share a cache"
	whyIdle      = "no thread of the program runs"
	whySpread    = "threads of the program run beside every last-level cache"
	whyElsewhere = "the program's threads run where processing threads may not"
	whyFull      = "the caches of the program's threads have too few processors for them and the processing threads"
)

// Choose decides. A processing thread may take any ring, so that all of them get the processors that share a last-level cache with some
// producer. They are kept to these only if there is a core for each of the program's threads that runs and for each of themselves: waiting for a
// processor costs more than fetching lines from another cache.
func (m Machine) Choose(f Facts) Choice {
	last := make(map[int]int) // by processor that may be used
	core := make(map[int]int)
	caches := make(map[int]bool)
	anyLast := make(map[int]int) // by any processor: the program's mask may be another than ours
	for _, p := range m {
		if anyLast[p.ID] = p.Last; !slices.Contains(f.Allowed, p.ID) {
			continue
		}
		if p.Last < 0 {
			return Choice{Why: whyUnknown}
		}
		last[p.ID], core[p.ID], caches[p.Last] = p.Last, p.Core, true
	}
	switch {
	case len(f.Allowed) == 1:
		return Choice{Why: whyOne}
	case len(last) < len(f.Allowed):
		return Choice{Why: whyUnknown}
	case len(caches) < 2:
		return Choice{Why: whyShared}
	case len(f.Producers) == 0:
		return Choice{Why: whyIdle}
	}
	beside := make(map[int]bool)
	for _, id := range f.Producers {
		if l, ok := anyLast[id]; ok && caches[l] { // else it runs where we may not
			beside[l] = true
		}
	}
	var cpus []int
	cores := make(map[int]bool)
	for id, l := range last {
		if beside[l] {
			cpus, cores[core[id]] = append(cpus, id), true
		}
	}
	slices.Sort(cpus)
	switch {
	case len(beside) == 0:
		return Choice{Why: whyElsewhere}
	case len(beside) == len(caches):
		return Choice{Why: whySpread}
	case len(cores) < len(f.Producers)+max(f.Threads, 1):
		return Choice{Why: whyFull}
	}
	return Choice{CPUs: cpus, Why: "they share a last-level cache with threads of the program"}
}

// Chooses tells whether there is something to choose on the machine, whatever runs.
func (m Machine) Chooses(allowed []int) (yes bool, why string) {
	c := m.Choose(Facts{Allowed: allowed})
	return c.Why == whyIdle, c.Why
}

// Bounds of a chunk.
const (
	leastChunk = 64 << 10
	mostChunk  = 1 << 20
	chunkOfL1  = 8
)

// DefaultChunk is how large a chunk is where first-level caches are not known, or nobody hands over any.
const DefaultChunk = 256 << 10

// Chunk is how large a chunk of a ring should be: the largest power of two in eight times the smallest first-level cache that may be used. The paper has four
// times, with the consumer two chunks behind; here it takes a chunk as soon as that is complete, and all but the last eighth of it has left the
// producer's first level by then.
func (m Machine) Chunk(allowed []int) int {
	least := 0
	for _, p := range m {
		if slices.Contains(allowed, p.ID) && p.L1 > 0 && (least == 0 || p.L1 < least) {
			least = p.L1
		}
	}
	if least == 0 {
		return DefaultChunk
	}
	n := leastChunk
	for n*2 <= least*chunkOfL1 && n < mostChunk {
		n *= 2
	}
	return n
}
