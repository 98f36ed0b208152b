package acceptance

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"alleria/analysis"
)

const mixFlags = "-O2 -static -nostdlib -fno-stack-protector -fno-tree-vectorize"

// burstsReport records a program and returns what report says of its one process.
func burstsReport(t *testing.T, dir, out, conf, prog string, flags ...string) *analysis.ProcessReport {
	t.Helper()
	argv := append([]string{alleria(), "-q", "record", "-c", conf, "-o", out}, flags...)
	native := run(t, command{argv: []string{prog}, dir: dir})
	if r := run(t, command{argv: append(argv, "--", prog), dir: dir}); r.status != native.status {
		t.Fatalf("status %d, natively %d\n%s", r.status, native.status, clip(r.stderr))
	}
	if r := run(t, command{argv: []string{alleria(), "verify", out}, dir: dir}); r.status != 0 {
		t.Fatalf("verify: %s%s", clip(r.stdout), clip(r.stderr))
	}
	r := run(t, command{argv: []string{alleria(), "report", "--json", out}, dir: dir})
	var rep analysis.Report
	if err := json.Unmarshal(r.stdout, &rep); err != nil || len(rep.Processes) != 1 {
		t.Fatalf("report: %v, %d processes\n%s", err, len(rep.Processes), clip(r.stderr))
	}
	return &rep.Processes[0]
}

// burstsConfig records every instruction, accesses and system calls.
func burstsConfig(t *testing.T, profile string) string {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "bursts.xml")
	text := `<AlleriaConfig version="1.0"><Window><Profile` + profile + `><Process><Thread syscalls="true"><Image><Function>` +
		`<Instruction cat="any" accessAddressAndSize="true"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return conf
}

// TestBursts records a part of a program's instructions and compares what is estimated of it with what it executes:
// how many instructions were recorded and passed over together, exactly; functions and accesses within 5 %,
// or what report says of the error, since a busy machine leaves many bursts out.
func TestBursts(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/mix.c", mixFlags)
	whole := burstsReport(t, dir, "whole", burstsConfig(t, ""), prog)
	for name, part := range map[string]*analysis.ProcessReport{
		"flag":      burstsReport(t, dir, "flag", burstsConfig(t, ""), prog, "--sample-rate", "10%"),
		"attribute": burstsReport(t, dir, "attribute", burstsConfig(t, ` sampleRate="1/5"`), prog),
		"auto":      burstsReport(t, dir, "auto", burstsConfig(t, ""), prog, "--sample-rate", "auto"),
	} {
		s := part.Sampling
		if s == nil {
			t.Errorf("%s: not sampled", name)
			continue
		}
		if s.Recorded+s.Passed != whole.Instructions {
			t.Errorf("%s: %d instructions recorded and %d passed over; there are %d", name, s.Recorded, s.Passed, whole.Instructions)
		}
		if len(part.PerThread) != 1 || part.Threads != 1 || part.PerThread[0].Counts != part.Counts { // though frames are attributed one by one
			t.Errorf("%s: threads %+v of a process with %+v", name, part.PerThread, part.Counts)
		}
		if s.Bursts == 0 || name != "auto" && s.Recorded > whole.Instructions/4 {
			t.Errorf("%s: %d of %d instructions recorded", name, s.Recorded, whole.Instructions)
		}
		near := func(what string, got, want uint64, within float64) {
			if off := float64(got)/float64(want) - 1; math.Abs(off) > within {
				t.Errorf("%s: %s: %d, there are %d (%+.1f %%)", name, what, got, want, 100*off)
			}
		}
		if len(part.Syscalls) != 2 || part.Syscalls[0].Calls != whole.Syscalls[0].Calls {
			t.Errorf("%s: system calls %+v, there are %+v", name, part.Syscalls, whole.Syscalls)
		}
		if name == "auto" { // how much it records, and how well, is the machine's to say
			continue
		}
		near("instructions", part.Instructions, whole.Instructions, max(0.01, s.Error))
		near("loads", part.Loads, whole.Loads, max(0.05, s.Error))
		near("stores", part.Stores, whole.Stores, max(0.05, s.Error))
		for _, f := range whole.Functions {
			for _, g := range part.Functions {
				if f.Name == g.Name && f.Instructions*20 > whole.Instructions {
					near(f.Name, g.Instructions, f.Instructions, max(0.05, g.Error))
				}
			}
		}
	}
}

// TestBurstsOverwritten gives a thread that is not to wait a ring that is much too small: it overwrites its records instead of waiting. What
// it has lost is counted, the profile is whole, and no row of a system call is lost.
func TestBurstsOverwritten(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/mix.c", mixFlags+" -DROUNDS=500")
	whole := burstsReport(t, dir, "whole", burstsConfig(t, ""), prog)
	part := burstsReport(t, dir, "part", burstsConfig(t, ""), prog, "--sample-rate", "99%", "--engine", "overwrite-bursts", "--buffer-chunk", "16K", "--buffer-max", "32K")
	s := part.Sampling
	if s == nil || s.Lost == 0 || s.LostWords == 0 {
		t.Fatalf("nothing was overwritten: %+v", s)
	}
	if s.Recorded+s.Passed != whole.Instructions {
		t.Errorf("%d instructions recorded and %d passed over; there are %d", s.Recorded, s.Passed, whole.Instructions)
	}
	// 500 rounds, every tenth with a call, and the exit.
	var calls uint64
	for _, c := range part.Syscalls {
		calls += c.Calls
	}
	if calls != 51 {
		t.Errorf("%d system calls, there are 51", calls)
	}
	if off := float64(part.Instructions)/float64(whole.Instructions) - 1; math.Abs(off) > 0.2 {
		t.Errorf("estimated %d instructions, there are %d", part.Instructions, whole.Instructions)
	}
	// Without marks that last words of all would do as well: the words there are and those that were lost are more than
	// a ring holds.
	if s.Words+s.LostWords < 32<<10/8 {
		t.Errorf("%d words, and %d lost", s.Words, s.LostWords)
	}
}
