package main

import (
	"slices"

	"github.com/spf13/pflag"

	"alleria/internal/session"
)

// withoutEffect refuses flags that another leaves nothing to do for. They could be passed
// over, but then whoever counts "only what the window selects" would read numbers that
// mean something else.
func withoutEffect(fl *pflag.FlagSet, o *session.Options, inline bool) error {
	var (
		window = []string{"config", "on-call", "till-return", "on-instructions", "till-instructions", "reopenable",
			"process", "image", "function", "select", "fields"}
		limits  = []string{"max-size", "max-time", "max-instructions"}
		streams = []string{"compress", "threads", "buffer-chunk", "buffer-max", "buffering", "discard", "sample-rate", "sample-by", "analysis", "keep-records",
			"tuner", "affinity", "ptc", "bc", "bs", "tf", "tp", "tay1", "tay2", "taz"}
		beside = []string{"threads", "buffer-max", "buffering", "sample-rate", "sample-by", "tuner", "affinity", "ptc", "bc", "tf", "tp", "tay1", "tay2", "taz"}
	)
	refuse := func(why string, groups ...[]string) error {
		for _, name := range slices.Concat(groups...) {
			if fl.Changed(name) {
				return usagef("%s, so that --%s has no effect; leave one of them out", why, name)
			}
		}
		return nil
	}
	if err := stageFits(fl, o, inline); err != nil {
		return err
	}
	switch {
	case o.KeepRecords && len(o.Analyses) == 0:
		return usagef("--keep-records keeps records that are analysed: name analyses with --analysis")
	case o.KeepRecords:
		for _, name := range []string{"max-size", "max-instructions"} {
			if fl.Changed(name) {
				return usagef("--keep-records has the same records written and analysed, and --%s bounds what is written alone; leave one of them out", name)
			}
		}
	case fl.Changed("analysis"):
		if err := refuse("--analysis writes no entries", []string{"sync", "compress", "max-size"}); err != nil {
			return err
		}
	}
	if inline {
		switch {
		case len(o.Analyses) == 0:
			return usagef("--sequential says how analyses are made: name some with --analysis")
		case o.Only != session.OnlyAll:
			return usagef("--only %s leaves nothing to analyse; leave it or --sequential out", o.Only)
		case countedInside(o.Analyses):
			return refuse("--sequential counts the whole program", window, limits, slices.DeleteFunc(streams, func(n string) bool { return n == "analysis" }))
		}
		return refuse("--sequential has threads wait while they are analysed", beside)
	}
	switch o.Only {
	case session.OnlyTranslate:
		return refuse("--only translate records nothing", window, limits, streams, []string{"output", "force", "sync"})
	case session.OnlyCount:
		return refuse("--only count counts the whole program", window, limits, streams, []string{"sync"})
	case session.OnlyBlocks:
		if err := refuse("--only blocks records which blocks ran", []string{"select", "fields"}); err != nil {
			return err
		}
	}
	if o.Discard {
		return refuse("--discard writes nothing", []string{"output", "force", "sync", "compress", "max-size", "keep-records"})
	}
	return nil
}

// stageFits refuses a stage that there is not, or that events don't go through.
func stageFits(fl *pflag.FlagSet, o *session.Options, inline bool) error {
	switch o.Stage {
	case session.StageAll:
		return nil
	case session.StageProduce, session.StageQueue:
	default:
		return usagef("--stage is produce or queue, not %q", o.Stage)
	}
	if !fl.Changed("analysis") || inline || fl.Changed("sample-rate") || o.KeepRecords {
		return usagef("--stage is for events on their way to --analysis, without --sequential, --keep-records and --sample-rate")
	}
	return nil
}

// mostThreads is how many processing threads can be asked for: more than processors have
// cores, and few enough for the runtime, which ends a program with ten thousand.
const mostThreads = 1024
