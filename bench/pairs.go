package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// usage is what the program itself took, without the tool around it, as the kernel
// accounted it when the program had ended.
type usage struct {
	cpu      float64 // seconds, user and system
	faults   uint64  // of pages
	switches uint64  // times that it waited; a stop by a tracer is one
}

// pair is a native run and one of a mode, one right after the other.
type pair struct{ native, tool outcome }

// pairs runs a mode whose figure lies so near to 1 that the machine's moods would hide it: a
// native run and one of the mode, in turns, each a pair of its own. The first of a pair is
// native in one and the mode in the next, so that what the run before leaves behind (a warm
// cache, a processor that has slowed down) is on both sides.
//
// Refused: the ratio of two medians, as for other modes, since minutes lie between the runs
// that it compares; the two at the same time on two processors, since these share caches.
func (b *bench) pairs(s, native *series, argv []string) (out []pair, err error) {
	for i := range b.pairCount {
		fmt.Fprintf(b.stderr, "%s, pair %d\n", s.mode.name, i+1)
		order := []*series{native, s}
		if i%2 == 1 {
			slices.Reverse(order)
		}
		for _, one := range order {
			if err := b.once(one, native, argv); err != nil {
				return nil, err
			}
		}
		out = append(out, pair{native.runs[len(native.runs)-1], s.runs[len(s.runs)-1]})
	}
	return out, nil
}

// interval is a median and between which values it lies in 95 of 100 cases.
type interval struct{ median, low, high float64 }

// medianOf gives the median of values with the interval of the sign test: it asks nothing
// of how they are distributed, which times on a machine with neighbours need. Fewer than six
// values say no more than that it lies between the least and the greatest.
func medianOf(values []float64) interval {
	if len(values) == 0 {
		return interval{}
	}
	s := slices.Clone(values)
	slices.Sort(s)
	// How many values may lie below the median, each with the chance of a coin, before
	// that has a chance of one in forty: as many are cut off at each end.
	cut, chance, sum := 0, 1.0, 0.0
	for range s {
		chance /= 2
	}
	for k := 0; k < len(s)/2; k++ {
		if sum += chance; sum > 0.025 {
			break
		}
		cut = k
		chance *= float64(len(s)-k) / float64(k+1)
	}
	return interval{median(s), s[cut], s[len(s)-1-cut]}
}

// paired fills a row in from pairs: the median of their ratios in place of the ratio of
// medians.
func (r *row) paired(all []pair) {
	var times, cpu, faults, switches []float64
	for _, p := range all {
		times = append(times, p.tool.Seconds/p.native.Seconds)
		if n, t := p.native.Used, p.tool.Used; n.cpu > 0 && t.cpu > 0 {
			cpu = append(cpu, t.cpu/n.cpu)
			faults = append(faults, float64(t.faults)-float64(n.faults))
			switches = append(switches, float64(t.switches)-float64(n.switches))
		}
	}
	m := medianOf(times)
	r.Pairs, r.Ratio, r.Low, r.High = len(all), m.median, m.low, m.high
	if len(cpu) > 0 {
		m := medianOf(cpu)
		r.CPURatio, r.CPULow, r.CPUHigh = m.median, m.low, m.high
		r.MoreFaults, r.MoreSwitches = median(faults), median(switches)
	}
}

// printPairs prints what the table has no columns for.
func printPairs(w io.Writer, rows []row) {
	for _, r := range rows {
		if r.Pairs == 0 || r.Failure != "" {
			continue
		}
		fmt.Fprintf(w, "\n%s %s: median of %d pairs %.4f, in 95 of 100 cases %.4f to %.4f", r.Program, r.Mode, r.Pairs, r.Ratio, r.Low, r.High)
		if r.CPURatio > 0 {
			fmt.Fprintf(w, "\n  the program's own processor time %.4f (%.4f to %.4f), %+.0f page faults, %+.0f waits", r.CPURatio, r.CPULow, r.CPUHigh,
				r.MoreFaults, r.MoreSwitches)
		}
	}
}

// usedOf reads what the program took from the log that alleria was told to write.
func usedOf(dir string) (u usage, err error) {
	text, err := os.ReadFile(filepath.Join(dir, logFile))
	if err != nil {
		return u, fmt.Errorf("log: %w", err)
	}
	_, line, ok := strings.Cut("\n"+string(text), "\ntarget: ")
	if !ok {
		return u, errors.New("log: no line says what the program has used")
	}
	var user, system float64
	if _, err := fmt.Sscanf(line, "%f s user, %f s system, %d page faults, %d waits", &user, &system, &u.faults, &u.switches); err != nil {
		return u, fmt.Errorf("log: %w", err)
	}
	u.cpu = user + system
	return u, nil
}

// logFile is the log's name in a run's directory.
const logFile = "log"
