package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"alleria/abp"
)

// TestBurstsByTime: between bursts a program runs natively, and what they stand for is its processor time. Of two functions that have as much of it
// each has half, though one executes several times as many instructions; counted, that one has most.
func TestBurstsByTime(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/pace.c", "-O1")
	share := func(out string, flags ...string) (quick float64, bursts, byTime uint64) {
		rep := burstsReport(t, dir, out, burstsConfigOf(t, ""), prog, flags...)
		var all, fast float64
		for _, f := range rep.Functions {
			if f.Name == "quick" {
				fast += float64(f.Instructions)
			}
			if f.Name == "quick" || f.Name == "slow" {
				all += float64(f.Instructions)
			}
		}
		if all == 0 || rep.Sampling == nil {
			t.Fatalf("%s: nothing was recorded of the functions", out)
		}
		return fast / all, rep.Sampling.Bursts, rep.Sampling.ByTime
	}
	counted, _, ns := share("counted", "--sample-rate", "2%")
	if ns != 0 {
		t.Errorf("bursts by instructions stand for %d ns", ns)
	}
	// As many bursts as there can be: with thirty, a share of half is off by a tenth.
	timed, bursts, ns := share("timed", "--sample-rate", "2%", "--sample-by", "time", "--engine", "unbound-bursts,no-long-bursts")
	if timed < 0.25 || timed > 0.75 || counted < timed+0.03 { // by how much goes by the processor: 0.69 to 0.9 of the instructions
		t.Errorf("quick has %.2f of the time, and %.2f of the instructions", timed, counted)
	}
	if bursts < 10 {
		t.Errorf("%d bursts", bursts)
	}
	run, err := abp.ReadRun(filepath.Join(dir, "timed"))
	if err != nil {
		t.Fatal(err)
	}
	cpu := run.Costs.TargetUserSeconds + run.Costs.TargetSystemSeconds
	if s := float64(ns) / 1e9; s < 0.5*cpu || s > 1.05*cpu || run.Costs.NativeSeconds == 0 {
		t.Errorf("bursts stand for %.3f s, the program has used %.3f, %.3f of the run natively", s, cpu, run.Costs.NativeSeconds)
	}
}

// TestBurstsByTimeSwitches: bursts end exactly where they are to, their instructions being counted in one word; with several they end before by what is not worth
// another question. They are halved up to four times, and doubled up to twice. The shares of time are the same with either, and where bursts stay short, or come as often whatever they take.
func TestBurstsByTimeSwitches(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/pace.c", "-O1")
	for out, flags := range map[string][]string{"usual": nil, "unbound": {"--engine", "unbound-bursts"}, "spread": {"--engine", "spread-bursts,no-long-bursts"}} {
		if out == "unbound" && !*every { // TestBurstsByTime has it
			continue
		}
		rep := burstsReport(t, dir, out, burstsConfigOf(t, ""), prog, append(flags, "--sample-rate", "2%", "--sample-by", "time")...)
		of := map[string]float64{}
		for _, f := range rep.Functions {
			of[f.Name] += float64(f.Instructions)
		}
		if part := of["quick"] / (of["quick"] + of["slow"]); !(part > 0.2 && part < 0.8) {
			t.Errorf("%s: quick has %.2f of the time", out, part)
		}
		p, err := abp.Open(filepath.Join(dir, out))
		if err != nil {
			t.Fatal(err)
		}
		exact, rows := 0, p.Processes()[0].Strata()
		for _, row := range rows[:len(rows)-1] { // the last may end with the program
			const shortest = 600_000 >> 4
			length := float64(row.Recorded) / float64(row.Bursts)
			for n := float64(shortest); n <= 4*16*shortest; n *= 2 {
				if length > n-100 && length <= n+100 {
					exact++
				}
			}
		}
		if n := len(rows) - 1; n < 2 || out != "spread" && exact < n || out == "spread" && exact == n {
			t.Errorf("%s: of %d rows %d have bursts as long as they are to be", out, n, exact)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// burstsConfigOf records every instruction, and nothing else but a profile's attributes.
func burstsConfigOf(t *testing.T, profile string) string {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "bursts.xml")
	text := `<AlleriaConfig version="1.0"><Window><Profile` + profile + `><Process><Thread><Image><Function>` +
		`<Instruction cat="any" accessAddressAndSize="true"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return conf
}

// TestBurstsByTimeBeside has programs with threads, children, programs that they execute, signals and generated code run so: they do as natively, and
// what is recorded is sound.
func TestBurstsByTimeBeside(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"threads-exec.c", "children-threads.c", "exec-self.c", "exceptions.cc"} {
		prog := build(t, "../../testdata/programs/"+file, "")
		dir := workDir(t)
		native := run(t, command{argv: []string{prog}, dir: dir})
		r := run(t, command{argv: []string{alleria(), "-q", "record", "--sample-rate", "20%", "--sample-by", "time", "-o", "out", "--", prog}, dir: dir})
		same(t, native, r)
		if v := run(t, command{argv: []string{alleria(), "verify", "out"}, dir: dir}); v.status != 0 {
			t.Errorf("%s: verify: %s%s", file, clip(v.stdout), clip(v.stderr))
		}
	}
}

// TestBurstsByTimeRefused: what has to be counted or listened for cannot be, natively.
func TestBurstsByTimeRefused(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	conf := burstsConfig(t, "")
	events := filepath.Join(t.TempDir(), "count.xml")
	text := `<AlleriaConfig version="1.0"><Window><On><Instructions threshold="1000"/></On><Profile><Process/></Profile></Window></AlleriaConfig>`
	if err := os.WriteFile(events, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, flags := range map[string][]string{
		"give a rate":     {"--sample-by", "time"},
		"not auto":        {"--sample-by", "time", "--sample-rate", "auto"},
		"system calls":    {"--sample-by", "time", "--sample-rate", "5%", "-c", conf},
		"a number of":     {"--sample-by", "time", "--sample-rate", "5%", "-c", events},
		"is instructions": {"--sample-by", "luck", "--sample-rate", "5%"},
	} {
		r := run(t, command{argv: append(append([]string{alleria(), "record"}, flags...), "--", "/bin/true"), dir: dir})
		if r.status != 2 || !strings.Contains(string(r.stderr), want) {
			t.Errorf("%v: status %d, %s", flags, r.status, clip(r.stderr))
		}
	}
}
