package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"alleria/engine"
	"alleria/engine/reuse"
	"alleria/internal/diskcache"
	"alleria/internal/symbols"
)

// noVector has profiles written without vector instructions.
const noVector = "no-vector"

// noSizes has records say no more than the number of their block.
const noSizes = "no-sizes"

// countAtOnce has the functions that a thread's counts belong to looked up by the tracer's goroutine.
const countAtOnce = "count-at-once"

// namesLater has images opened when they are mapped, also those that the program's last run had.
const namesLater = "names-later"

// meetEach has each block of records that are dropped looked up when it is first met.
const meetEach = "meet-each"

// plainRows has rows of blocks written field by field, and what writing wants of a block found out in each process.
const plainRows = "plain-rows"

// fewerProcs has the runtime run as many goroutines at a time as there are processors, the tracer's among them.
const fewerProcs = "fewer-procs"

// wholeTables has exact names of functions looked for in images' tables of all functions.
const wholeTables = "whole-tables"

// allSites has breakpoints put where followed processes could call ptrace and clone, whether or not anything leads there; askExecutables has the kernel asked for each program's file.
const (
	allSites       = "all-sites"
	askExecutables = "ask-executables"
)

// noLongBursts has bursts by processor time stay as short, and as many, as they begin; spreadBursts has their instructions counted in several words.
const (
	noLongBursts = "no-long-bursts"
	spreadBursts = "spread-bursts"
	// unboundBursts has them come as often whatever they take, but for what they translate.
	unboundBursts = "unbound-bursts"
)

// overwriteBursts has threads that record bursts never wait, as where the rate is auto.
const overwriteBursts = "overwrite-bursts"

// fewBursts has bursts by instructions be as long, and as few, as where caches are simulated.
const fewBursts = "few-bursts"

// allAddresses has the address of every access recorded for analyses that look at those of return addresses alone.
const allAddresses = "all-addresses"

// noCallLoop has analyses follow calls one by one, paths step by step, and distances and caches done by one goroutine.
const noCallLoop = "no-call-loop"

// noCallers has bursts begin without a word of who had called whom.
const noCallers = "no-callers"

// wholeBinary leaves pages of our own code in memory that only the start has needed.
const wholeBinary = "whole-binary"

// hastyRings has rings grow by each wait that follows a lull.
const hastyRings = "hasty-rings"

// largeRings has rings be as large where entries are dropped as where they are written.
const largeRings = "large-rings"

// punctualMonitor has the runtime's monitor wake as often as the runtime has it: internal/monitor looks for it before there is Go.
const punctualMonitor = "punctual-monitor"

// captureAlone has what is captured of each function made by itself.
const captureAlone = "capture-alone"

// noKeptNames has tables of functions made anew in each run, and noDiskCache nothing kept at all.
const (
	noKeptNames = "no-kept-names"
	noDiskCache = "no-disk-cache"
)

// readAlone has what is kept read by one thread, noHuge everything lie in small pages.
const (
	readAlone = "read-alone"
	noHuge    = "no-huge"
)

// keptFrom is where translations are kept.
func keptFrom(opts *Options) *diskcache.Dir {
	if opts.Kept == nil {
		return nil
	}
	d := *opts.Kept
	d.Alone, d.Small = slices.Contains(opts.Engine, readAlone), slices.Contains(opts.Engine, noHuge)
	return &d
}

// namesFrom says where names of functions are looked for.
func namesFrom(opts *Options) symbols.Options {
	o := symbols.Options{WholeTables: slices.Contains(opts.Engine, wholeTables)}
	off := slices.Contains(opts.Engine, noKeptNames) || slices.Contains(opts.Engine, noDiskCache)
	if own := reuse.OwnBinary(); opts.Kept != nil && own != "" && !off {
		o.Kept, o.KeptFor = opts.Kept, own
	}
	return o
}

// keepNames leaves the tables of functions that were made to later runs.
func (r *run) keepNames() {
	if err := r.cache.Keep(); err != nil {
		r.logf("kept names: %v", err)
	}
}

// switchTable is what each switch sets. Those that are for whoever writes profiles (openRun: noVector, noSizes, meetEach, plainRows), looks names up (namesFrom: wholeTables, noKeptNames),
// or another part that asks opts.Engine by itself, set nothing here.
func switchTable(o *engine.Options) map[string]*bool {
	elsewhere := new(bool)
	return map[string]*bool{
		"no-follow": &o.NoFollow, "ahead": &o.Ahead, noHuge: &o.NoHuge, "no-memo": &o.NoMemo, "predict": &o.Predict,
		"no-toggle": &o.NoToggle, "no-spread": &o.NoSpread, "no-busy": &o.NoBusy, "no-target-load": &o.NoTargetLoad, "plain-counts": &o.PlainCounts, "no-aside": &o.NoAside,
		"no-protect": &o.NoGuard, "protect-soon": &o.GuardSoon, "no-fault-count": &o.NoFaultCount, "small-cache": &o.SmallCache, "no-handover": &o.NoHandover, "no-own-wait": &o.NoOwnWait,
		"no-prefetch": &o.NoPrefetch, "no-reuse": &o.NoReuse, noDiskCache: &o.NoDiskCache, readAlone: elsewhere,
		"no-kept-records": &o.NoKeptRecords, "no-kept-bursts": &o.NoKeptBursts, "no-kept-entries": &o.NoKeptEntries, "no-kept-patched": &o.NoKeptPatched, "keep-few": &o.KeepFew, "copy-facts": &o.CopyFacts,
		"check-facts": &o.CheckFacts, "no-inherit": &o.NoInherit, "no-spare": &o.NoSpare, "no-batch": &o.NoBatch,
		"stop-signals": &o.StopSignals, "stop-at-ends": &o.StopAtEnds, "no-detach": &o.NoDetach, "no-jumps": &o.NoJumps, "keep-rarely": &o.KeepRarely, "copy-index": &o.CopyIndex,
		"no-super": &o.NoSuper, "no-lazy": &o.NoLazy, "no-fast-return": &o.NoFastReturn, "no-state": &o.NoState, "no-behind": &o.NoBehind, "no-callees": &o.NoCallees, "no-wide-compare": &o.NoWideCompare, "no-conditions": &o.NoConditions, "no-safe-point": &o.NoSafePoint, "no-sigreturn": &o.NoReturn, "no-frames": &o.NoFrames,
		"no-native-capture": &o.NoNativeCapture, "no-code-capture": &o.NoCodeCapture, "no-behind-check": &o.NoBehindCheck, "no-goroutines": &o.NoGoroutines, "no-place-ahead": &o.NoPlaceAhead, "no-shared-scans": &o.NoSharedScans, "no-trap-notes": &o.NoTrapNotes, "no-capture-pages": &o.NoCapturePages,
		"no-start-sites": &o.NoStartSites, "ask-pointers": &o.AskPointers, "ask-opens": &o.AskOpens, "no-short": &o.NoShort, "short": &o.Short,
		noVector: elsewhere, hastyRings: elsewhere, largeRings: elsewhere, punctualMonitor: elsewhere, captureAlone: elsewhere, noSizes: elsewhere, meetEach: elsewhere, plainRows: elsewhere, fewerProcs: elsewhere, namesLater: elsewhere, countAtOnce: elsewhere, allSites: elsewhere, askExecutables: elsewhere, wholeTables: elsewhere, noKeptNames: elsewhere, wholeBinary: elsewhere, noLongBursts: elsewhere, unboundBursts: elsewhere, spreadBursts: &o.SpreadBursts, overwriteBursts: elsewhere, fewBursts: elsewhere, noCallers: elsewhere, allAddresses: elsewhere, noCallLoop: elsewhere,
	}
}

// engineSwitches turns optimisations of the engine off, or on those that did not pay
// where they were measured. They are for comparing results and times, and their names may change.
func engineSwitches(o *engine.Options, names []string) error {
	switches := switchTable(o)
	for _, n := range names {
		on := switches[n]
		if on == nil {
			return fmt.Errorf("%w: the engine has no switch %q; it has %s", ErrUsage, n, strings.Join(EngineSwitches(), ", "))
		}
		*on = true
	}
	return nil
}

// EngineSwitches is the names that Options.Engine may have, in alphabetical order.
func EngineSwitches() []string {
	return slices.Sorted(maps.Keys(switchTable(new(engine.Options))))
}
