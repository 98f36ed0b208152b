package engine

import (
	"alleria/engine/asking"
	"alleria/engine/codecache"
	"alleria/engine/probe"
	"alleria/engine/reuse"
	"alleria/engine/translate"
	"alleria/engine/x86"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// Fate is what becomes of a process that a followed process has created, or that has
// executed another program.
type Fate uint8

// The fates.
const (
	Detach Fate = iota // it runs untraced, and what it creates as well
	Follow             // it runs its own code, with nothing of ours mapped; what it creates and executes is reported
	Trace              // it has a code cache, and a Handler
)

// Client is who the engine works for, as far as the tree of processes is concerned. All calls
// come from the goroutine that Run was called on. Processes are named by their ids in
// the kernel, which are good from Born, or for the first one from Executed, to Exited.
type Client interface {
	// Born is called when a followed process has created another one, in the order in which
	// the kernel reports it, before the new one has executed anything. Of one that shares the
	// creator's address space (vfork) Follow and Trace are the same until it executes a program.
	Born(parent, pid int) Fate
	// Orphaned is Born for a process that one has created which was followed and killed meanwhile, of which Exited has told.
	Orphaned(parent, pid int) Fate
	// Executed is called when a followed process stands before the first instruction of a
	// program that it has executed.
	Executed(pid int) Fate
	// Traced is called when a process stands before its first instruction in the
	// code cache: that of a program, or, of a process that was created and goes on
	// with its creator's program, the one behind the system call. Its handler sets the mode and
	// the notify points in Handler.Started.
	Traced(p *Process) Handler
	// Untraced is called when a process cannot be traced as it should be, with the reason; it runs on, and is
	// followed if that is possible.
	Untraced(pid int, why error)
	// Exited is called when a followed process is gone, or is detached: then end says neither how it exited nor a signal.
	Exited(pid int, end End)
	// CallSites is where the native code of a process makes the system calls of package asking, as far as that is known from what is mapped there now. It may be asked often.
	CallSites(pid int) []CallSite
	// FollowedSites is those of ptrace and clone, and maybe others, that a process may come to which is followed and not traced.
	FollowedSites(pid int) []CallSite
	// LibrarySites is those of its C library, or of a small static program, which take a moment to be found.
	LibrarySites(pid int) []CallSite
	// Poll is called now and then; it may change modes.
	Poll()
	// NamesOf is the Names of which Words was kept on disk; nil where they say nothing, or have no images and functions with numbers as high as these.
	NamesOf(words []byte, high records.Highest) Names
}

// CallSite is an instruction of a process's that one of these calls begins with.
type CallSite = asking.Site

// Names is what numbers of images and functions mean that a Planner has given.
type Names = reuse.Names

// End is how a process ended.
type End struct {
	Exited bool       // it ended by itself: Code holds
	Code   int        // exit code
	Signal sys.Signal // that killed it, 0 none
	Usage  sys.Usage  // of processor time and pages, with the children that it waited for
}

// Handler hears of one process, from one execve, or its creation, to the next or to its end. All
// calls come from the goroutine that Run was called on, while the thread concerned does not run
// application code.
//
// "Does not run application code" covers two states: the thread is stopped by the
// kernel, or it waits in the dispatch routine. In both its slot may be written and
// marks appended; nothing may be assumed of the other threads, which run. A call-back
// that takes long holds up every thread that asks for something meanwhile.
//
// Those that report what the kernel says of a thread may change the mode, and the thread goes on
// in the new one from exactly there.
type Handler interface {
	// Started is called when the process stands before its first instruction. The handler sets
	// the mode and the notify points.
	Started(p *Process) error
	// Notified is called when a thread is about to execute an address that
	// Process.Notify was called with.
	Notified(t *Thread, addr uint64, regs NotifiedRegs)
	// Reached is called when as many entries have come as Counter.Arm
	// said, with the last in t, which is about to execute addr: the counter's, or
	// where a return has led. The handler arms the counter again. sp is the stack pointer there: at a
	// function's entry it points to the return address.
	Reached(t *Thread, pl *probe.Counter, addr, sp uint64)
	// Toggled is called when code has opened and closed the window of
	// Process.SetToggle so many times together; open is how it is now.
	Toggled(t *Thread, open bool, times uint64)
	// Entering is called when a thread, which is stopped or waits, is about to
	// run translated code after something may have changed its mode, or to leave it.
	Entering(t *Thread)
	// BudgetLow is called when a thread, about to execute addr, has too little of
	// its budget left for the block there: maybe nothing (see
	// Process.CountExecuted). The handler may raise it.
	BudgetLow(t *Thread, addr uint64)
	// ImagesChanged is called when executable memory was mapped or its
	// protection changed, and Unmapped when a stretch of memory, which may hold images, was taken away.
	ImagesChanged(p *Process)
	Unmapped(p *Process, start, end uint64)
	// Mapped is called when a call has put something else into a stretch of memory, once Process.WatchMappings asked for it.
	Mapped(p *Process, m Mapped)
	// ThreadStarted and ThreadEnded frame a thread's life.
	ThreadStarted(t *Thread) error
	ThreadEnded(t *Thread)
	// Ending is called once for each thread, before its ThreadEnded: while it stands
	// at the beginning of its end, if Process.WatchEnds asked for that, else when the
	// kernel has reported that it is gone. It executes nothing any more. Of threads that are
	// detached, or that end with their program, it is not called.
	Ending(t *Thread)
	// CallEntered is called when a thread has executed the instruction of a system
	// call that Process.WatchCall named: what it executes next comes after the call.
	CallEntered(t *Thread, c *Call)
	// CallReturned is called for every system call that a thread has made in the
	// cache, once Process.WatchReturns asked for it: when it has returned, or, if it
	// never will, when it begins.
	CallReturned(t *Thread, c *Call)
	// Signalled is called when a signal is about to be delivered to a thread, also
	// one that is ignored. What the thread executes next comes after it. ip is
	// where it was interrupted.
	Signalled(t *Thread, info *sys.Siginfo, sig sys.Signal, ip uint64)
	// Forked is called when a thread has created another process, behind Client.Born.
	Forked(t *Thread, pid int)
	// Orphan is Client.Born for a process that one of the image's has created that was killed meanwhile, or whose program was executed over: it is called after
	// Ended, when the child is found.
	Orphan(pid int) Fate
	// Executing is called when a thread has executed another program, before the
	// old image's ThreadEnded and Ended. The first thread that is started next has its number.
	Executing(t *Thread)
	// Alarm is called at the time that Process.SetAlarm named.
	Alarm(p *Process)
	// Ended is called when the program image is gone, by exit or execve, or is not traced any more, before
	// the memory shared with it is released. end is how the process ended, nil if it lives on.
	Ended(p *Process, end *End)
	// Planner says what recorded blocks record.
	Planner
}

// NotifiedRegs are the registers that a notification comes with.
// SP is as before the instruction: at a function's entry it points to the return
// address. DI is the first argument of a call.
type NotifiedRegs struct{ SP, DI uint64 }

// Counter is the entries or returns of a function that code counts, Extent a stretch of code.
type (
	Counter = probe.Counter
	Extent  = probe.Extent
)

// Never is a count that no counter reaches.
const Never = probe.Never

// Want is what is to be recorded of one instruction.
type Want = translate.Want

// Condition is what makes an execution worth a record, ConditionOf what it is about.
type (
	Condition   = translate.Condition
	ConditionOf = translate.ConditionOf
)

// What a condition is about.
const (
	OfAddress  = translate.OfAddress
	OfValue    = translate.OfValue
	OfRegister = translate.OfRegister
	OfSize     = translate.OfSize
	OfStore    = translate.OfStore
	OfPC       = translate.OfPC
	OfLength   = translate.OfLength
	OfLine     = translate.OfLine
)

// MaxPlans is how many plans a client can have at a time: different things that
// different threads record.
const MaxPlans = codecache.MaxPlans

// Metric is something that threads do and that a client can count exactly, each
// thread against a budget of its own.
type Metric = codecache.Metric

// The metrics. Accesses are reads and writes together.
const (
	MetricInstructions = codecache.MetricInstructions
	MetricAccesses     = codecache.MetricAccesses
	MetricReads        = codecache.MetricReads
	MetricWrites       = codecache.MetricWrites
	NumMetrics         = codecache.NumMetrics
)

// Planner says what recorded blocks record.
//
// The answer must be the same for the same instructions until Replan: the same code may be
// translated several times.
type Planner interface {
	// Plan is asked once for each block that is translated to be recorded. It
	// sets want for each instruction: records.InsRecorded and what goes with it;
	// and its function's number. It returns the number of the block's image. A
	// block of which nothing is wanted runs as it is.
	Plan(p *Process, plan int, ins []x86.Insn, want []translate.Want) (image uint32)
	// RecordsLike says what the blocks of the first plan record: of two processes for which that is the same, blocks of the same code are. It is empty where
	// something else decides as well, or where there have been other plans.
	RecordsLike(p *Process) string
	// Names is what the numbers of images and functions that Plan has given mean, for TakeNames of another process; nil if that cannot be said. It does not
	// change, and is good for as long as Run.
	Names(p *Process) Names
	// TakeNames has images and functions keep the numbers that another process's Plan gave them: those of the image at an address, of all if that is 0. Blocks that refer
	// to them are about to be taken over. It is false where that is not possible, or the image is not known.
	TakeNames(p *Process, names Names, at uint64) bool
}
