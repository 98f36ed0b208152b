package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"time"
	"weak"

	"alleria/engine/appcode"
	"alleria/engine/asking"
	"alleria/engine/budget"
	"alleria/engine/captures"
	"alleria/engine/codecache"
	"alleria/engine/counts"
	"alleria/engine/detach"
	"alleria/engine/followed"
	"alleria/engine/mapping"
	"alleria/engine/probe"
	"alleria/engine/recovery"
	"alleria/engine/residency"
	"alleria/engine/reuse"
	"alleria/engine/shm"
	"alleria/engine/starts"
	"alleria/engine/syscalls"
	"alleria/engine/toggle"
	"alleria/engine/tracee"
	"alleria/engine/translate"
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
func (m Mode) variant() codecache.Variant { return codecache.Variant(m - ModePlain) }

// Process is one traced program image: from its execve to its end or the next
// execve. Only the tracer's goroutine touches it.
//
// Addresses are the application's unless they are said to be the cache's. The maps by
// variant are emptied together with the variant's tables, see Replan.
type Process struct {
	tr     *Tracer
	client Handler
	pid    int
	mem    *sys.ProcessMemory // /proc/PID/mem, opened when the image started
	code   appcode.Pages
	past   *reuse.Program // what its program has asked for so far; nil: nothing is remembered
	stats  Stats
	end    *End // of its first thread, while others may be left
	// its program is gone, of which the handler has been told; see dropProcess
	dropped, closed bool
	kept            bool // see Tracer.remember

	mode    Mode
	variant codecache.Variant

	orders
	members
	kernelState
	shm shm.Memory
	translations
	points probe.Points // what is watched by address
	toggle toggle.Process
	guarding
	start *starts.Sites // breakpoints in place of stops at a native start's calls; nil: none
	budgeting
	watches
	residency residency.Process // whether it stays in the cache though it would run natively
}

// translations is what there is of a process's code in the cache, and what is being written.
type translations struct {
	cache      codecache.Cache
	translator translate.Translator // one at a time
	written    reuse.Written
	exe        reuse.FileVersion // the program, where it was executed
	from       *reuse.Taken      // nil: nothing was taken over
	tookOver   bool              // that was looked at
	like       string            // what recording code that was taken over records, or, once it is gone, that of the process; see recordsLike
	names      reuse.Names       // the handler's, likewise
	other      otherCode         // what it has executed that has no translation
	offered    bool              // that others take them over was looked at, behind the process's end
	lent       bool              // others may
	left       bool              // the next forked child of its creator has them
	bred       bool              // it has created other processes
	inheritance
}

// inheritance is what forked children get, see leave and inherit.
type inheritance struct {
	creator weak.Pointer[Process] // of a forked child
	asOf    int                   // what the creator's changed was when it forked
	changed int                   // how often the process has changed what it can execute, or may have
	heir    *heir                 // for the next child; nil after each such change
}

// orders is what the handler has asked for and the tracer has not done yet, or goes by.
type orders struct {
	asked       Mode
	modeChanged bool      // some thread may run otherwise than it should: see switchOthers
	alarm       time.Time // zero: never; see SetAlarm
	detaching   detach.Process
	leaving     []leaving // why it is to be detached at once
}

// kernelState is how the program stands with the kernel, where that matters to the tracer.
type kernelState struct {
	calls   syscalls.Calls
	trap    tracee.Trap
	sites   []asking.Site // breakpoints where native code makes calls that have to be known of
	asksFor int           // how often they were hit
	watched bool          // those of the C library were looked for
	noted   noted
}

// members is who a process consists of.
type members struct {
	threads         map[int]*Thread // by id
	list            []*Thread       // the same in a slice; nil when it is to be made again
	lastNum         int             // the last thread number that was given out
	detachedThreads bool            // some of its threads run untraced
}

// Stats is what the engine did.
// They are for developers: nothing depends on them, and they may be renamed.
type Stats struct {
	Renewed                                                                                                 int // times that the code cache was emptied
	Reused                                                                                                  int // blocks that were taken over from a process before
	Guarded, Caught                                                                                         int // pages of code that were made read-only, and writes to them
	Spared                                                                                                  int // processes whose code cache is memory of one before
	Dispatches, Indirect, Blocks, Stops, Signals, Frames, Returns, Irets, Traps, Toggles, Jumps, SafePoints int
	Behind                                                                                                  int // stops of threads whose own signal was still to be reported: see tracee.Thread.FaultWaits
	CacheBytes                                                                                              int
	DispatchTime                                                                                            time.Duration // that dispatches took to be answered
}

// add adds what was done for one process.
func (s *Stats) add(o *Stats) {
	for _, n := range []struct {
		to   *int
		from int
	}{{&s.Renewed, o.Renewed}, {&s.Reused, o.Reused}, {&s.Spared, o.Spared}, {&s.Guarded, o.Guarded}, {&s.Caught, o.Caught}, {&s.Dispatches, o.Dispatches}, {&s.Indirect, o.Indirect}, {&s.Blocks, o.Blocks}, {&s.Stops, o.Stops},
		{&s.Signals, o.Signals}, {&s.Frames, o.Frames}, {&s.Returns, o.Returns}, {&s.Irets, o.Irets}, {&s.Traps, o.Traps}, {&s.Toggles, o.Toggles}, {&s.Jumps, o.Jumps}, {&s.SafePoints, o.SafePoints},
		{&s.Behind, o.Behind}, {&s.CacheBytes, o.CacheBytes}} {
		*n.to += n.from
	}
	s.DispatchTime += o.DispatchTime
}

// measure notes how much has been translated.
func (p *Process) measure() {
	p.stats.Blocks = p.cache.BlockPool.N
	for _, a := range p.cache.Regions {
		p.stats.CacheBytes += a.Used()
	}
}

// Thread is one thread of a traced process.
//
// It may be used by the client from ThreadStarted to ThreadEnded; its slot is another
// thread's afterwards.
type Thread struct {
	p        *Process
	tid      int
	num      int // from 1, in order of creation in the process, through all of its programs
	slot     *shm.Slot
	variant  codecache.Variant
	plan     int           // see SetPlan
	resting  bool          // see Rest
	faulting uint32        // the number, from 1, of an indirect branch that counts where it leads and has led to no address that there can be, see goOnAt
	tracee   tracee.Thread // it as the kernel sees it
	counts   counts.Thread
	captures captures.Thread // of its calls, by the tracer
	recovery recovery.Thread // what of it is to be rebuilt when it is stopped in the cache
	appGS    uint64

	birth
	natively
	tables
	callState
	endState
	budgetState
	segments
	toggle toggle.Thread
	resume recovery.Resumes

	entries  entries // into handlers
	altStack signalStack
	stands   *sys.Regs // the registers that it has where it is stopped, while the client is asked about it; nil: it waits in the dispatch routine
}

// birth is how a thread came about, and what it may bring forth.
type birth struct {
	vfork    bool   // a child that shares the address space until it executes or ends
	fate     Fate   // what becomes of it then
	vforking bool   // the kernel holds it until its child executes or ends: it cannot be stopped
	bornAt   uint64 // where it begins, see told
	flags    *syscalls.Hidden
	closed   *mapping.Closed // nil: it was open
	asOf     int             // of the creator, see inheritance
}

// natively is whether a thread's own code is what it runs.
type natively struct {
	native bool   // it does, not the cache's
	unseen bool   // it may have, since translations were compared last with what they were made from
	wild   uint64 // where it has jumped to, which is memory of ours; see raiseAt
}

// tables is which of a thread's look-up tables are filled, and for which state of the variant's translations.
type tables struct {
	filled [codecache.NumVariants]bool
	epoch  [codecache.NumVariants]int
}

// callState is what is known of the system call that a thread makes.
type callState struct {
	calls     syscalls.Thread
	callStops bool             // it runs to the next stop at a system call
	away      bool             // it has left 64-bit code, see runElsewhere
	returning *codecache.Block // whose rt_sigreturn it makes, see returnInCache
	iret      iret             // see iretInCache
	asks      *sys.Regs        // the registers at a call before which a process is to be detached; it stands until that is done
}

// endState is what is known of a thread's end; see stop.go.
type endState struct {
	endTold bool // the client has heard of it
}

// budgetState is a thread's budgets, and for which of its process's they were dealt out.
type budgetState struct {
	budget      budget.Account
	budgetEpoch int
}

// segments is which bases its records know of.
type segments struct {
	fsBase, gsNoted uint64
	fsKnown         bool
}

// Num is the thread's number within its process, from 1, in order of creation. The thread
// that executes another program keeps it; those of the program go on from the last.
func (t *Thread) Num() int { return t.num }

// TID is the thread's id in the kernel.
func (t *Thread) TID() int { return t.tid }

// inherited is what a process has from the program before, or from its creator. Of the numbers of threads, which count
// on through execve: that of the thread that made it, which is its own further on, and the
// last one given out; both are 0 in a new process.
type inherited struct {
	first, last int
	filtered    bool
	sequences   bool // of a forked child
	widened     uint64
	creator     *Process         // of a forked child: our memory lay there
	asOf        int              // see inheritance
	heir        *heir            // whose memory the process gets; nil: new memory
	options     followed.Options // of one that was followed
}

// memory is what a process shares with the tracer, in a file that is spare if there is one.
func (from *inherited) memory(b *shm.Bell, spare *os.File) (shm.Memory, error) {
	switch {
	case from.heir != nil:
		return shm.MemoryOf(from.heir.file, b)
	case spare != nil:
		return shm.MemoryOf(spare, b)
	}
	return shm.NewMemory(b)
}

// newProcess prepares a process image whose one thread is stopped before its
// first instruction.
//
// A 32-bit program has another code segment from its first instruction on: it is refused
// here, before anything was mapped into it.
func newProcess(tr *Tracer, pid int, from inherited, at mapping.Where) (*Process, error) {
	p := &Process{tr: tr, pid: pid, members: members{threads: make(map[int]*Thread)},
		toggle: toggle.Process{Off: tr.opts.NoToggle}, orders: orders{detaching: detach.Process{Off: tr.opts.NoDetach}}}
	p.cache.Init(tr.opts.Ahead, func() { tr.fail(fmt.Errorf("the code cache of process %d is full", p.pid)) })
	if !tr.opts.NoSpare {
		p.cache.Use(&tr.spare)
	}
	p.translator.Init(&p.cache, target{p}, &tr.decoder, newSettings(&tr.opts))
	p.keepUnpatched()
	p.written = tr.templates.Written(&p.cache.Written, at != mapping.Executing)
	p.written.Whole = tr.opts.NoKeptPatched || tr.opts.NoAside
	if from.creator != nil && !tr.opts.NoInherit {
		p.creator, p.asOf = weak.Make(from.creator), from.asOf
	}
	p.past = tr.history.HistoryOf(pid, at == mapping.Forked)
	if at == mapping.Executing {
		p.written.Began, p.exe = time.Now(), reuse.ProgramOf(pid)
	}
	rip, err := p.readBeginning()
	if err != nil {
		return nil, err
	}
	mem, err := mapping.Open(pid)
	if err != nil {
		return nil, err
	}
	p.mem = mem
	p.initCode()
	p.initCalls(&from, at)
	spare := tr.takeMemory(p.past, at)
	if spare != nil {
		p.stats.Spared++
	}
	if p.shm, err = from.memory(&tr.bell, spare); err != nil {
		mem.Close()
		return nil, err
	}
	p.points = probe.New(probeHost{p}, &p.code, pid, mem, &p.cache, &p.translator, &p.shm, tr.opts.probesOff())
	p.points.Share(&tr.scans)
	p.calls.MakeRoom()
	t := tr.newThread(p, pid)
	t.num, t.fate = from.first, Trace
	if err := p.mapShared(t, rip, at, &from); err != nil {
		p.close()
		return nil, err
	}
	p.lastNum = from.last
	if t.num == 0 {
		t.num = p.nextNum()
	}
	if err := p.addThread(t); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// initCode prepares what is known of the process's code.
func (p *Process) initCode() {
	opts := &p.tr.opts
	p.code = appcode.New(codeOwner{p}, p.pid, p.mem, &p.cache, opts.NoAside)
	p.code.ReadPersonality()
	if opts.GuardSoon {
		p.code.GuardSoon()
	}
	if opts.NoFaultCount {
		p.code.IgnoreFaults()
	}
}

// initCalls prepares what is known of the process's system calls.
func (p *Process) initCalls(from *inherited, at mapping.Where) {
	p.calls.Init(callHost{p}, &p.code, p.pid, p.mem, &p.shm, p.tr.filters)
	if p.tr.opts.AskOpens {
		p.calls.TellOpens()
	}
	p.calls.Filtered, p.calls.Widened = from.filtered || syscalls.Limited(p.pid, p.tr.filters), from.widened
	if at == mapping.Executing {
		p.calls.SetStarting(starts.Calls)
	}
}

// probesOff is which ways of probing are switched off.
func (o *Options) probesOff() probe.Off {
	return probe.Off{Jumps: o.NoJumps, NativeCapture: o.NoNativeCapture, CacheCapture: o.NoCodeCapture, BehindCheck: o.NoBehindCheck, OneStack: o.NoGoroutines, PlaceAhead: o.NoPlaceAhead, Scans: o.NoSharedScans}
}

// readBeginning reads what holds at the process's first instruction, whose address it returns.
func (p *Process) readBeginning() (rip uint64, err error) {
	if sets, err := sys.ReadSignalSets(p.pid); err == nil {
		p.trap.Ignored = sets.Ignored>>(tracee.SIGTRAP-1)&1 != 0
	}
	var regs sys.Regs
	if err := p.tr.stops.Bare(p.pid).GetRegs(&regs); err != nil {
		return 0, err
	}
	if regs.Cs != tracee.UserCS {
		return 0, errors.New("a 32-bit program")
	}
	return regs.Rip, nil
}

// ourMappings is the process as it gets our mappings.
func (p *Process) ourMappings() mapping.Target {
	return mapping.Target{PID: p.pid, Mem: p.mem, Shm: &p.shm, Cache: &p.cache, Filtered: p.calls.Filtered, NoBatch: p.tr.opts.NoBatch}
}

// mapShared maps what the process shares with the tracer, where its creator, if it has one, has it. Its thread stands before its first instruction, rip,
// where the calls for it are executed.
func (p *Process) mapShared(t *Thread, rip uint64, at mapping.Where, from *inherited) error {
	if at == mapping.Executing && !p.code.Executable(rip) { // a shared library's, say
		if _, err := sys.CodeMaps(p.pid); err != nil { // nor can it be read where there is some
			return err
		}
		return errors.New("its first instruction is in no executable memory")
	}
	var as *mapping.Places
	if from.creator != nil && !p.tr.opts.NoInherit {
		as = mapping.PlacesOf(&from.creator.shm, &from.creator.cache)
	}
	ours := p.ourMappings()
	if err := ours.Map(&t.tracee, at, as); err != nil {
		return err
	}
	p.calls.InitTable()
	if at == mapping.Forked {
		return t.calls.BornWithSequences(from.sequences)
	}
	return nil
}

// putWord writes a word of the application's memory.
func (p *Process) putWord(addr, v uint64) error {
	_, err := p.mem.WriteAt(binary.LittleEndian.AppendUint64(nil, v), int64(addr))
	return err
}

// close releases what the tracer holds for the process.
// The target may still be running natively with its own mappings of the same
// memory.
func (p *Process) close() {
	if p.closed {
		return
	}
	p.closed = true
	for _, a := range p.cache.Regions {
		a.Unmap()
	}
	if p.lent {
		p.shm.DropSlots() // the file lives as long as its regions are mapped
	} else if !p.left {
		p.cache.GiveBack()
	}
	p.points.Unmap()
	p.keepMemory()
	p.shm.Unmap()
	p.mem.Close()
	p.code.Close()
	p.heir.close()
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
	s, err := p.shm.TakeSlot()
	if err != nil {
		return err
	}
	t.useSlot(s)
	if p.cache.Counters.N > 0 {
		clear(s.Mem[layout.CounterOff : layout.CounterOff+8*p.cache.Counters.N])
	}
	if last := p.translator.LastLeft(); last > 0 {
		clear(s.Mem[layout.LeftAt(last):layout.LeftAt(0)])
	}
	s.Set(layout.Follow, math.MaxUint64)
	counts.ClearEdges(&p.translator.Entries.Edges, s)
	t.counts.GiveEdges()
	s.Set(layout.ControlPtr, p.shm.Control())
	s.Set(layout.SlotIndex, uint64(s.Index))
	s.Set(layout.SlotsBase, p.shm.SlotsBase)
	s.Set(layout.Resp, 0)
	s.U32(layout.Req).Store(0)
	s.U32(layout.Asleep).Store(0)
	s.Set(layout.SignMask, 1<<63)
	t.budget.Open(s, &p.translator.Budgets)
	probe.InitFrames(s)
	p.points.BeginFrames(s)
	t.toggle.Look(s)
	p.toggle.Stop() // it is not alone any more
	if !t.vfork {
		s.InitRing(p.tr.opts.ring())
	}
	p.threads[t.tid] = t
	p.tr.threads[t.tid] = t
	if len(p.threads) > 1 && !t.vfork {
		p.calls.AskOfHandlers() // before any thread can be on its way past the question; see handler.go
	}
	return nil
}

// useSlot gives a thread a slot, and says where its state is.
func (t *Thread) useSlot(s *shm.Slot) {
	t.slot = s
	t.calls.UseSlot(s)
	t.counts.Init(&t.p.cache, &t.p.translator.Entries, s)
	t.captures.Init(captureHost{t}, &t.p.points, &t.tracee, t.p.mem, s, t.vfork)
	t.recovery.Init(&t.p.cache, &t.p.translator, t.p.mem, s, &t.budget, t.vfork)
}

// useVariant makes a thread run in variant v from its next block on.
//
// Filling a table costs half a megabyte of writes, so that it is done when a thread first
// needs the variant, and again after the variant was emptied. The thread must not run.
func (t *Thread) useVariant(v codecache.Variant) {
	t.prepareTable(v)
	t.budget.Call(false)
	t.variant, t.budgetEpoch = v, t.p.budgetEpoch
}

// prepareTable makes the thread's look-up table of a variant what it has to be.
func (t *Thread) prepareTable(v codecache.Variant) {
	if e := t.p.cache.Epoch[v]; !t.filled[v] || t.epoch[v] != e {
		t.tablePages(v)()
		t.p.cache.SlotEntries(v, t.slot.Table(codecache.TableOff(v)))
		t.filled[v], t.epoch[v] = true, e
	}
}

// tablePages returns what gives a variant's look-up table its pages, or does nothing where they are there.
// It is not done before they are needed: a program that runs natively has no use for the tables.
func (t *Thread) tablePages(v codecache.Variant) func() {
	at := codecache.TableOff(v)
	switch {
	case t.p.translator.NoHuge:
	case at+layout.TableSize > sys.HugePage: // of code that records: a large page for it would hold three others' as well
		table := t.slot.Mem[at : at+layout.TableSize]
		return func() { _ = sys.Populate(table) }
	case !t.slot.Huge:
		t.slot.Huge = true
		area := t.slot.Mem[:sys.HugePage]
		return func() { _ = sys.Collapse(area) } // the thread area and two look-up tables; small pages do too
	}
	return func() {}
}

// ringPages returns what has the beginning of a process's first ring lie in a large page: the thread would run into a fault for each small one, and who
// consumes it into another.
func (t *Thread) ringPages(v codecache.Variant) func() {
	r := t.p.tr.opts.ring()
	if !v.Records() || t.p.translator.NoHuge || len(t.p.threads) > 1 || r.ChunkBytes*r.Chunks < sys.HugePage/2 {
		return func() {}
	}
	memory := t.slot.Mem[layout.RingOff : layout.RingOff+sys.HugePage]
	return func() { _ = sys.Collapse(memory) }
}

// tableAhead has the pages of a look-up table given beside taking over what others have translated, where that is to come and a processor has nothing to do.
// The table itself is filled afterwards, once. The result waits for the pages.
func (t *Thread) tableAhead(v codecache.Variant) (wait func()) {
	if t.vfork || t.p.tookOver || t.filled[v] || runtime.GOMAXPROCS(0) == 1 {
		return func() {}
	}
	table, ring, given := t.tablePages(v), t.ringPages(v), make(chan struct{})
	go func() {
		defer close(given)
		table()
		ring()
	}()
	return func() { <-given }
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
