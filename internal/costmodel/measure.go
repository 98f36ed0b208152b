package costmodel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"alleria/abp"
	"alleria/internal/sys"
)

// Options say what is measured.
type Options struct {
	Program []string // and its arguments
	Record  []string // alleria record, with what analyses and records as the user wants it, without "--"
	// Sequential is the same in the form that works in the program's threads; nil: there is none.
	Sequential []string
	Rounds     int    // runs of each kind, by turns
	Dir        string // for outputs, one at a time
	Step       func(done, of int)
}

// kind is one way of running the program.
type kind struct {
	name  string
	argv  []string // before the program; nil: it runs by itself
	bound bool     // on one processor
	to    *Run
}

// produceFlags: two chunks of 32 KiB, of which one is written over and over, all but the last 8 KiB. Half as large ones would have a producer wait
// for room as soon as there is a mark in the open one, which must stay.
func produceFlags() []string {
	return []string{"--stage", "produce", "--ptc", "1", "--bs", "32", "--bc", "2"}
}

// Measure runs the program in all ways.
func Measure(ctx context.Context, o Options) (*Runs, error) {
	r := &Runs{}
	with := func(flags ...string) []string { return append(o.Record[:len(o.Record):len(o.Record)], flags...) }
	kinds := []kind{
		{"by itself", nil, false, &r.Native},
		{"with events that are dropped", with(produceFlags()...), false, &r.Produced},
		{"with events that are handed over", with("--stage", "queue", "--ptc", "1"), false, &r.Queued},
		{"with the analysis beside it", with(), false, &r.Beside},
		{"with the analysis while it waits", with("--ptc", "0"), false, &r.Alone},
		{"with the analysis while it waits, on one processor", with("--ptc", "0"), true, &r.Within},
	}
	if o.Sequential != nil {
		r.Sequential = &Run{}
		kinds = append(kinds, kind{"with the analysis in its own threads", o.Sequential, false, r.Sequential})
	}
	status := -1
	for round := range o.Rounds {
		for i, k := range kinds {
			if o.Step != nil {
				o.Step(round*len(kinds)+i, o.Rounds*len(kinds))
			}
			got, exit, err := o.run(ctx, k, r)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", o.Program[0], k.name, err)
			}
			if status < 0 {
				status = exit
			}
			if exit != status {
				return nil, fmt.Errorf("%s %s ended with status %d, and with %d before: runs that do different things cannot be compared", o.Program[0], k.name, exit, status)
			}
			k.to.least(got)
		}
	}
	return r, nil
}

// run runs the program once. Its output goes nowhere and its input is empty: it is run many times.
func (o *Options) run(ctx context.Context, k kind, r *Runs) (got Run, exit int, err error) {
	argv, out := o.Program, filepath.Join(o.Dir, "run")
	if k.argv != nil {
		argv = append(append(k.argv[:len(k.argv):len(k.argv)], "-o", out, "--force", "-q", "--"), o.Program...)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var said bytes.Buffer
	if k.argv != nil {
		cmd.Stderr = &said // the program's own as well: what matters of it is at its end
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	sys.OwnSlack()
	if k.bound {
		undo, err := sys.Bind()
		if err != nil {
			return got, 0, err
		}
		defer func() { err = errors.Join(err, undo()) }()
	}
	began := time.Now()
	err = cmd.Run()
	got.Elapsed = time.Since(began)
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return got, 0, err
	}
	if ctx.Err() != nil {
		return got, 0, ctx.Err()
	}
	state := cmd.ProcessState
	if exit = state.ExitCode(); exit < 0 {
		return got, exit, fmt.Errorf("it ended by a signal (%v)", state)
	}
	if k.argv == nil {
		got.Target = state.UserTime() + state.SystemTime()
		return got, exit, nil
	}
	info, err := abp.ReadRun(out)
	if err != nil {
		return got, exit, fmt.Errorf("%w: %s", err, lastLine(said.Bytes()))
	}
	if info.Costs == nil || info.Outcome.State != abp.OutcomeComplete {
		return got, exit, fmt.Errorf("it was not recorded to its end: %s", info.Outcome.Reason)
	}
	c := info.Costs
	got.Target = seconds(c.TargetUserSeconds + c.TargetSystemSeconds)
	got.Processing = seconds(c.ProcessingSeconds)
	for _, p := range info.Processes {
		r.Threads = max(r.Threads, p.Threads)
	}
	r.Processes = max(r.Processes, len(info.Processes))
	return got, exit, os.RemoveAll(out)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// lastLine is what a command said last.
func lastLine(text []byte) string {
	text = bytes.TrimSpace(text)
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}
