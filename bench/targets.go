package main

// target is what a mode must reach on a program, and what it reaches for, as
// slowdowns and as bytes an instruction; 0: no such figure.
type target struct {
	must, reach           float64
	mustBytes, reachBytes float64
	// Bytes of memory: of the tool besides its rings, and of the target beyond what
	// it needs natively.
	mustMemory, mustTarget uint64
}

// What every program may take to be recorded; it is asked for on cc1, the one with
// the most code.
const (
	mustMemory = 128 << 20
	mustTarget = 64 << 20
)

// standIn holds slowdowns of the rivals as measured once on one machine. They
// stand for a rival that is not installed; one that is replaces them.
// The last is bytes an instruction; the others are ratios.
type standIn struct{ dr, inscount, addresses, disk, diskBytes float64 }

// standIns gives them by program; those that are not listed have no figures
// to reach.
// The machine had two processors; DynamoRIO's better setting is taken for each.
func standIns() map[string]standIn {
	return map[string]standIn{
		"bzip2":   {1.05, 2.5, 7.6, 38, 1.01},
		"gzip":    {1.05, 2.8, 5.2, 23, 0.86},
		"sqlite3": {3.4, 5.7, 12, 56, 0.47},
		"python3": {2.1, 6.0, 21, 72, 0.65},
		"cc1":     {2.4, 4.7, 19, 86, 0.95},
	}
}

// targetOf derives a mode's figures for a program. measured gives a rival's
// slowdown in this run, 0 where it was not run.
// A mode without a target, like blocks, is shown for what it is worth.
func targetOf(mode, program string, measured func(mode string) float64) target {
	s, known := standIns()[program]
	rival := func(stand float64, names ...string) float64 {
		best := 0.0
		for _, n := range names {
			if m := measured(n); m > 0 && (best == 0 || m < best) {
				best = m
			}
		}
		if best == 0 && known {
			best = stand
		}
		return best
	}
	if t, ok := besideTarget(mode, starts(program), measured); ok {
		return t
	}
	if t, ok := analysisTarget(mode, measured); ok {
		return t
	}
	if starts(program) && mode != "armed" {
		return startTarget(mode, measured, rival)
	}
	if program == buildProgram && mode != "armed" {
		return buildTarget(mode, rival(0, "dr", "dr-notrace"))
	}
	switch mode {
	case "armed":
		return target{must: 1.01, reach: 1}
	case "counting":
		return map[string]target{"bzip2": {must: 1.5}, "python3": {must: 2.5}}[program]
	case "translate":
		return translateTarget(program, rival(s.dr, "dr", "dr-notrace"))
	case "count":
		dr := rival(s.inscount, "dr-inscount", "dr-inscount-nt")
		return target{must: dr / 3, reach: 1.5}
	case "addresses":
		dr := rival(s.addresses, "dr-addresses")
		return target{must: dr / 2, reach: 2.5}
	case "disk":
		dr := rival(s.disk, "dr-disk")
		return target{must: dr / 4, reach: dr / 5, mustBytes: s.diskBytes / 2, reachBytes: 0.2, mustMemory: mustMemory, mustTarget: mustTarget}
	case "all":
		dr := rival(s.disk, "dr-disk")
		return target{must: dr, reach: dr / 2, mustBytes: 2, reachBytes: 1}
	}
	return target{}
}

// translateTarget is what a program must reach that is only translated; dr is DynamoRIO's slowdown.
func translateTarget(program string, dr float64) target {
	switch {
	case compiles(program):
		return target{must: mustCompiler, reach: reachCompiler}
	case program == "cc1":
		dr = min(dr, 2.3)
	}
	return target{must: dr}
}

// What less room may cost translation, and recording a start, each in terms of translation
// with all the room that there is.
const (
	mustBusy   = 2.5
	mustOne    = 1.3
	mustRecord = 1.5
	// Four recorders at once, of what they take one after the other; a program executed twice, of once.
	mustTogether = 1.2
	mustTwice    = 1.5
)

// startTarget is what programs must reach that only start and end.
func startTarget(mode string, measured func(string) float64, rival func(float64, ...string) float64) target {
	switch mode {
	case "translate":
		return target{must: rival(0, "dr", "dr-notrace")}
	case "addresses":
		return target{must: mustRecord * measured("translate")}
	}
	return target{}
}

// meanTarget is what the geometric mean over the programs must reach; only
// translation has one of its own.
// A mean over other programs than those five is another figure: the table shows it
// all the same.
func meanTarget(mode string) target {
	if mode == "translate" {
		return target{must: 1.8, reach: 1.3}
	}
	return target{}
}
