package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"alleria/internal/session"
)

// TestPoolFlags reads what is said of processing threads and buffers.
func TestPoolFlags(t *testing.T) {
	parse := func(args string) (session.Options, error) {
		f := &recordFlags{}
		fl := pflag.NewFlagSet("record", pflag.ContinueOnError)
		f.pool.register(fl)
		fl.IntVar(&f.opts.Threads, "threads", 0, "")
		fl.StringVar(&f.chunk, "buffer-chunk", "", "")
		fl.StringVar(&f.most, "buffer-max", "", "")
		if err := fl.Parse(strings.Fields(args)); err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		err := f.pool.check(fl, &f.opts)
		return f.opts, err
	}
	for args, good := range map[string]func(o session.Options) bool{
		"":                      func(o session.Options) bool { return !o.NoTuner && !o.NoThreads && o.FixedThreads == 0 },
		"--tuner off":           func(o session.Options) bool { return o.NoTuner },
		"--affinity off":        func(o session.Options) bool { return o.NoAffinity },
		"--affinity auto":       func(o session.Options) bool { return !o.NoAffinity },
		"--ptc 3":               func(o session.Options) bool { return o.FixedThreads == 3 && !o.NoThreads },
		"--ptc 0":               func(o session.Options) bool { return o.NoThreads },
		"--bc 8 --bs 64":        func(o session.Options) bool { return o.Buffers == 8 && o.BufferChunk == 64<<10 },
		"--tf 1s --tp 70%":      func(o session.Options) bool { return o.TunerPeriod == 1e9 && *o.Thresholds.TP == 0.7 },
		"--taz 0 --tay2 0.5":    func(o session.Options) bool { return *o.Thresholds.TAZ == 0 && *o.Thresholds.TAY2 == 0.5 },
		"--tuner on --tay1 1%":  func(o session.Options) bool { return *o.Thresholds.TAY1 == 0.01 && o.Thresholds.TP == nil },
		"--threads 4 --bc 1024": func(o session.Options) bool { return o.Threads == 4 && o.Buffers == 1024 },
	} {
		if o, err := parse(args); err != nil || !good(o) {
			t.Errorf("%s: %+v, %v", args, o, err)
		}
	}
	for _, args := range []string{"--tuner maybe", "--affinity 0-3", "--ptc -1", "--ptc x", "--bc 1", "--bs 0", "--bs 8", "--bs 48", "--tf 0", "--tp x", "--tp -1%", "--taz NaN",
		"--ptc 2 --threads 2", "--ptc 2 --tuner on", "--ptc 2 --tp 5%", "--tuner off --tf 1s", "--bc 4 --buffer-max 1M", "--bs 4 --buffer-chunk 4K", "--ptc 0 --bc 2"} {
		if o, err := parse(args); err == nil {
			t.Errorf("%s: %+v", args, o)
		}
	}
}
