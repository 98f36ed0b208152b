package calls

import (
	"sync"

	"alleria/abp"
	"alleria/analysis"
)

// plan is what all executions of a block have in common.
type plan struct {
	slow   bool  // loops leave it to whole
	simple bool  // all of it is of one function, nothing calls or returns, no counts by words
	fn     int32 // of the first instruction
	words  int32 // of an execution, its number included
	size   int32 // instructions, recorded or not
	time   int32 // the word of its time stamp, -1: none
	static abp.Counts
	addr   uint64
	more   *program // of those that are not simple
}

// program is a block cut into steps.
type program struct {
	block *abp.Block
	steps []step
}

// step is a run of instructions of one function, and what its last one does.
type step struct {
	from, to int // instructions
	fn       int32
	addr     uint64 // of the first
	static   abp.Counts
	op       op
	site     uint64 // address of the last instruction
	ret      uint64 // behind it
	target   uint64 // of a direct call that ends the block, 0: not known
	slot     int16  // word of the stack access of a call or return, -1: not recorded
	offset   uint64 // to be added to it
}

// planner makes plans of a process's blocks, and numbers its functions, for the trackers of all of
// its threads. These keep what they have asked about, so that the lock is taken seldom.
type planner struct {
	mu       sync.Mutex // guards all that follows
	proc     *abp.Process
	places   *analysis.Places
	plans    map[uint32]*plan
	funcs    []*Function       // by number; what is there does not change
	byFunc   map[uint32]int32  // by number in the profile
	byImg    map[uint32]int32  // likewise, 0: none; code of the image that is in no function
	byAddr   map[uint64]int32  // such code that was called
	sites    map[uint64]uint64 // of calls that were met, by return address
	loops    bool              // threads are followed by loops
	followed followed
}

func newPlanner(p *abp.Process) *planner {
	return &planner{proc: p, places: analysis.NewPlaces(p), plans: map[uint32]*plan{},
		byFunc: map[uint32]int32{}, byImg: map[uint32]int32{}, byAddr: map[uint64]int32{}, sites: map[uint64]uint64{}, loops: haveLoop}
}

// functions returns the functions that there are by number. More may follow.
func (pl *planner) functions() []*Function {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	return pl.funcs[:len(pl.funcs):len(pl.funcs)]
}

// function returns the number of a function, or of the unnamed code of an image. pl.mu is held, as
// for all methods that follow but those that say that they take it.
func (pl *planner) function(f *abp.Function, img *abp.Image) int32 {
	if f == nil {
		key := uint32(0)
		if img != nil {
			key = img.Number
		}
		n, ok := pl.byImg[key]
		if !ok {
			n = pl.add(&Function{Name: NoFunction, Image: analysis.ImageName(img), image: img})
			pl.funcs[n].match = n
			pl.byImg[key] = n
		}
		return n
	}
	n, ok := pl.byFunc[f.Number]
	if !ok {
		out := &Function{Name: f.Display(), Image: analysis.ImageName(img), File: f.File, Line: f.Line, Addr: f.Addr, Size: f.Size, image: img}
		if f.Display() != f.Name {
			out.Linked = f.Name
		}
		n = pl.add(out)
		pl.funcs[n].match = n
		pl.byFunc[f.Number] = n
	}
	return n
}

func (pl *planner) add(f *Function) int32 {
	if f.image != nil {
		f.ImagePath = f.image.Path
	}
	f.number = int32(len(pl.funcs))
	pl.funcs = append(pl.funcs, f)
	return f.number
}

// at returns the function of an address. It takes the lock.
func (pl *planner) at(addr uint64) int32 {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	return pl.functionOf(addr)
}

func (pl *planner) functionOf(addr uint64) int32 {
	return pl.function(pl.places.FunctionAt(addr), pl.places.ImageAt(addr))
}

// called returns the function that a call of an address is of, in a function without a name: one that is
// named by the address. It takes the lock.
func (pl *planner) called(addr uint64, fn int32) int32 {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	f := pl.funcs[fn]
	n, ok := pl.byAddr[addr]
	if !ok {
		c := *f
		c.Addr, c.Name = addr, hex(addr)
		if img := f.image; img != nil {
			c.Name = f.Image + "+" + hex(addr-img.Base)
		}
		n = pl.add(&c) // match stays that of the image's unnamed code
		pl.byAddr[addr] = n
	}
	return n
}

// site returns where the call is that returns to an address, 0 where none was met. It takes the lock.
func (pl *planner) site(ret uint64) uint64 {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	return pl.sites[ret]
}

// plan returns the plan of a block. It takes the lock.
func (pl *planner) plan(id uint32) *plan {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	p := pl.plans[id]
	if p == nil {
		p = new(plan)
		if steps := pl.make(p, pl.proc.Block(id)); pl.loops {
			pl.loopPlan(id, p, steps)
		}
		pl.plans[id] = p
	}
	return p
}

// make cuts a block into steps, which it returns.
func (pl *planner) make(p *plan, b *abp.Block) []step {
	p.words, p.static, p.addr, p.size, p.time = int32(b.Words+1), b.Static, b.Addr, int32(len(b.Ins)), int32(b.TimeWord)
	if len(b.Ins) == 0 {
		p.fn, p.simple = pl.functionOf(b.Addr), p.time < 0
		return nil
	}
	prog := &program{block: b}
	cur := step{fn: pl.insFunction(b, 0), addr: b.Addr, slot: -1}
	p.fn = cur.fn
	end := func(to int) {
		cur.to = to
		cur.static = between(b, cur.from, to)
		cur.site = b.InsAddr(to - 1)
		cur.ret = cur.site + uint64(b.Ins[to-1].Len)
		prog.steps = append(prog.steps, cur)
	}
	for i := range b.Ins {
		if fn := pl.insFunction(b, i); i > cur.from && fn != cur.fn {
			end(i)
			cur = step{from: i, fn: fn, addr: b.InsAddr(i), slot: -1}
		}
		switch o := classify(b.InsCode(i)); o {
		case opCall, opRet:
			cur.op = o
			cur.slot, cur.offset = stackWord(b, i, o == opCall)
			if i == len(b.Ins)-1 && b.Branch == abp.BranchCall {
				cur.target = b.Target
			}
			end(i + 1)
			if o == opCall {
				pl.sites[cur.ret] = cur.site
			}
			if i+1 < len(b.Ins) {
				cur = step{from: i + 1, fn: pl.insFunction(b, i+1), addr: b.InsAddr(i + 1), slot: -1}
			}
		default:
			if i == len(b.Ins)-1 {
				end(i + 1)
			}
		}
	}
	if len(prog.steps) == 1 && prog.steps[0].op == opNone && !b.Dynamic {
		p.simple = p.time < 0
		return prog.steps
	}
	p.more = prog
	return prog.steps
}

// insFunction returns the function of an instruction.
func (pl *planner) insFunction(b *abp.Block, ins int) int32 {
	f := pl.places.Function(b, ins)
	img := pl.places.ImageOf(b, ins)
	if f != nil && f.Image != b.Image {
		img = pl.places.ImageAt(b.InsAddr(ins))
	}
	return pl.function(f, img)
}

// between returns what instructions from … to count for by themselves.
func between(b *abp.Block, from, to int) abp.Counts {
	c, _ := b.StaticCounts(to)
	before, _ := b.StaticCounts(from)
	c.Sub(before)
	return c
}

// stackWord finds the access of a call or return to its return address.
func stackWord(b *abp.Block, ins int, store bool) (word int16, offset uint64) {
	if b.Ins[ins].Flags&(abp.InsRecorded|abp.InsAddrs) != abp.InsRecorded|abp.InsAddrs {
		return -1, 0
	}
	for _, a := range b.InsAccesses(ins) {
		if a.Kind == abp.AccessPlain && a.Seg == abp.SegNone && a.Store == store && a.Word >= 0 {
			return a.Word, uint64(a.Offset)
		}
	}
	return -1, 0
}

// describe names an address. It takes the lock.
func (pl *planner) describe(addr uint64) string {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	return pl.places.Describe(addr)
}
