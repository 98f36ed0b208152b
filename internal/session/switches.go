package session

import (
	"fmt"

	"alleria/engine"
)

// noVector has profiles written without vector instructions.
const noVector = "no-vector"

// noSizes has records say no more than the number of their block.
const noSizes = "no-sizes"

// wholeTables has exact names of functions looked for in images' tables of all functions.
const wholeTables = "whole-tables"

// engineSwitches turns optimisations of the engine off, or on those that did not pay
// where they were measured. They are for comparing results and times, and their names may change.
//
// noVector and noSizes are for whoever writes profiles (openRun), wholeTables for who looks names up
// (Record), which are no part of the engine.
func engineSwitches(o *engine.Options, names []string) error {
	var elsewhere bool
	switches := map[string]*bool{
		"no-follow": &o.NoFollow, "ahead": &o.Ahead, "no-huge": &o.NoHuge, "no-memo": &o.NoMemo, "predict": &o.Predict,
		"no-toggle": &o.NoToggle, "no-spread": &o.NoSpread, "no-busy": &o.NoBusy, "no-aside": &o.NoAside, "small-cache": &o.SmallCache, "no-handover": &o.NoHandover, "no-prefetch": &o.NoPrefetch, "no-reuse": &o.NoReuse, "no-disk-cache": &o.NoDiskCache, "no-kept-records": &o.NoKeptRecords, "keep-few": &o.KeepFew, "no-inherit": &o.NoInherit, "no-batch": &o.NoBatch, "no-detach": &o.NoDetach, "no-jumps": &o.NoJumps,
		"no-super": &o.NoSuper, "no-late": &o.NoLate, "no-fast-return": &o.NoFastReturn, "no-state": &o.NoState, "no-behind": &o.NoBehind, "no-callees": &o.NoCallees, "no-call-in": &o.NoCallIn, "no-sigreturn": &o.NoReturn,
		"no-native-capture": &o.NoNativeCapture, "no-code-capture": &o.NoCodeCapture,
		"no-start-sites": &o.NoStartSites, "no-short": &o.NoShort, "short": &o.Short,
		noVector: &elsewhere, noSizes: &elsewhere, wholeTables: &elsewhere,
	}
	for _, n := range names {
		on := switches[n]
		if on == nil {
			return fmt.Errorf("%w: the engine has no switch %q", ErrUsage, n)
		}
		*on = true
	}
	return nil
}
