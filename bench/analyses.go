package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// analysesGroup names the modes in which analyses run beside the program or in it, readingGroup the one whose recordings are analysed afterwards.
const (
	analysesGroup = "analyses"
	readingGroup  = "reading"
)

// Modes with figures to reach, and what each may take as times native; a cache has cachegrind's figure, a sample of reuse distances the counting of instructions'.
const (
	methodsMode, treeMode, cacheMode, reuseMode, sampledMode = "methods-inlined", "calltree", "cache", "reuse", "reuse-8192"
	mustMethods, mustTree, mustReuse, mustSampled            = 1.5, 3, 13, 1.5
	cachegrind                                               = "vg-cachegrind"
)

// analysisModes are the analyses: those of the CAB paper's comparison by each way of handing records over, those in the program's own threads, and one by one
// beside it. They run when they are named, or their group is.
func analysisModes(record recorder) (all []mode) {
	add := func(name, about, needs string, flags ...string) {
		m := record(name, about, nil, append(flags, "-o", "DIR")...)
		m.slow, m.group, m.needs = true, analysesGroup, needs
		all = append(all, m)
	}
	for _, analysis := range []string{"callgraph", "paths"} {
		for _, way := range []string{"cab", "nway", "fastforward", "batched"} {
			add(analysis+"-"+way, analysis+" beside the program, by way of "+way, "", "--analysis", analysis, "--buffering", way)
		}
	}
	// Counted by the program's code, or called once a chunk.
	for _, form := range [...][2]string{{methodsMode, "methods"}, {"callgraph-inlined", "callgraph"}, {"callgraph-called", "callgraph,calltree"}} {
		add(form[0], form[1]+" in the program's own threads", "", "--analysis", form[1], "--sequential")
	}
	for _, beside := range [...][3]string{
		{treeMode, "calltree", ""}, {cacheMode, "cache", cachegrind}, {reuseMode, "reuse", ""}, {sampledMode, "reuse(sample=8192)", "count"}, {"heatmap", "heatmap", ""},
	} {
		add(beside[0], beside[1]+" of everything, beside the program", beside[2], "--analysis", beside[1])
	}
	return all
}

// analysisTarget is what those must reach; false for other modes.
func analysisTarget(mode string, measured func(string) float64) (target, bool) {
	switch mode {
	case methodsMode:
		return target{must: mustMethods}, true
	case treeMode:
		return target{must: mustTree}, true
	case cacheMode:
		return target{must: measured(cachegrind)}, true
	case reuseMode:
		return target{must: mustReuse}, true
	case sampledMode:
		return target{must: mustSampled * measured("count")}, true
	}
	return target{}, false
}

// mustRead is how many accesses a second and processor each analysis of a recorded profile must take.
const mustRead = 100e6

// rate is how fast an analysis of a recorded profile was.
type rate struct {
	Analysis string  `json:"analysis"`
	Accesses float64 `json:"accesses_per_second"` // of processor time, on one processor
}

// readingMode records every block and address and has each analysis go over it afterwards, on one processor. Its time is the recording's.
func readingMode(alleria string, record recorder, addresses []string) mode {
	m := record("analyze", "everything to disk, and each analysis of it afterwards, on one processor", func(dir string) (volume, error) {
		v, err := recorded(dir)
		if err == nil {
			v.rates, err = readRates(alleria, filepath.Join(dir, "run"))
		}
		return v, err
	}, append(addresses[:len(addresses):len(addresses)], "-o", "DIR")...)
	m.slow, m.group = true, readingGroup
	return m
}

// readRates times the analyses that users have.
func readRates(alleria, profile string) (all []rate, err error) {
	accesses, err := accessesOf(alleria, profile)
	if err != nil {
		return nil, err
	}
	for _, a := range [...][]string{{"methods"}, {"callgraph"}, {"calltree"}, {"paths"}, {"cache"}, {"reuse"}, {"reuse", "--sample", "8192"}, {"strides"}} {
		args := append([]string{"analyze", "-q"}, a...)
		cmd := exec.Command(alleria, append(args, profile)...)
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
		if text, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("analyze %s: %w: %s", a[0], err, lastLine(string(text)))
		}
		used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		if s := used.Seconds(); s > 0 {
			all = append(all, rate{strings.Join(a, " "), accesses / s})
		}
	}
	return all, nil
}

// accessesOf is how many loads and stores a profile has.
func accessesOf(alleria, profile string) (n float64, err error) {
	text, err := exec.Command(alleria, "report", "--json", profile).Output()
	if err != nil {
		return 0, fmt.Errorf("report: %w", err)
	}
	var report struct {
		Processes []struct{ Loads, Stores float64 }
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return 0, fmt.Errorf("report: %w", err)
	}
	for _, p := range report.Processes {
		n += p.Loads + p.Stores
	}
	return n, nil
}

// readingRow is how fast analyses of a recorded profile were, each the median of the runs.
type readingRow struct {
	Rates []rate `json:"rates,omitempty"`
}

// read fills a row in from the runs of the mode that reads.
func (r *row) read(s *series) {
	if len(s.rates) == 0 {
		return
	}
	for i, first := range s.rates[0] {
		var all []float64
		for _, run := range s.rates {
			all = append(all, run[i].Accesses)
		}
		r.Rates = append(r.Rates, rate{first.Analysis, median(all)})
	}
}

// printRates prints what the table has no columns for.
func printRates(w io.Writer, rows []row) {
	for i := range rows {
		for _, a := range rows[i].Rates {
			verdict := "✗"
			if a.Accesses >= mustRead {
				verdict = "✓"
			}
			fmt.Fprintf(w, "\n%s analyze %s: %.0f M accesses a second and processor (must %.0f) %s", rows[i].Program, a.Analysis, a.Accesses/1e6, mustRead/1e6, verdict)
		}
	}
}
