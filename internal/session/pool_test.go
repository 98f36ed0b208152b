package session

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"alleria/abp"
	"alleria/analysis/live"
	"alleria/config"
	"alleria/emit"
	"alleria/internal/records"
)

// panicBeside records a program beside which two analyses run, and has a processing thread panic the nth time that it is handed something. Times is how often one was.
func panicBeside(t *testing.T, n int64, keep bool) (dir string, status int, times int64, err error) {
	t.Helper()
	program, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	specs, err := live.Parse("heatmap,methods")
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "out")
	var handed atomic.Int64
	status, err = Record(context.Background(), Options{Program: program, Args: []string{program}, Dir: t.TempDir(), Outputs: []string{dir},
		Beside: Beside{Analyses: specs, KeepRecords: keep}, Processing: Processing{FixedThreads: 2, fault: func(int, uint64) {
			if handed.Add(1) == n {
				panic("as the test has it")
			}
		}}})
	return dir, status, handed.Load(), err
}

// TestPanicBeside has a processing thread panic outside of the analyses that it makes: the program ends as ever, and no result is given
// out that lacks what was lost.
func TestPanicBeside(t *testing.T) {
	dir, status, _, err := panicBeside(t, 1, false)
	if status != 0 || !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), "records were lost: panic: as the test has it") {
		t.Errorf("status %d, %v", status, err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "p1", "analysis-*")); len(names) != 0 {
		t.Errorf("results %q", names)
	}
	missing := 0
	if err := live.Verify(dir, func(p abp.Problem) {
		if missing++; !p.CutOff {
			t.Errorf("%+v", p)
		}
	}); err != nil || missing != 2 {
		t.Errorf("%d results are said to be missing, %v", missing, err)
	}
}

// TestPanicBesideWritten has the same happen where records are written as well: in a panic either analyses or frames have lost something,
// never both, and it is told.
func TestPanicBesideWritten(t *testing.T) {
	analysed, written := 0, 0
	for at := int64(1); at <= 4; at++ {
		dir, status, times, err := panicBeside(t, at, true)
		if times < at { // how often records are handed over goes by how fast they come
			break
		}
		if status != 0 || !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), "panic: as the test has it") {
			t.Errorf("status %d, %v", status, err)
		}
		problems, gaps := 0, 0
		if err := abp.Verify(dir, func(p abp.Problem) {
			if !p.CutOff {
				t.Errorf("%+v", p)
			}
			if problems++; filepath.Base(p.Path) != abp.RunFile { // which says that the recording is incomplete
				gaps++
			}
		}); err != nil {
			t.Error(err)
		}
		// The end of a thread's records has no frame behind it that would show that it is missing: run.json and the message say it.
		lost := err != nil && strings.Contains(err.Error(), "could not be written")
		switch names, _ := filepath.Glob(filepath.Join(dir, "p1", "analysis-*")); {
		case len(names) == 0 && gaps == 0 && !lost:
			analysed++
		case len(names) == 2 && lost && problems > 0:
			written++
		default:
			t.Errorf("results %q and %d problems of the profile, %d of them gaps: %v", names, problems, gaps, err)
		}
	}
	t.Logf("the analyses' %d times, the profile's %d times", analysed, written)
}

// TestLostWithoutInstructions: a frame that is lost is told of also where no instruction was in it, since readers miss it.
func TestLostWithoutInstructions(t *testing.T) {
	out, err := emit.NewRun(emit.Options{Dirs: []string{filepath.Join(t.TempDir(), "run")}}, abp.Run{Tool: "test"})
	if err != nil {
		t.Fatal(err)
	}
	w, err := out.NewProcess(abp.Header{Process: 1, TSCFrequency: 1e9}, new(records.Blocks))
	if err != nil {
		t.Fatal(err)
	}
	r := &run{emit: out, opts: &Options{}}
	if err := r.lostWith(nil); err != nil {
		t.Error(err)
	}
	w.StreamOf(0).Lose(1, emit.Place{}, emit.Place{Word: 1}, nil)
	if err := r.lostWith(nil); !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), "1 frame without an instruction") {
		t.Error(err)
	}
	if err := errors.Join(w.Close(abp.EndInfo{Ended: 1}), out.Finish(abp.Outcome{State: abp.OutcomeCutOff})); err != nil {
		t.Error(err)
	}
}

// TestPanic has a processing thread panic in the middle of a recording: the program ends as ever, others go on, and what is recorded
// and what is lost are together what there was.
func TestPanic(t *testing.T) {
	program := filepath.Join(t.TempDir(), "twelve")
	if out, err := exec.Command("gcc", "-O1", "-pthread", "-o", program, "../../testdata/adaptive/twelve.c").CombinedOutput(); err != nil {
		t.Skipf("no compiler: %v, %s", err, out)
	}
	// Of a program with threads a part differs from run to run, not what they touch.
	cfg, _, err := config.Parse("test", []byte(`<AlleriaConfig version="1.0"><Window><Profile><Process><Thread><Image main="true"><Function name="touch"><Instruction cat="any"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`))
	if err != nil {
		t.Fatal(err)
	}
	record := func(name string, fault func(int, uint64)) (abp.Run, error) {
		dir := filepath.Join(t.TempDir(), name)
		o := Options{Program: program, Args: []string{program, "1", "60000", "512"}, Dir: t.TempDir(), Outputs: []string{dir}, Config: cfg,
			Processing: Processing{BufferChunk: 16 << 10, FixedThreads: 2, fault: fault}}
		stdout := os.Stdout
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		os.Stdout = null // the program's own
		status, err := Record(context.Background(), o)
		os.Stdout = stdout
		null.Close()
		if status != 0 {
			t.Errorf("%s: status %d", name, status)
		}
		run, rerr := abp.ReadRun(dir)
		if rerr != nil {
			t.Fatal(rerr)
		}
		corrupt := 0
		if verr := abp.Verify(dir, func(p abp.Problem) {
			if !p.CutOff {
				corrupt++
				t.Errorf("%s: %v", name, p)
			}
		}); verr != nil {
			t.Error(verr)
		}
		return *run, err
	}
	var chunks atomic.Int64
	whole, err := record("whole", func(int, uint64) { chunks.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	var panics atomic.Int64
	broken, err := record("broken", func(thread int, _ uint64) {
		if thread == 0 && panics.Add(1) == chunks.Load()/8 {
			panic("as the test has it")
		}
	})
	if panics.Load() < chunks.Load()/8 {
		t.Skip("the first processing thread was not given enough chunks")
	}
	p := broken.Processes[0]
	if !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), "as the test has it") || strings.Contains(err.Error(), "goroutine") {
		t.Errorf("error %v", err)
	}
	// That nothing is lost but half a record happens, on a machine that has no time for the processing threads.
	if p.Instructions == 0 || broken.Outcome.State != abp.OutcomeCutOff {
		t.Errorf("%d instructions, %d lost, %+v", p.Instructions, p.LostInstructions, broken.Outcome)
	}
	if len(broken.Notes) == 0 || !strings.Contains(strings.Join(broken.Notes, "\n"), "others went on") {
		t.Errorf("notes %q", broken.Notes)
	}
	if all, want := p.Instructions+p.LostInstructions, whole.Processes[0].Instructions; all != want {
		t.Errorf("%d instructions recorded and %d lost, %d without a panic", p.Instructions, p.LostInstructions, want)
	}
}
