package engine

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/cpu"

	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Mode is how a process's threads run.
// Modes but the native one are variants of translated code, in the same order.
type Mode uint8

// The modes.
const (
	ModeNative Mode = iota // their own code
	ModePlain              // translated, nothing recorded
	ModeCount              // translated, block executions counted
	ModeRecord             // translated, records written
)

// variant is meaningless for ModeNative.
func (m Mode) variant() Variant { return Variant(m - ModePlain) }

// Process is one traced program image: from its execve to its end or the next
// execve. Only the tracer's goroutine touches it.
//
// Addresses are the application's unless they are said to be the cache's. The maps by
// variant are emptied together with the variant's tables, see Replan.
type Process struct {
	tr   *Tracer
	pid  int
	mem  *os.File // /proc/PID/mem, opened when the image started
	file *os.File // the memory shared with the target

	slotsBase uint64
	ctl       *control
	slots     []*slot // by index; nil where none was needed yet
	freeSlots []int
	areas     []*area // the first is the default

	// all translations by number, and what is known by application address; a dead block
	// is no longer in the index
	blockPool pool[block]
	index     [numVariants]index
	// addresses with a head that have no block
	bareHeads map[headKey]bool
	stepped   map[headKey]*block // of single instructions that are executed with the trap flag set
	// the newest head of each entry of the look-up tables, 0 none
	slotHeads [numVariants][]uint64
	// by number
	exits     pool[exitWords]
	rareExits []rareExit
	sides     pool[lateSide] // ways out of superblocks that are written when they are taken
	// blocks of the unit being written
	entered []enteredBlock
	// addresses that recent translations lead to, the latest last
	aheadQueue []aheadItem
	aheadLeft  int
	// what the client watches
	notify map[uint64]bool
	probes map[uint64]byte // original bytes under native breakpoints
	// and under those that are no more: a thread may have run into one just before
	removed map[uint64]byte
	jumps   jumps
	// whose arrivals code counts, by number and by address; sites are native returns
	// that frames await, and how many. awaits: returns look whether they are awaited
	places  []*Place
	placeAt map[uint64]*placesAt
	sites   map[uint64]int
	awaits  bool
	// the unit being written; one at a time
	scratch   unit
	code      codePages
	posPool   []byte // the positions of blocks, packed; cut off from the front
	posPieces [][]byte

	threads         map[int]*Thread
	list            []*Thread // threads, in a slice; nil when it is to be made again
	lastNum         int
	mode            Mode
	epoch           [numVariants]int // how often a translation was forgotten
	variant         Variant
	noFollow        bool
	ahead           bool
	noHuge          bool
	noSuper         bool
	sizes           bool
	noLate          bool
	shortAfter      uint32 // how many blocks there are when superblocks become shorter
	predict         bool
	metrics         [NumMetrics]bool // that blocks count
	budgeted        bool             // any of them
	words           int              // that budgets are dealt out to
	lastWord        int              // the one that the last block uses
	budgetAsks      int              // see askedForBudget
	askRowFrom      time.Duration
	countsAccesses  bool // any that is of accesses
	budgetEpoch     int
	hasAVX, hasBMI2 bool
	goneEntries     map[uint64]struct{} // where blocks' entries were overwritten, by cache address
	keepFlags       bool                // flags are recorded: they are right where they are dead, too
	hasAVX512       bool                // with everything that copies masked operands
	hasVBMI2        bool
	counters        []*block // counted blocks by counter
	facts           layout.Blocks
	stats           Stats
	letGo           int             // children that were let go
	trapIgnored     bool            // the program was started with SIGTRAP ignored
	start           *startSites     // breakpoints in place of stops at a native start's calls; nil: none
	watchCalls      int             // system calls that native threads still stop at: see callStop
	calls           map[uint32]bool // system calls that the client watches
	special         map[int]byte    // what translated code does with calls, but for those
	hearCalls       bool            // the client is told of all system calls
	hearSignals     bool            // the client is told of signals
	hearEnds        bool            // threads stop where they begin to end
	toggle          *Toggle
	toggleReady     bool // code toggles by itself
	noToggle        bool
	noFastReturn    bool
	leaving         bool          // it is to be let go
	asked           Mode          // what the client wants
	busy            bool          // a native probe was hit often: what is to run natively runs in the cache
	lastUse         time.Duration // when something was last counted often
	looked          time.Duration // when that was last looked at
	seen            uint64        // what the counts added up to then
	hits            int           // of native probes, shortly after each other
	lastHit         time.Duration
}

// Stats is what the engine did.
// They are for developers: nothing depends on them, and they may be renamed.
type Stats struct {
	Requests, Indirect, Units, Blocks, Stops, Signals, Traps, Toggles, Jumps, CalledIn int
	Behind                                                                             int // stops of threads whose own signal was still to be reported: see behind.go
	CacheBytes                                                                         int
	RequestTime                                                                        time.Duration // that requests took to be answered
}

// Thread is one thread of a traced process.
//
// It may be used by the client from ThreadStarted to ThreadEnded; its slot is another
// thread's afterwards.
type Thread struct {
	p               *Process
	tid             int
	num             int // from 1, in order of creation in the process, through all of its programs
	slot            *slot
	variant         Variant
	plan            int // see SetPlan
	native          bool
	stopped         bool
	vfork           bool // a child that shares the address space until it executes or ends
	appGS           uint64
	filled          [numVariants]bool
	budgetEpoch     int
	epoch           [numVariants]int
	called          bool              // its budgets are empty so that it asks: see callin.go
	vforking        bool              // the kernel holds it until its child executes or ends: it cannot be stopped
	toggles         uint64            // layout.Toggles when it was last looked at
	held            []heldSignal      // signals to be delivered at the next clean point
	groupStopped    bool              // job control stopped it: it may only go on when that lets it
	wrote           bool              // the fault being delivered is of an instruction that also writes there
	inCall          bool              // between the stops at a watched system call
	callStops       bool              // it runs to the next stop at a system call
	toReturn        bool              // see awaitReturn
	call            *Call             // being made, where the tracer has seen it begin
	restarted       bool              // the kernel will make its last call again
	optionsSet      bool              // stopsAtEnd is what the kernel does
	stopsAtEnd      bool              // the kernel reports that it begins to end
	ending          bool              // it has begun to end, or has ended unreported: it executes nothing any more
	endTold         bool              // the client has heard of it
	bornAt          uint64            // where it begins, see childKind
	partial         []partial         // counted blocks that it left early
	emulated        map[uint64]uint64 // executions of counted instructions that the tracer executed, by address
	fsBase, gsNoted uint64
	fsKnown         bool
	storm           storm
	shelter         uint64 // its mask, from when it was sheltered from signals; see shelter
	sheltered       bool
	stands          stand   // where it was found last, if something is known of its arrival there
	interrupted     []stand // where handlers of signals will return to, likewise
	// of each metric's words: the shares that were dealt out last, and what was used
	// of them lately
	dealt, used [NumMetrics][layout.BudgetWords]int64
}

// Num is the thread's number within its process, from 1, in order of creation. The thread
// that executes another program keeps it; those of the program go on from the last.
func (t *Thread) Num() int { return t.num }

// TID is the thread's id in the kernel.
func (t *Thread) TID() int { return t.tid }

// userCS is the code segment of 64-bit programs (__USER_CS).
const userCS = 0x33

// newProcess prepares a process image whose one thread is stopped before its
// first instruction.
//
// A 32-bit program has another code segment from its first instruction on: it is refused
// here, before anything was mapped into it.
func newProcess(tr *Tracer, pid int) (*Process, error) {
	p := &Process{tr: tr, pid: pid, threads: make(map[int]*Thread), bareHeads: make(map[headKey]bool),
		notify: make(map[uint64]bool), probes: make(map[uint64]byte), removed: make(map[uint64]byte), jumps: newJumps(tr.opts.NoJumps), placeAt: make(map[uint64]*placesAt), sites: make(map[uint64]int),
		calls: make(map[uint32]bool), special: specialCalls()}
	p.noToggle, p.noFastReturn = tr.opts.NoToggle, tr.opts.NoFastReturn
	if p.words = layout.BudgetWords; tr.opts.NoSpread {
		p.words = 1
	}
	p.noFollow, p.ahead, p.predict, p.noHuge = tr.opts.NoFollow, tr.opts.Ahead, tr.opts.Predict, tr.opts.NoHuge
	p.noSuper, p.noLate, p.sizes = tr.opts.NoSuper, tr.opts.NoLate, tr.opts.Sizes
	switch p.shortAfter = manyBlocks; {
	case tr.opts.NoShort:
		p.shortAfter = math.MaxUint32
	case tr.opts.Short:
		p.shortAfter = 0
	}
	p.watchCalls = watchedCalls
	if sets, err := sys.ReadSignalSets(pid); err == nil {
		p.trapIgnored = sets.Ignored>>(sigTrap-1)&1 != 0
	}
	p.hasAVX, p.hasBMI2 = cpu.X86.HasAVX, cpu.X86.HasBMI2
	p.hasAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ
	p.hasVBMI2 = cpu.X86.HasAVX512VBMI2
	var regs sys.Regs
	if err := sys.GetRegs(pid, &regs); err != nil {
		return nil, err
	}
	if regs.Cs != userCS {
		return nil, errors.New("a 32-bit program")
	}
	mem, err := openMem(pid)
	if err != nil {
		return nil, err
	}
	p.mem = mem
	p.file, err = sys.Memfd("alleria", int64(slotsOff+slotsBytes))
	if err != nil {
		mem.Close()
		return nil, err
	}
	if err := p.file.Truncate(int64(slotsOff)); err != nil {
		p.close()
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	t := &Thread{p: p, tid: pid, num: tr.numbers.first, stopped: true}
	if err := p.mapShared(t); err != nil {
		p.close()
		return nil, err
	}
	p.lastNum = tr.numbers.last
	if t.num == 0 {
		t.num = p.nextNum()
	}
	if err := p.addThread(t); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// close releases what the tracer holds for the process.
// The target may still be running natively with its own mappings of the same
// memory.
func (p *Process) close() {
	for _, s := range p.slots {
		if s != nil {
			sys.UnmapAligned(s.mem)
		}
	}
	for _, a := range p.areas {
		sys.UnmapAligned(a.mem)
	}
	for _, a := range p.jumps.areas {
		sys.Unmap(a.mem)
	}
	if p.ctl != nil {
		sys.Unmap(p.ctl.mem)
	}
	p.file.Close()
	p.mem.Close()
}

// areaFor returns the area that code at app is translated into.
//
// An instruction with a RIP-relative operand can only be copied as it is within two
// gigabytes of that operand; the areas lie so that most images have one that near. Code
// that is near to none goes into the first, with operands made absolute.
func (p *Process) areaFor(app uint64) *area {
	for _, a := range p.areas {
		if a.near(app) {
			return p.room(a)
		}
	}
	return p.room(p.areas[0])
}

// room returns the area, flushed first if it is nearly full.
//
// The hot part grows up to three quarters of an area, the cold one from there to its
// end; each must have room for the largest unit before one is begun. A full cache ends
// translation, and with it the run: 192 MiB of hot code is more than any program met.
func (p *Process) room(a *area) *area {
	if a.next+unitReserve > a.size/4*3 || a.cold+unitReserve > a.size {
		p.tr.fail(fmt.Errorf("the code cache of process %d is full", p.pid))
		return nil
	}
	return a
}

// nextNum is the number of the thread that has been created last.
func (p *Process) nextNum() int {
	p.lastNum++
	return p.lastNum
}

// addThread gives a thread its slot.
//
// The slot may have been another thread's: whatever is in it that is read before it is
// written is set here. A vfork child has a slot but no number and no ring: it is not a
// thread to anybody but us.
func (p *Process) addThread(t *Thread) error {
	s, err := p.takeSlot()
	if err != nil {
		return err
	}
	t.slot = s
	if len(p.counters) > 0 {
		clear(s.mem[layout.CounterOff : layout.CounterOff+8*len(p.counters)])
	}
	s.set(layout.ControlPtr, p.control())
	s.set(layout.SlotIndex, uint64(s.index))
	s.set(layout.SlotsBase, p.slotsBase)
	s.set(layout.Resp, 0)
	s.u32(layout.Req).Store(0)
	s.u32(layout.Asleep).Store(0)
	s.set(layout.SignMask, 1<<63)
	for m := range NumMetrics {
		t.SetBudget(m, unlimited)
	}
	s.initFrames()
	t.toggles = s.get(layout.Toggles)
	p.stopToggling() // it is not alone any more
	if !t.vfork {
		p.initRing(s)
	}
	p.threads[t.tid] = t
	return nil
}

// errSlots means that no further thread can have a slot.
var errSlots = errors.New("too many threads at a time")

// takeSlot returns a slot that no thread uses.
// Memory for it comes with its first use; look-up tables are filled by useVariant.
// The file ends behind the last slot that has been taken; see sharedfile.go.
func (p *Process) takeSlot() (*slot, error) {
	if k := len(p.freeSlots); k > 0 {
		i := p.freeSlots[k-1]
		p.freeSlots = p.freeSlots[:k-1]
		return p.slots[i], nil
	}
	i := len(p.slots)
	if i == layout.MaxSlots {
		return nil, errSlots
	}
	off := int64(slotsOff) + int64(i)*layout.SlotSize
	if err := p.file.Truncate(off + layout.SlotSize); err != nil {
		return nil, fmt.Errorf("thread area: %w", err)
	}
	mem, err := sys.MapSharedAligned(p.file, off, layout.SlotSize)
	if err != nil {
		return nil, fmt.Errorf("thread area: %w", err)
	}
	s := &slot{mem: mem, index: i, base: p.slotsBase + uint64(i)*layout.SlotSize}
	p.slots = append(p.slots, s)
	return s, nil
}

// useVariant makes a thread run in variant v from its next block on.
//
// Filling a table costs half a megabyte of writes, so that it is done when a thread first
// needs the variant, and again after the variant was emptied. The thread must not run.
func (t *Thread) useVariant(v Variant) {
	t.prepareTable(v)
	t.setCalled(false)
	t.variant, t.budgetEpoch = v, t.p.budgetEpoch
}

// prepareTable makes the thread's look-up table of a variant what it has to be.
func (t *Thread) prepareTable(v Variant) {
	if e := t.p.epoch[v]; !t.filled[v] || t.epoch[v] != e {
		// Not before: a program that runs natively has no use for the tables.
		if !t.p.noHuge && !t.slot.huge {
			t.slot.huge = true
			_ = sys.Collapse(t.slot.mem[:sys.HugePage]) // the thread area and two look-up tables; small pages do too
		}
		t.slot.fillTable(v, t.p.tableMiss())
		t.filled[v], t.epoch[v] = true, e
	}
}

// running returns the process's threads.
// The slice is made once and thrown away when threads come or go.
func (p *Process) running() []*Thread {
	if p.list == nil {
		for _, t := range p.threads {
			p.list = append(p.list, t)
		}
		// The first one last: should it have ended, a stop of it is waited for in vain, while
		// the others run on.
		if i := slices.IndexFunc(p.list, func(t *Thread) bool { return t.tid == p.pid }); i >= 0 {
			last := len(p.list) - 1
			p.list[i], p.list[last] = p.list[last], p.list[i]
		}
	}
	return p.list
}

// Threads returns the threads that live. The client must not keep or change the
// list.
func (p *Process) Threads() []*Thread { return p.running() }

// openMem opens the memory of a process.
func openMem(pid int) (*os.File, error) {
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("memory of process %d: %w", pid, err)
	}
	return mem, nil
}
