package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"alleria/abp"
	"alleria/analysis/live"
	"alleria/cab"
	"alleria/cab/topology"
	"alleria/config"
	"alleria/emit"
	"alleria/engine"
	"alleria/engine/launch"
	"alleria/internal/layout"
	"alleria/internal/symbols"
	"alleria/internal/sys"
	"alleria/proctree"
)

// Rings: a chunk (topology.Machine.Chunk) fits in the second-level cache several times over, a whole ring, as
// it is at first, in the third-level one. One of ringMost lets a producer run on for tens of
// milliseconds while the consumers are busy elsewhere.
const (
	chunkMost = 4 << 20
	ringStart = 4 << 20
	// Where entries are dropped, and the consumers nearly keep up, a ring is smaller and grows later: a start does not fill more of it than once, and each page is a
	// fault of the program's and one of ours.
	ringDropped   = 1 << 20
	roundsDropped = 32
	ringMost      = layout.RingMax
	// ringLong is what it begins with where bursts by processor time are recorded: the longest at 1 % with accesses, 1.2 million instructions, lie in it
	// though nobody consumes any of it meanwhile. A ring that nobody waits for does not grow.
	ringLong = 2 * ringStart
)

// Record runs opts.Program, records it and returns the exit status that a shell
// would report for it. On an error the status is still the program's if it ran
// to its end; then errors.Is(err, ErrIncomplete).
//
// Cancelling ctx closes all windows for good and lets the target run on natively to its
// end: a recording can be given up, a program that somebody runs cannot. Errors wrap
// ErrNotFound, ErrCannotTrace, ErrUsage or ErrIncomplete where one of these fits.
//
// Only one Record may run at a time in a process: the engine waits for every child that the
// process has.
func Record(ctx context.Context, opts Options) (exit int, err error) {
	garbage, restore := collectSeldom()
	defer restore()
	r := newRun(&opts, machine{clock: sys.StartClock(), exe: sys.Executable, maps: sys.ReadMaps, processors: sync.OnceValue(machineCPUs), garbage: garbage})
	defer r.cache.Close()
	defer r.keepNames()
	defer r.background.Wait()
	defer r.procsAgain()
	r.lookAbout()
	path, err := r.prepare()
	if err != nil {
		return 0, err
	}
	if err := r.openRun(); err != nil {
		return 0, err
	}
	if r.tree = opts.Tree; r.tree == nil {
		r.tree = proctree.New(opts.Args, proctree.Options{Warn: func(err error) { r.note(fmt.Sprintf("alleria ps does not show all of this run: %v", err)) }})
		defer r.tree.Close()
	}
	stop := context.AfterFunc(ctx, func() { r.end("alleria was asked to end") })
	defer stop()
	env := opts.Env
	if env == nil {
		env = os.Environ()
	}
	r.readProcessor()
	r.started = time.Now()
	o := engine.Options{Program: launch.Program{Path: path, Argv: opts.Args, Env: env, Dir: opts.Dir, NoASLR: opts.NoASLR},
		Lossy: r.overwrites() || opts.Stage == StageProduce, Bursts: r.samples(), Buffering: int(opts.Buffering), Rings: func() (int, int) { return r.chunk(), r.firstChunks() }, Ending: r.closePool,
		Unpatched: opts.Unpatched, Kept: keptFrom(&opts), Asked: askedAtOnce(&opts), KeptRead: garbage.read, Log: r.logf}
	if err := engineSwitches(&o, opts.Engine); err != nil {
		return 0, err
	}
	o.NoCodeCapture = o.NoCodeCapture || opts.Buffering != cab.CAB // that code knows the one way only
	o.Sizes, o.NoSpread = r.emit != nil && r.emit.Sizes(), o.NoSpread || r.oneWord()
	o.FewAddresses = followsCalls(&opts)
	tracer := engine.New(o, client{r})
	r.tracer = tracer
	st, err := tracer.Run()
	r.counting.end()
	var ee *launch.ExecError
	switch {
	case errors.As(err, &ee):
		r.abandon()
		return 0, fmt.Errorf("%w: %w", ErrCannotTrace, err)
	case errors.Is(err, launch.ErrNotPermitted):
		r.abandon()
		return 0, fmt.Errorf("%w: %w; alleria doctor says more", ErrCannotTrace, err)
	case err != nil && !r.began: // it never ran
		r.abandon()
		return 0, fmt.Errorf("tracing %s: %w", opts.Program, err)
	case err != nil:
		r.finish(st, err)
		return 0, fmt.Errorf("tracing %s: %w", opts.Program, err)
	}
	return r.status(st), r.finish(st, nil)
}

// followsCalls tells whether all that reads the records follows calls: of accesses it looks at those of return addresses alone, and others are only counted.
// What is kept has every address: who reads a profile may want something else.
func followsCalls(o *Options) bool {
	return len(o.Analyses) > 0 && !o.KeepRecords && o.Sites == nil && live.FollowCalls(o.Analyses) && !slices.Contains(o.Engine, allAddresses)
}

// lookAbout reads what the machine has, processors and folders of libraries, where something is recorded: half a millisecond of a start each, which the launcher
// and the program's beginning take anyway.
func (r *run) lookAbout() {
	r.systemDirs = sync.OnceValue(func() []string { return symbols.SystemDirs("/") })
	if r.opts.Only == OnlyTranslate || r.opts.Only == OnlyCount {
		return
	}
	r.background.Go(func() {
		r.processors()
		r.systemDirs()
	})
}

// readProcessor reads what the processor says of itself, where somebody will read that in a header. In a virtual machine each leaf is an exit to the one below,
// a millisecond together: they are read while the launcher starts.
func (r *run) readProcessor() {
	if !r.hasHeaders() {
		r.cpuid = func() []sys.CPUIDLeaf { return nil }
		return
	}
	r.cpuid = sync.OnceValue(sys.CPUIDLeaves)
	r.background.Go(func() { r.cpuid() })
}

// hasHeaders tells whether somebody will read the processes' headers.
func (r *run) hasHeaders() bool {
	o := r.opts
	return r.emit != nil && o.Only != OnlyCount && (!o.Discard || len(o.Analyses) > 0 || o.Sites != nil)
}

// tscFrequency is that of the time-stamp counter, 0 where nobody will read it: where the processor does not say it, it has to be waited for.
func (r *run) tscFrequency() uint64 {
	if !r.hasHeaders() {
		return 0
	}
	return r.clock.TSCFrequency()
}

// newRun makes a run of which nothing is prepared yet.
func newRun(opts *Options, m machine) *run {
	m.files.Ask = asksExecutables(opts)
	return &run{opts: opts, byPID: make(map[int]*process), shared: shared{names: newFunctionNames()},
		cache: symbols.NewCache(namesFrom(opts)), machine: m}
}

// asksExecutables tells whether each process is to be asked for the file that it executes: also where another root than ours has the same file at the same name, which a configuration may tell apart.
func asksExecutables(o *Options) bool {
	if slices.Contains(o.Engine, askExecutables) {
		return true
	}
	return o.Config != nil && slices.ContainsFunc(o.Config.Windows, func(w *config.Window) bool {
		return w.Profile != nil && slices.ContainsFunc(w.Profile.Processes, func(p *config.Process) bool { return p.Path != "" })
	})
}

// chunk is the size of a ring's chunk: a power of two.
// What is asked for is rounded up to one, within bounds.
func (r *run) chunk() int {
	switch {
	case r.opts.BufferChunk > 0:
	case r.opts.Only == OnlyTranslate || r.opts.Only == OnlyCount: // nothing is handed over
		return topology.DefaultChunk
	default:
		return r.processors().Chunk(sys.Allowed())
	}
	n := 16 << 10
	for n < r.opts.BufferChunk && n < chunkMost {
		n *= 2
	}
	return n
}

// firstChunks is how many chunks a ring begins with. Rivals of CAB stay at that, and those with slots find a chunk by its
// number's lowest bits.
func (r *run) firstChunks() int {
	n := r.startChunks()
	if r.opts.Buffering == cab.CAB {
		return n
	}
	return 1 << (bits.Len(uint(max(n, 2))) - 1)
}

func (r *run) startChunks() int {
	switch o := r.opts; {
	case o.NoThreads: // so that its thread waits until a chunk is written
		return 1
	case o.Buffers > 0:
		return min(o.Buffers, ringMost/r.chunk())
	}
	start := ringStart
	if r.drops() {
		start = ringDropped
	}
	if o := r.opts; o.SampleBy == SampleByTime && !slices.Contains(o.Engine, noLongBursts) {
		start = ringLong
	}
	return max(min(start, r.ringMost())/r.chunk(), 2)
}

// drops tells whether entries are counted and nothing else, by consumers that are about as fast as a producer.
func (r *run) drops() bool {
	o := r.opts
	return o.Discard && len(o.Analyses) == 0 && !slices.Contains(o.Engine, largeRings)
}

// ringRounds is PoolOptions.Rounds.
func (r *run) ringRounds() int {
	if r.drops() {
		return roundsDropped
	}
	return 0
}

// ringMost is how many bytes a ring may grow to.
func (r *run) ringMost() int {
	if n := r.opts.Buffers; n > 0 {
		return min(n*r.chunk(), ringMost)
	}
	if n := r.opts.BufferMost; n > 0 {
		return min(n, ringMost)
	}
	return ringMost
}

// prepare checks the program and the configuration.
// Nothing has been made or started by then: an error needs no cleaning up.
func (r *run) prepare() (path string, err error) {
	o := r.opts
	if o.Config == nil {
		o.Config, o.ConfigFrom = config.Default(), "built-in"
	}
	if bad := o.Config.Unsupported(); len(bad) > 0 && o.Only == OnlyAll {
		var lines []string
		for _, e := range bad {
			lines = append(lines, e.Error())
		}
		return "", fmt.Errorf("%w: %s", ErrUsage, strings.Join(lines, "\n"))
	}
	if bad := Refused(o.Config); len(bad) > 0 && o.Only == OnlyAll {
		var all []error
		for _, e := range bad {
			all = append(all, e)
		}
		return "", fmt.Errorf("%w: %w", ErrUsage, errors.Join(all...))
	}
	if err := r.bufferingCheck(); err != nil {
		return "", err
	}
	if len(o.Analyses) > 0 && leastSample(o.Config) > 1 {
		return "", fmt.Errorf("%w: instructions of which only some are kept (sample=) cannot be analysed beside the program; leave sample out, or record bursts (sampleRate)", ErrUsage)
	}
	if err := r.restCheck(); err != nil {
		return "", err
	}
	r.matcher, r.crossing = o.Config.Matcher(), crosses(o.Config)
	r.selected = newSelections(o.Config)
	path, err = filepath.Abs(o.Program)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	_, err = symbols.Classify(path)
	switch {
	case errors.Is(err, symbols.ErrNotFound):
		return "", fmt.Errorf("%w: %w", ErrNotFound, err)
	case errors.Is(err, symbols.ErrPrivileged): // the engine sees whether it gets its rights
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrCannotTrace, err)
	}
	return o.Program, nil
}

// bufferingCheck refuses ways of handing records over that do not go with the other options.
func (r *run) bufferingCheck() error {
	o := r.opts
	if o.NoThreads && o.Buffering != cab.CAB {
		return fmt.Errorf("%w: without processing threads nothing is handed over, so that --buffering %v has no effect; leave one of them out", ErrUsage, o.Buffering)
	}
	if r.samples() && o.Buffering != cab.CAB {
		return fmt.Errorf("%w: sampling records bursts through cab, so that --buffering %v has no effect; leave one of them out", ErrUsage, o.Buffering)
	}
	if o.KeepRecords && layout.Slotted(uint64(o.Buffering)) {
		return fmt.Errorf("%w: records in slots have one reader, so that --buffering %v does not go with --keep-records; leave one of them out", ErrUsage, o.Buffering)
	}
	return nil
}

// Refused lists what Record refuses of a configuration that is right by itself: system calls that
// there are not, more threads than can be told apart. It is for those who check configurations.
func Refused(c *config.Config) []config.Error {
	bad := unknownCalls(c)
	if err := checkPlans(c); err != nil {
		bad = append(bad, *err)
	}
	return bad
}

// openRun makes the output, if there is to be one.
//
// The window configuration is written in its canonical form, so that a
// run says what it
// recorded even if the file that it came from changes.
func (r *run) openRun() error {
	o := r.opts
	if o.Only == OnlyTranslate || o.Only == OnlyCount && len(o.Outputs) == 0 {
		return nil
	}
	if len(o.Outputs) == 0 && !o.Discard {
		o.Outputs = []string{freshOutput(fmt.Sprintf("alleria-%s-%s", filepath.Base(o.Program), time.Now().Format("20060102-150405")))}
	}
	info := abp.Run{Tool: o.Tool, Command: o.Args, Config: o.ConfigFrom, Host: host()}
	info.WorkDir, _ = os.Getwd()
	var err error
	r.emit, err = emit.NewRun(emit.Options{Dirs: o.Outputs, Force: o.Force, Discard: o.Discard, Level: o.Compress,
		MaxInstructions: o.MaxInstructions, MaxSize: o.MaxSize, Sync: o.Sync,
		NoVector: slices.Contains(o.Engine, noVector), Sizes: !slices.Contains(o.Engine, noSizes) && leastSample(o.Config) <= 1 && len(o.Analyses) == 0,
		MeetEach: slices.Contains(o.Engine, meetEach), PlainRows: slices.Contains(o.Engine, plainRows)}, info)
	if errors.Is(err, emit.ErrExists) {
		return fmt.Errorf("%w: %w; name another directory or give --force", ErrUsage, err)
	}
	if errors.Is(err, emit.ErrForeign) || errors.Is(err, emit.ErrRunning) {
		return fmt.Errorf("%w: %w; name another directory", ErrUsage, err)
	}
	if err != nil {
		return err
	}
	for _, n := range r.notes {
		r.emit.Note(n)
	}
	if o.Discard || o.Only == OnlyCount {
		return nil
	}
	r.disk = diskWatch{dirs: o.Outputs, space: sys.FreeSpace}
	if err := os.WriteFile(filepath.Join(r.emit.Dir(), "window.xml"), o.Config.XML(), 0o644); err != nil {
		return fmt.Errorf("configuration as used: %w", err)
	}
	return nil
}

// freshOutput makes a directory of that name, or with a number behind it where another run had the same
// idea in the same second. What keeps it from being made is for who uses it to say.
func freshOutput(name string) string {
	for n, dir := 2, name; ; n++ {
		if err := os.Mkdir(dir, 0o755); !errors.Is(err, os.ErrExist) {
			return dir
		}
		dir = fmt.Sprintf("%s-%d", name, n)
	}
}

// end asks for the recording to end; the target runs on.
// It may be called from any goroutine; the first reason stays.
func (r *run) end(why string) {
	r.why.CompareAndSwap(nil, &why)
	r.over.Store(true)
}

// status is the exit status that a shell would report.
func (r *run) status(st engine.Status) int {
	if st.Signal != 0 {
		return 128 + int(st.Signal)
	}
	return st.Code
}

// abandon removes what was written for a program that never ran.
// Only the files that openRun makes are removed, and no directory with anything in
// it.
func (r *run) abandon() {
	if r.emit == nil || r.opts.Discard {
		return
	}
	for _, dir := range r.opts.Outputs {
		for _, f := range []string{abp.RunFile, "window.xml"} {
			os.Remove(filepath.Join(dir, f))
		}
		os.Remove(dir) // stays if something else is in it
	}
	r.emit.Release()
}

// ErrIncomplete: the program ran to its end, but not everything was recorded.
var ErrIncomplete = errors.New("the recording is incomplete")

// finish completes run.json and tells the user how it went.
//
// err is what ended the run, nil for a target that came to its end; the result is what
// Record returns.
func (r *run) finish(st engine.Status, err error) error {
	if f := r.failed.Load(); f != nil && err == nil {
		err = fmt.Errorf("%w: %s", ErrIncomplete, plain(*f))
	}
	err = r.lostWith(err)
	if st.Detached > 0 {
		r.note(r.unrecorded.note(&st))
	}
	if st.DetachedThreads > 0 {
		r.lack(fmt.Sprintf("%s ran untraced: only %d can be traced at a time", counted(st.DetachedThreads, "thread", "threads"), layout.MaxSlots))
	}
	if st.Untraced != nil {
		r.lack(fmt.Sprintf("the program that was executed last ran untraced: %v", st.Untraced))
	}
	for _, m := range r.missed.notes() {
		r.note(m)
	}
	for _, m := range r.selected.processes.missing() {
		r.note(m)
	}
	if r.began {
		for _, m := range r.selected.missing() {
			r.note(m)
		}
	}
	outcome := abp.Outcome{State: abp.OutcomeComplete}
	if why := r.why.Load(); why != nil {
		outcome.Reason = *why
		r.notes = append(r.notes, "recording ended early: "+*why)
	}
	code := r.status(st)
	outcome.Status = &code
	if err != nil {
		outcome.State, outcome.Reason = abp.OutcomeCutOff, err.Error()
	}
	if r.emit != nil {
		r.emit.SetCosts(r.costsSum(st))
		if ferr := r.emit.Finish(outcome); ferr != nil && err == nil {
			err = fmt.Errorf("%w: %w", ErrIncomplete, first(ferr))
		}
	}
	r.report(st)
	return err
}

// first is the first of several errors that were joined. A full disk fails each
// stream in the same words, and once is enough to say it.
func first(err error) error {
	for {
		several, ok := err.(interface{ Unwrap() []error })
		if !ok || len(several.Unwrap()) == 0 {
			return err
		}
		err = several.Unwrap()[0]
	}
}

// counted is a number of things in words.
func counted[T int | uint64](n T, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// reportNotes writes what was noted and not told yet.
func (r *run) reportNotes() {
	for _, n := range r.notes {
		w := r.opts.Messages
		if r.opts.Warnings != nil && slices.Contains(r.lacking, n) {
			w = r.opts.Warnings
		}
		if w != nil && !slices.Contains(r.told, n) {
			fmt.Fprintln(w, "alleria:", n)
		}
	}
}

// report writes the closing lines.
// Notes come first, so that the line with the result is the last thing on the
// screen.
func (r *run) report(st engine.Status) {
	r.reportNotes()
	w := r.opts.Messages
	if w == nil {
		return
	}
	switch {
	case r.opts.Only == OnlyCount:
		for _, ps := range r.counted {
			ps.counts.print(w, ps.number, filepath.Base(ps.path))
		}
	case r.emit != nil:
		n := r.emit.Info()
		var c abp.Counts
		for _, p := range n.Processes {
			c.Add(p.Counts, 1)
		}
		if !r.began { // it never ran: the error says why
			break
		}
		r.reportAnalyses(w)
		where := "consumed and dropped"
		if len(r.opts.Analyses) > 0 {
			where = "analysed"
		}
		if r.opts.KeepRecords {
			where = "recorded and analysed"
		}
		if !r.opts.Discard {
			where = strings.Replace(where+" in ", "consumed and dropped", "recorded", 1) + r.emit.Dir()
		}
		if r.reportCalls(w) && c.Instructions == 0 { // nor were any asked for, mostly
			break
		}
		fmt.Fprintf(w, "alleria: %s, %s, %s %s\n", counted(c.Instructions, "instruction", "instructions"),
			counted(c.Loads, "load", "loads"), counted(c.Stores, "store", "stores"), where)
	}
	if log := r.opts.Log; log != nil {
		u := st.Usage
		fmt.Fprintf(log, "target: %.6f s user, %.6f s system, %d page faults, %d waits, %d times without its processor\n",
			u.User.Seconds(), u.System.Seconds(), u.Faults, u.Switches, u.Taken)
		taken, made := r.cache.Made()
		if r.armed.functions > 0 {
			fmt.Fprintf(log, "armed: %d functions in %.6f s\n", r.armed.functions, r.armed.took.Seconds())
		}
		fmt.Fprintf(log, "engine: %+v\nwaits: %d times, %d ticks\nfunctions' names: %d images kept, %d made\n", st.Stats, r.waits.times, r.waits.ticks, taken, made)
	}
}

// reportCalls says how many entries and returns were captured; false: nothing was intercepted, or it was dropped.
func (r *run) reportCalls(w io.Writer) bool {
	n := r.armed.functions
	if n == 0 {
		return false
	}
	functions := counted(n, "intercepted function", "intercepted functions")
	if r.opts.Discard {
		fmt.Fprintf(w, "alleria: calls of %s captured and dropped\n", functions)
		return false
	}
	dir := r.emit.Dir()
	fmt.Fprintf(w, "alleria: %s of %s captured in %s; alleria intercepts %s prints them\n", counted(r.emit.CallRecords(), "entry or return", "entries and returns"), functions, dir, dir)
	return true
}
