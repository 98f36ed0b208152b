package emit

import (
	"sync"

	"alleria/abp"
	"alleria/internal/records"
)

// Tables has the tables of a process in memory while they grow, for analyses that run beside the
// application: it is their abp.Source. What they ask for may be asked from any goroutine.
type Tables struct {
	mu        sync.RWMutex
	raw       *records.Blocks
	blocks    map[uint32]*abp.Block    // guarded by mu, as are the following
	images    []*abp.Image             // as they were entered
	functions []*abp.Function          // likewise
	snapshots []abp.Snapshot           // likewise
	image     map[uint32]*abp.Image    // the latest row of a number
	function  map[uint32]*abp.Function // likewise
}

// Tables has the process's tables kept in memory as well from here on.
func (p *ProcessWriter) Tables() *Tables {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tables == nil {
		p.tables = &Tables{raw: p.blocks.raw, blocks: map[uint32]*abp.Block{}, image: map[uint32]*abp.Image{}, function: map[uint32]*abp.Function{}}
	}
	return p.tables
}

// Block is abp.Source's. A block that makes no sense is one that there is not.
func (t *Tables) Block(id uint32) *abp.Block {
	t.mu.RLock()
	b := t.blocks[id]
	t.mu.RUnlock()
	if b != nil {
		return b
	}
	raw := t.raw.Get(id)
	if raw == nil {
		return nil
	}
	made := new(abp.Block)
	if convertBlock(made, raw) != nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if b := t.blocks[id]; b != nil { // somebody else was first
		return b
	}
	t.blocks[id] = made
	return made
}

// Image is abp.Source's.
func (t *Tables) Image(number uint32) *abp.Image {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.image[number]
}

// Function is abp.Source's.
func (t *Tables) Function(number uint32) *abp.Function {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.function[number]
}

// Images is abp.Source's.
func (t *Tables) Images(from int) []*abp.Image {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.images[from:len(t.images):len(t.images)]
}

// Functions is abp.Source's.
func (t *Tables) Functions(from int) []*abp.Function {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.functions[from:len(t.functions):len(t.functions)]
}

// addImage enters a row. A nil Tables keeps nothing.
func (t *Tables) addImage(r abp.Image) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.images = append(t.images, &r)
	t.image[r.Number] = &r
}

// Snapshots is abp.Source's.
func (t *Tables) Snapshots() []abp.Snapshot {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.snapshots[:len(t.snapshots):len(t.snapshots)]
}

// addSnapshot enters a row.
func (t *Tables) addSnapshot(r abp.Snapshot) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.snapshots = append(t.snapshots, r)
}

// addFunction enters a row.
func (t *Tables) addFunction(r abp.Function) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.functions = append(t.functions, &r)
	t.function[r.Number] = &r
}

// SetAnalyses says that the process's records are analysed, by kinds of analyses, and whether they are kept as well.
func (p *ProcessWriter) SetAnalyses(kinds []string, kept bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.elsewhere.analyses, p.elsewhere.kept = kinds, kept
}

// AddCounts adds a thread whose records others than streams have consumed: run.json has it, the profile, which has no records
// of it, does not.
func (p *ProcessWriter) AddCounts(c abp.Counts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.elsewhere.counts.Add(c, 1)
	p.elsewhere.threads++
}

// elsewhere is what others than streams have consumed of a process.
type elsewhere struct {
	analyses []string
	kept     bool // streams have consumed it as well
	counts   abp.Counts
	threads  int
}

// recorded sets what was recorded of all threads, whoever consumed their records.
func (p *ProcessWriter) recorded(e *abp.ProcessEntry) {
	e.Counts, e.Threads = p.Counts()
	p.mu.Lock()
	defer p.mu.Unlock()
	e.Counts.Add(p.elsewhere.counts, 1)
	e.Threads += p.elsewhere.threads
	e.Analyses, e.RecordsKept = p.elsewhere.analyses, p.elsewhere.kept
}

// Bounded returns the words that a run with a bound on instructions takes of a chunk, where others
// than streams consume it; nothing once the bound is reached.
func (p *ProcessWriter) Bounded(words []uint64) []uint64 {
	l := &p.run.limit
	if l.over.Load() != nil {
		return nil
	}
	return l.bounded(p, words)
}
