package lanes

import "alleria/abp"

// Pages counts accesses of whole executions by page, and tells what leaves its page.
type Pages struct {
	Plans
	shift  uint
	add    func(addr uint64, store bool, n uint64)
	since  []uint64 // of each group's accesses how many executions there had been when they came to their pages
	runs   []uint64 // by block: executions
	recent [recents]recent
	events []uint64
	used   int // words of events that are filled
}

// recent is what was counted of a page lately, of loads and of stores. It has the layout of C's.
type recent struct {
	page uint64
	n    [2]uint64
}

// The layout of events: see lanes_amd64.h.
const (
	recents    = 512
	eventWords = 2
	eventRoom  = 1 << 12
)

// NewPages calls add for accesses to pages of 1 << shift bytes: n accesses in the page that addr lies in; nil: the processor has no lanes.
func NewPages(shift uint, add func(addr uint64, store bool, n uint64)) *Pages {
	if !Supported() {
		return nil
	}
	return &Pages{shift: shift & 63, add: add, events: make([]uint64, eventRoom)}
}

// Add makes a block known, all of whose accesses are plain but for a base of fs, if it is not too large. Its accesses are counted here alone from then on.
func (v *Pages) Add(b *abp.Block) {
	v.Plans.add(b, func(*abp.Access) uint64 { return 0 })
	v.since = append(v.since, make([]uint64, v.groups*lanes-len(v.since))...)
	v.runs = append(v.runs, make([]uint64, len(v.plans)-len(v.runs))...)
}

// Stretch takes whole executions as far as it knows them, and returns where it stopped.
func (v *Pages) Stretch(words []uint64, at int) int {
	w := Walked{At: at}
	v.walk(words, &w)
	return w.At
}

// Walk is Stretch, and counts executions by block.
func (v *Pages) Walk(words []uint64, w *Walked) {
	w.Reach(v.Blocks())
	v.walk(words, w)
}

// walk counts executions if there is room for them.
func (v *Pages) walk(words []uint64, w *Walked) {
	for {
		at := w.At
		w.At = v.run(words, at, w.Execs)
		for e := 0; e < v.used; e += eventWords {
			v.add(v.events[e]<<v.shift, v.events[e+1]&1 != 0, v.events[e+1]>>1)
		}
		if w.At == at || v.used+2*eventWords*MostAccesses <= len(v.events) {
			return
		}
	}
}

// Flush tells what accesses have counted in the pages that they are in.
func (v *Pages) Flush() {
	for i := range v.recent {
		r := &v.recent[i]
		for store, n := range r.n {
			if n > 0 {
				v.add(r.page<<v.shift, store == 1, n)
			}
		}
		r.n = [2]uint64{}
	}
	for id := range v.plans {
		all := v.of(v.plans[id])
		for ; len(all) > 0; all = all[groupWords:] {
			g := all[:groupWords]
			since := v.since[g[groupMasks]>>groupNumber*lanes:][:lanes]
			for k := range lanes {
				if n := v.runs[id] - since[k]; g[groupMasks]>>k&1 != 0 && n > 0 {
					v.add(g[groupOwn+k]<<v.shift, g[groupMasks]>>(2*lanes+k)&1 != 0, n)
					since[k] = v.runs[id]
				}
			}
		}
	}
}
