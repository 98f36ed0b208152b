package main

import (
	"fmt"
	"path/filepath"
	"slices"
)

// series is the runs of one program in one mode.
// failure ends a series: its figures would be of fewer runs than the others'.
type series struct {
	mode    mode
	runs    []outcome
	volume  volume
	samples []map[string]function // of each run, in modes that are compared by function
	heats   []map[string]function // the same by blocks of memory
	rates   [][]rate              // of each run, in the mode that reads what it has recorded
	failure string
	pairs   []pair
	expect  *outcome // of the native series: what every run has to put out
}

// program runs one program in all modes, N times, the modes taking turns.
//
// Taking turns costs warm caches, which no program has in daily use either, and buys that
// a slow minute of the machine is in all modes alike.
func (b *bench) program(name string, argv []string) []row {
	var all []*series
	for _, m := range b.modes {
		if leavesChildren(name, m.name) {
			continue
		}
		if m.runs(name) {
			all = append(all, &series{mode: m, failure: m.missing})
		}
	}
	native := all[0]
	// The first run of a program reads it and its input from the disk. It is not
	// counted, but it is what the other runs' outputs are compared with.
	if err := b.once(native, native, argv); err != nil {
		native.failure = err.Error()
		return b.rows(name, all[:1])
	}
	first := native.runs[0]
	native.runs = nil
	native.expect = &first
	if starts(name) && !b.cold {
		b.warm(native, all, argv)
	}
	for range b.runs(name) {
		for _, s := range all {
			if s.failure != "" || s.mode.paired && b.pairCount > 0 {
				continue
			}
			fmt.Fprintf(b.stderr, "%s %s\n", name, s.mode.name)
			if err := b.once(s, native, argv); err != nil {
				s.failure = err.Error()
			}
		}
	}
	for _, s := range all {
		if s.failure != "" || !s.mode.paired || b.pairCount == 0 {
			continue
		}
		fmt.Fprintf(b.stderr, "%s ", name)
		// Native runs of its own: those of the others are from other minutes.
		base := &series{mode: native.mode, expect: native.expect}
		var err error
		if s.pairs, err = b.pairs(s, base, argv); err != nil {
			s.failure = err.Error()
		}
	}
	return b.rows(name, all)
}

// warm makes the runs of a start that leave translations to the others, uncounted as the first native one.
func (b *bench) warm(native *series, all []*series, argv []string) {
	for _, s := range all {
		if s.failure != "" || s == native || s.mode.rival || s.mode.first {
			continue
		}
		if err := b.once(s, native, argv); err != nil {
			s.failure = err.Error()
		}
		s.runs = nil
	}
}

// once makes one run and compares it with what the native one put out.
//
// A rival that adds lines of its own is compared up to the native length; ours must match
// to the byte, since a target's output is never to change.
func (b *bench) once(s, native *series, argv []string) error {
	dir := filepath.Join(b.dir, "run")
	if err := freshDir(dir); err != nil {
		return err
	}
	l := limits{timeout: b.timeout}
	if s.mode.rival && native.expect != nil {
		l.output = native.expect.Length
	}
	// Fixed seeds: interpreters that hash at random would do different work.
	env := []string{"PYTHONHASHSEED=0", "PERL_HASH_SEED=0", "LC_ALL=C"}
	end, err := s.mode.conditions.spinners()
	if err != nil {
		return err
	}
	o, err := runOnce(s.mode.conditions.under(s.mode.command(argv, dir), b.sched), env, dir, l)
	end()
	if err != nil {
		return err
	}
	first := o
	if native.expect != nil {
		first = *native.expect
	}
	switch {
	// A native run that fails says that the program or its input is broken,
	// whatever it is compared with.
	case o.Exit != first.Exit || s == native && o.Exit != 0:
		return fmt.Errorf("exit status %d: %s", o.Exit, lastLine(o.Messages))
	case o.Digest != first.Digest || !s.mode.rival && o.Length != first.Length:
		return fmt.Errorf("its output differs from the native one")
	}
	if s.mode.used != nil {
		if o.Used, err = s.mode.used(dir); err != nil {
			return err
		}
	}
	s.runs = append(s.runs, o)
	if s.mode.told != nil {
		s.volume = s.mode.told(o.Messages)
	}
	if s.mode.after != nil {
		if s.volume, err = s.mode.after(dir); err != nil {
			return err
		}
		if s.volume.functions != nil {
			s.samples, s.heats = append(s.samples, s.volume.functions), append(s.heats, s.volume.heat)
		}
	}
	if s.volume.rates != nil {
		s.rates = append(s.rates, s.volume.rates)
	}
	return freshDir(dir) // the next run may need the room
}

// rows makes the table's lines of one program.
//
// A native series that failed leaves every ratio at 0, which is printed as nothing.
func (b *bench) rows(name string, all []*series) []row {
	nativeTime := median(seconds(all[0].runs))
	ratio := func(mode string) float64 {
		for _, s := range all {
			if s.mode.name == mode && s.failure == "" && nativeTime > 0 {
				return median(seconds(s.runs)) / nativeTime
			}
		}
		return 0
	}
	// Modes that write nothing count nothing either: they share what a recording
	// of the same work has counted, which is the same for all.
	var instructions uint64
	for _, s := range all {
		instructions = max(instructions, s.volume.instructions)
	}
	var out []row
	for _, s := range all {
		r := row{Program: name, Mode: s.mode.name, Failure: s.failure}
		if s.failure == "" {
			r.figures(s, nativeTime, instructions)
			if len(s.pairs) > 0 {
				r.paired(s.pairs)
			}
			r.NativeRSS = peak(all[0].runs, func(o outcome) uint64 { return o.TracerRSS })
			// A target may be a multiple of another mode's ratio, hence the
			// function.
			t := targetOf(s.mode.name, name, ratio)
			r.Must, r.Reach, r.MustBytes, r.ReachBytes = t.must, t.reach, t.mustBytes, t.reachBytes
			r.memoryOf(s, all[0], t)
			r.calls(nativeTime, pick(b.size, callsN, callsN/5))
			r.captured(s, all[0])
			r.arming(nativeTime)
			r.accurate(s, all)
			r.pool(ratio)
			r.read(s)
		}
		out = append(out, r)
	}
	return out
}

// figures fills a row in from a series that succeeded.
// Instructions a second are over the whole run, with start-up: that is what users
// wait for.
func (r *row) figures(s *series, nativeTime float64, instructions uint64) {
	times := seconds(s.runs)
	r.Seconds = median(times)
	if nativeTime > 0 {
		r.Ratio, r.Low, r.High = r.Seconds/nativeTime, slices.Min(times)/nativeTime, slices.Max(times)/nativeTime
	}
	r.Instructions = instructions
	if instructions > 0 {
		r.InstructionsPerSec = float64(instructions) / r.Seconds
		if s.volume.bytes > 0 && s.mode.name != "count" { // counts have a size, but no entries
			r.BytesPerInstruction = float64(s.volume.bytes) / float64(instructions)
		}
	}
	r.TracerRSS = peak(s.runs, func(o outcome) uint64 { return o.TracerRSS })
	r.TracerPrivate = peak(s.runs, func(o outcome) uint64 { return o.TracerPrivate })
	r.TargetRSS = peak(s.runs, func(o outcome) uint64 { return o.TargetRSS })
	if s.mode.name == nativeMode {
		r.TracerRSS, r.TracerPrivate = 0, 0 // there is no tool
	}
}

// memoryOf fills in what the tool takes: its private memory and what it shares with
// the target, each page once, and by how much the target's private part grew.
func (r *row) memoryOf(s, native *series, t target) {
	private := func(o outcome) uint64 { return o.TargetPrivate }
	if s.volume.cache > 0 {
		r.Memory, r.MustMemory, r.ReachMemory = r.TracerPrivate+s.volume.cache, t.mustMemory, t.mustMemory/2
	}
	// Natively the program is the command itself.
	own := peak(native.runs, func(o outcome) uint64 { return o.TracerPrivate })
	if n := peak(s.runs, private); n > own && s != native {
		r.TargetMore, r.MustTarget = n-own, t.mustTarget
	}
}

// seconds are the times of the runs.
func seconds(runs []outcome) []float64 {
	out := make([]float64, len(runs))
	for i, o := range runs {
		out[i] = o.Seconds
	}
	return out
}

// peak is the highest of a figure over the runs. Memory does not vary as
// times do, and its median would hide what has to fit.
func peak(runs []outcome, of func(outcome) uint64) (most uint64) {
	for _, o := range runs {
		most = max(most, of(o))
	}
	return most
}
