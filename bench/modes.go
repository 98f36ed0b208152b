package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"alleria/abp"
)

// mode is a way to run a program: a column of the questions.
//
// A mode must do the same work in each of its runs, and leave the program's output as it
// is: that is checked, and a mode that fails it has no figure.
type mode struct {
	name  string
	about string
	// command wraps the program's command. dir is an empty directory of the
	// run's own for what the tool writes.
	command func(program []string, dir string) []string
	// after reads what the run left in dir; nil: nothing.
	after func(dir string) (volume, error)
	// told reads what the tool printed to standard error; nil: nothing.
	told func(messages string) volume
	// used reads from dir what the program itself took; nil: the command is the program.
	used func(dir string) (usage, error)
	// paired modes are measured in pairs with native runs.
	paired bool
	// missing says why the tool cannot run here; empty: it can.
	missing string
	// slow modes only run when they are named, or their group is.
	slow  bool
	group string
	// needs names a mode that has to run as well; empty: none.
	needs string
	// only names the program that the mode is about, or begins the names of several; empty: all but those that other modes are about.
	only string
	// first: each run is a program's first one, of programs that only start and end. The other modes' first runs of these are not counted: one that
	// finds no translations and the second one are two figures, and each has a row of its own.
	first bool
	// conditions that the mode's own runs are under.
	conditions conditions
	// rival: its output may have lines added behind the program's.
	rival bool
}

// runs tells whether the mode has a row for a program.
// calls does nothing but call a function, as those whose calls are captured do, and another has functions to be armed: the modes that record it all say nothing of them.
func (m *mode) runs(program string) bool {
	switch captured := strings.HasPrefix(program, capturedPrefix); {
	case m.name == nativeMode:
		return true
	case m.first:
		return starts(program)
	case m.only == "":
		return program != callsProgram && program != armingProgram && !captured
	case m.only == capturedPrefix:
		return captured
	}
	return m.only == program
}

// volume is what a run recorded.
// Zero where the tool does not say.
type volume struct {
	instructions uint64
	bytes        uint64
	cache        uint64 // of memory: touched pages that tracer and target share, but for the rings
	functions    map[string]function
	heat         map[string]function // accesses by blocks of memory
	rates        []rate              // of analyses that read what was recorded
}

// nativeMode is the mode that all ratios are to.
const nativeMode = "native"

// recorder makes a mode that records.
type recorder func(name, about string, after func(string) (volume, error), flags ...string) mode

// modes lists everything that can be measured, alleria's modes first. The
// options are those that users have; there are none for benchmarks only.
//
// "DIR" among the flags stands for the run's directory, "LOG" for a log there and "KEPT" for a folder of translations that no other run has, which are
// only known when a run begins. Modes whose entries are dropped share the path of those that write, up to the
// disk: the difference between the two is what writing costs.
func modes(alleria, configs string) []mode {
	record := func(name, about string, after func(string) (volume, error), flags ...string) mode {
		return mode{name: name, about: about, after: after, command: func(program []string, dir string) []string {
			argv := []string{alleria, "record", "-q"}
			for _, f := range flags {
				switch f {
				case "DIR":
					f = filepath.Join(dir, "run")
				case "LOG":
					f = filepath.Join(dir, logFile)
				case "KEPT":
					f = filepath.Join(dir, "kept")
				}
				argv = append(argv, f)
			}
			return append(append(argv, "--"), program...)
		}}
	}
	addresses := []string{"--select", "any", "--fields", "address"}
	all := []string{"--select", "any", "--fields", "time,function,address,value"}
	windowed := func(file string) []string {
		return []string{"-c", filepath.Join(configs, file), "--discard", "--log", "LOG"}
	}
	only := func(program string, m mode) mode {
		m.only = program
		return m
	}
	inPairs := func(m mode) mode {
		m.paired, m.used = true, usedOf
		return m
	}
	translate := record("translate", "translation alone", nil, "--only", "translate")
	dropped := record("addresses", "every block and address, entries dropped", nil, append(addresses, "--discard")...)
	ours := []mode{
		{name: nativeMode, about: "the program by itself", command: func(p []string, _ string) []string { return p }},
		inPairs(record("armed", "no window open; Call, Return, Load and Time armed, none of which comes", nil, windowed("armed.xml")...)),
		record("counting", "no window open, Instructions armed", nil, windowed("counting.xml")...),
		only(callsProgram, record("toggled", "a window opened and closed at each call, recording nothing", nil, windowed("toggled.xml")...)),
		only(callsProgram, record("closed", "a window that would open at a call that is never reached", nil, windowed("closed.xml")...)),
		only(callsProgram, record("threshold", "a window that opens at each millionth call", nil, windowed("threshold.xml")...)),
		only(armingProgram, record(armingProgram, "50,000 functions armed at once, what a call stands for one of them", nil, windowed("arming.xml")...)),
		only(buildProgram, record("followed", "every process followed, nothing recorded", nil, windowed("followed.xml")...)),
		only(buildProgram, straceChildren()),
		translate,
		counting(alleria),
		record("blocks", "every basic block, entries dropped", nil, "--only", "blocks", "--discard"),
		dropped,
		record("disk", "every block and address to disk", recorded, append(addresses, "-o", "DIR")...),
		record("all", "instructions, addresses, values and time to disk", recorded, append(all, "-o", "DIR")...),
	}
	ours = append(ours, pools(record, addresses)...)
	ours = append(append(ours, crowded(translate)...), firstRuns(record, addresses)...)
	ours = append(ours, several(translate, dropped)...)
	ours = append(ours, figures(record, addresses)...)
	ours = append(append(ours, analysisModes(record)...), readingMode(alleria, record, addresses))
	ours = append(ours, accuracyModes(alleria, record)...)
	ours = append(ours, tools(alleria)...)
	ours = append(ours, capturedModes(alleria, configs)...)
	return append(ours, rivals()...)
}

// firstRuns are modes whose runs find nothing that an earlier one has kept, and keep what they translate.
func firstRuns(record recorder, addresses []string) []mode {
	translate := record("translate-first", "translation alone, a program's first run", nil, "--only", "translate", "--cache", "KEPT")
	dropped := record("addresses-first", "every block and address, entries dropped, a program's first run", nil, append(slices.Clone(addresses), "--discard", "--cache", "KEPT")...)
	translate.first, dropped.first = true, true
	return []mode{translate, dropped}
}

// counting is the one mode that is not quiet: counts are what it prints.
// It has no output directory: counting writes no profile.
func counting(alleria string) mode {
	return mode{name: "count", about: "exact instruction counts", told: counted, command: func(program []string, _ string) []string {
		return append([]string{alleria, "record", "--only", "count", "--"}, program...)
	}}
}

// counted adds up the processes' counts in what record --only count prints.
// The lines are those that users see: a change of their wording must be followed
// here, or the mode has no counts.
func counted(messages string) (v volume) {
	for line := range strings.Lines(messages) {
		var process, n uint64
		if _, err := fmt.Sscanf(line, "process %d: %d instructions", &process, &n); err == nil {
			v.instructions += n
		}
	}
	return v
}

// recorded reads a run's counts, and the size of everything that it wrote.
func recorded(dir string) (v volume, err error) {
	run, err := abp.ReadRun(filepath.Join(dir, "run"))
	if err != nil {
		return v, err
	}
	for _, p := range run.Processes {
		v.instructions += p.Instructions
	}
	if run.Costs != nil {
		v.cache = run.Costs.CacheMemory
	}
	v.bytes, err = sizeOf(dir)
	return v, err
}

// sizeOf adds up everything that a run wrote, but for the program's own
// output.
// Tables and indices count as well as frames: it is what the disk has to hold.
func sizeOf(dir string) (sum uint64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "stdout" {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += uint64(info.Size())
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("size of the output: %w", err)
	}
	return sum, nil
}

// freshDir empties the directory of a run.
// Nothing but this program's own runs is ever below that directory.
func freshDir(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o755)
}
