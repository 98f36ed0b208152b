package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// bench is one run of the benchmark, as its flags say.
type bench struct {
	// absolute paths: every run has a working directory of its own
	alleria string
	dir     string
	n       int
	// of modes that are measured so; 0: none is
	pairCount int
	size      size
	sched     string // ordinary or realTime
	asJSON    bool
	cold      bool // nothing is kept between runs
	timeout   time.Duration
	// native first, whatever was asked for: it is what ratios are to
	modes  []mode
	progs  []program
	stdout io.Writer
	stderr io.Writer
}

// main is trivial, so that tests can call run.
func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole command. The status is 1 as soon as one row has no
// figures: a rival that is missing is not a row, but an output that differs
// is a failure of the day.
//
// 2 is for flags that make no sense, as everywhere. The table is printed in any case:
// an hour of measurements is not thrown away for one failure.
func run(args []string, stdout, stderr io.Writer) int {
	b, err := parse(args, stdout, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 2
	}
	if b == nil {
		return 0
	}
	err = b.keepTranslations()
	var rows []row
	if err == nil {
		rows, err = b.measure()
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	rows = append(rows, means(rows, b.modes)...)
	if b.asJSON {
		err = printJSON(stdout, rows)
	} else {
		fmt.Fprintln(stdout, header(b.sched, b.cold))
		printTable(stdout, rows)
	}
	if err != nil || slices.ContainsFunc(rows, func(r row) bool { return r.Failure != "" }) {
		return 1
	}
	return 0
}

// keepTranslations says where the command keeps translations between runs: in a folder of the benchmark's that is empty, so that all runs of a row but the first begin
// with what the one before them had, as a user's do; or, with -cold, nowhere.
func (b *bench) keepTranslations() error {
	home, err := filepath.Abs(filepath.Join(b.dir, "kept-translations"))
	if err != nil {
		return err
	}
	if err := os.RemoveAll(home); err != nil {
		return err
	}
	if b.cold {
		home = os.DevNull
	}
	return os.Setenv("XDG_CACHE_HOME", home)
}

// placeFlags declares the flags of what stays on disk.
func (b *bench) placeFlags(fl *flag.FlagSet) {
	fl.BoolVar(&b.cold, "cold", false, "every start is a first one: translations are not kept between runs")
	fl.StringVar(&b.dir, "dir", "bench-out", "`directory` for inputs and outputs")
}

// parse reads the flags. It returns nil for a run that was only to list.
//
// "-modes all" is the default list with the slow ones; a name that is listed runs even
// if it is slow, and is reported as missing if it is.
func parse(args []string, stdout, stderr io.Writer) (*bench, error) {
	b := &bench{stdout: stdout, stderr: stderr}
	fl := flag.NewFlagSet("bench", flag.ContinueOnError)
	fl.SetOutput(stderr)
	fl.StringVar(&b.alleria, "alleria", "bin/alleria", "the `command` to measure")
	b.placeFlags(fl)
	fl.IntVar(&b.n, "n", 3, "`number` of runs of each row")
	fl.IntVar(&b.pairCount, "pairs", 15, "`number` of pairs, a native run and one of the mode, for armed and native-1% to native-50%; 0: runs as for other modes")
	less := fl.Bool("short", false, "inputs a fifth as large")
	more := fl.Bool("long", false, "inputs five times as large: for modes that cost hardly more than their start")
	fl.BoolVar(&b.asJSON, "json", false, "print JSON")
	fl.DurationVar(&b.timeout, "timeout", 10*time.Minute, "`time` that one run may take")
	fl.StringVar(&b.sched, "sched", ordinary, "`scheduling` of all runs: ordinary, as users have it, or fifo, real-time priority (root)")
	only := fl.String("only", "", "only these `programs`, comma-separated")
	which := fl.String("modes", "", "only these `modes` or groups of modes, comma-separated (native always); all: also the slow ones")
	list := fl.Bool("list", false, "list programs and modes, and which rivals are missing")
	if err := fl.Parse(args); err != nil {
		return nil, err
	}
	if fl.NArg() > 0 || b.n < 1 || b.pairCount < 0 || *less && *more {
		return nil, errors.New("only flags are taken, -n is at least 1, and inputs are short or long")
	}
	if b.sched != ordinary && b.sched != realTime {
		return nil, fmt.Errorf("scheduling is %s or %s", ordinary, realTime)
	}
	switch b.size = full; {
	case *less:
		b.size = short
	case *more:
		b.size = long
	}
	if err := b.absolute(); err != nil {
		return nil, err
	}
	all := modes(b.alleria, b.dir)
	// Before programs and modes are checked: it is what one looks at after a wrong
	// name.
	if *list {
		listAll(stdout, all)
		return nil, nil
	}
	var err error
	if b.progs, err = choose(*only, programs(), func(p program) string { return p.name }, func(program) bool { return true }); err != nil {
		return nil, err
	}
	names := *which
	if names == "all" {
		names = ""
	}
	if b.modes, err = chooseModes(names, all, *which == "all"); err != nil {
		return nil, err
	}
	if b.modes[0].name != nativeMode {
		// all's first is the native mode; the cut capacity keeps append from
		// writing into all.
		b.modes = append(all[:1:1], b.modes...)
	}
	return b, nil
}

// absolute makes the paths that runs are given absolute: these have working directories of their own, where a relative path leads
// elsewhere.
func (b *bench) absolute() (err error) {
	if b.alleria, err = filepath.Abs(b.alleria); err == nil {
		b.dir, err = filepath.Abs(b.dir)
	}
	return err
}

// chooseModes picks modes by a comma-separated list of their names and their groups', with what those need.
func chooseModes(list string, all []mode, slow bool) ([]mode, error) {
	wanted := strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
	for _, w := range slices.Clone(wanted) {
		for _, m := range all {
			if m.group == w || m.name == w {
				wanted = append(wanted, m.name)
				if m.needs != "" {
					wanted = append(wanted, m.needs)
				}
			}
		}
	}
	wanted = slices.DeleteFunc(wanted, func(w string) bool {
		return slices.ContainsFunc(all, func(m mode) bool { return m.group == w })
	})
	return choose(strings.Join(wanted, ","), all, func(m mode) string { return m.name },
		func(m mode) bool { return m.missing == "" && (!m.slow || slow) })
}

// choose picks by a comma-separated list; an empty one takes the defaults.
// The order is that of all, not of the list: tables are compared with one another.
func choose[T any](list string, all []T, name func(T) string, isDefault func(T) bool) ([]T, error) {
	var out []T
	wanted := strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
	for _, x := range all {
		if len(wanted) == 0 && isDefault(x) || slices.Contains(wanted, name(x)) {
			out = append(out, x)
		}
	}
	for _, w := range wanted {
		if !slices.ContainsFunc(all, func(x T) bool { return name(x) == w }) {
			return nil, fmt.Errorf("nothing is called %q; -list lists what there is", w)
		}
	}
	return out, nil
}

// listAll prints what can be chosen, and why a rival is missing.
// It starts nothing: a rival is missing if its command is not found.
func listAll(w io.Writer, all []mode) {
	fmt.Fprintln(w, "programs:")
	for _, p := range programs() {
		fmt.Fprintf(w, "  %s\n", p.name)
	}
	fmt.Fprintln(w, "modes:")
	for _, m := range all {
		note := ""
		switch {
		case m.missing != "":
			note = " [missing: " + m.missing + "]"
		case m.slow:
			note = " [slow: only when it is named" + map[bool]string{true: ", or " + m.group + " is"}[m.group != ""] + "]"
		}
		fmt.Fprintf(w, "  %-15s %s%s\n", m.name, m.about, note)
	}
}

// measure runs everything.
// A program that is not installed is a row with a reason; the others go on.
func (b *bench) measure() ([]row, error) {
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return nil, err
	}
	for name, text := range windowConfigs() {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	var rows []row
	for _, p := range b.progs {
		// Inputs are made once and kept in dir: another run of the benchmark finds
		// them.
		argv, err := p.prepare(b.dir, b.size)
		if err == nil {
			argv[0], err = lookProgram(argv[0])
		}
		if err != nil {
			rows = append(rows, row{Program: p.name, Mode: nativeMode, Failure: err.Error()})
			continue
		}
		rows = append(rows, b.program(p.name, argv)...)
	}
	return rows, nil
}
