package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"alleria/abp"
	"alleria/abp/calls"
	"alleria/analysis/intercepts"
	"alleria/config"
	"alleria/internal/session"
)

// replayFlags are the options of alleria replay.
type replayFlags struct {
	call      uint64
	all       bool
	process   uint
	thread    uint
	functions []string
	output    string
	types     prototypeFlags
}

// replayCommand makes captured calls again.
func (a *app) replayCommand() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay PROFILE",
		Short: "Make captured calls again, in fresh processes, and record all that they do",
		Long: `replay starts the program of the profile again. Instead of main, it calls the captured function, with the captured
arguments; what they pointed to is put back at its address. Each memory access up to the function's return is
recorded into a profile. The result is compared with the captured one: if they differ, the function depends
on more than what was captured of its arguments: it is not pure, or reads what a pointer without a length leads to.

The exit status is 0 if all calls gave the same results as before, 1 if not.`,
		Args: oneProfile,
		RunE: func(_ *cobra.Command, args []string) error {
			if f.all == (f.call != 0) {
				return usagef("which call is meant? --call N, as alleria intercepts --json numbers them, or --all")
			}
			return a.openProfiles(args, func(profiles []*abp.Profile) error { return a.replay(profiles[0], &f) })
		},
	}
	fl := c.Flags()
	fl.Uint64Var(&f.call, "call", 0, "the call's `number` within its thread, from 1, as intercepts --json has it")
	fl.BoolVar(&f.all, "all", false, "make again all calls that --function, --process and --thread leave")
	fl.UintVar(&f.process, "process", 1, "only calls of this process, by `number`")
	fl.UintVar(&f.thread, "thread", 0, "only calls of this thread, by `number` (0: with --call the first, with --all any)")
	fl.StringArrayVar(&f.functions, "function", nil, "only calls of this `function`; * stands for anything; may be repeated")
	fl.StringVarP(&f.output, "output", "o", "", "`directory` for the profile, or with --all for one per call (PROFILE.replay)")
	f.types.register(fl)
	return c
}

// replayed is a call to be made again with what is needed for it.
type replayed struct {
	process *abp.Process
	calls   *abp.Calls
	call    *calls.Call
	config  *config.Config // what it was captured with
}

// replay makes the calls again that the flags mean.
func (a *app) replay(p *abp.Profile, f *replayFlags) error {
	proc := p.Process(uint32(f.process))
	if proc == nil {
		return usagef("%s has no process %d", p.Path(), f.process)
	}
	c, err := proc.Calls()
	if err != nil {
		return err
	}
	if c == nil {
		return usagef("%s: no calls of process %d were captured", p.Path(), f.process)
	}
	defer func() { _ = c.Close() }() // read only
	cfg, _, err := config.Load(filepath.Join(p.Path(), "window.xml"))
	if err != nil {
		return fmt.Errorf("the configuration that the calls were captured with: %w", err)
	}
	if f.output == "" {
		f.output = filepath.Clean(p.Path()) + ".replay"
	}
	q := &intercepts.Query{Functions: f.functions}
	if f.thread == 0 && !f.all {
		f.thread = 1
	}
	if f.thread != 0 {
		q.Threads = []uint32{uint32(f.thread)}
	}
	n, differ := 0, 0
	err = intercepts.EachOf(proc, c, q, false, func(i *intercepts.Item) error {
		if !f.all && i.Call.Number != f.call {
			return nil
		}
		n++
		dir := f.output
		if f.all {
			dir = filepath.Join(f.output, fmt.Sprintf("call-%d-%d", i.Call.Thread, i.Call.Number))
		}
		same, err := a.replayTried(p, &replayed{proc, c, i.Call, cfg}, f, dir)
		if !same {
			differ++
		}
		if err != nil {
			fmt.Fprintf(a.stderr, "alleria: call %d of thread %d, %s: %v\n", i.Call.Number, i.Call.Thread, i.Call.Sig.Name, err)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case n == 0:
		return usagef("%s: there is no such call; alleria intercepts --json has their numbers", p.Path())
	case f.all:
		fmt.Fprintf(a.stdout, "%d calls, %d of them as before\n", n, n-differ)
	}
	if differ > 0 {
		return &statusError{status: 1}
	}
	return nil
}

// replayTries is how often a call is tried: where memory lies in a new process is chance, and the captured addresses may be taken.
const replayTries = 4

// replayTried is replayOne, again if the process could not be brought to the call.
func (a *app) replayTried(p *abp.Profile, r *replayed, f *replayFlags, dir string) (same bool, err error) {
	if _, err := os.Stat(dir); err == nil {
		return false, fmt.Errorf("%s exists; name another directory with -o", dir)
	}
	for range replayTries {
		same, err = a.replayOne(p, r, f, dir)
		if !errors.Is(err, session.ErrReplay) {
			break
		}
		if rerr := os.RemoveAll(dir); rerr != nil {
			return false, errors.Join(err, rerr)
		}
		if !errors.Is(err, session.ErrInUse) {
			break // it would be no different
		}
	}
	return same, err
}

// replayOne makes a call again and tells whether it gave what it gave before.
func (a *app) replayOne(p *abp.Profile, r *replayed, f *replayFlags, dir string) (bool, error) {
	switch {
	case r.call.End != calls.Returned:
		return false, fmt.Errorf("it is %q: there is nothing to compare with", r.call.End)
	case slices.ContainsFunc(r.call.Changes, func(c calls.Change) bool { return c.How != calls.Told }):
		return false, errors.New("its values were changed while it was captured")
	}
	cfg, err := r.recording()
	if err != nil {
		return false, err
	}
	opts := session.Options{Args: p.Run().Command, Tool: "alleria " + version, Config: cfg, ConfigFrom: "replay", Outputs: []string{dir}, Messages: io.Discard}
	for i := range r.process.Images() {
		if im := &r.process.Images()[i]; im.Main {
			opts.Program = im.Path
		}
	}
	if _, err := os.Stat(opts.Program); err != nil {
		return false, fmt.Errorf("the program: %w", err)
	}
	if opts.Declarations, err = f.types.load(); err != nil {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return false, err
	}
	opts.Replay = &session.Replay{Call: r.call, Table: r.calls.Table, Images: r.process.Images()}
	if _, err := session.Record(context.Background(), opts); err != nil {
		return false, err
	}
	if opts.Replay.Err != nil {
		return false, opts.Replay.Err
	}
	return a.compareReplay(r, opts.Replay, dir)
}

// recording is the configuration that records the function's call by main's caller.
func (r *replayed) recording() (*config.Config, error) {
	sig := r.call.Sig
	key := config.FuncKey{Linked: sig.Linked, Demangled: sig.Name}
	var ic *config.Intercept
	for _, w := range r.config.Windows {
		for i := range w.Profile.AllImages() {
			for _, f := range i.Functions {
				if f.Intercept != nil && (f.Type != "" || f.Matches(key)) && ic == nil {
					ic = f.Intercept
				}
			}
		}
	}
	if ic == nil {
		return nil, fmt.Errorf("the profile's configuration has no Intercept for %s", sig.Name)
	}
	plain := *ic
	plain.Fail, plain.FailProbability, plain.Result, plain.Seed, plain.Parameters = "", config.Rate{}, nil, 0, nil
	for _, q := range ic.Parameters {
		p := *q
		p.Set = nil
		plain.Parameters = append(plain.Parameters, &p)
	}
	all := config.Default().Windows[0].Profile.Processes[0].Threads[0].Images[0].Functions[0].Instructions
	w := &config.Window{Name: "replay", On: &config.Event{Kind: config.EventCall, Name: "main"}, Profile: &config.Profile{Processes: []*config.Process{{N: 1, Threads: []*config.Thread{{Images: []*config.Image{
		{Path: sig.Image, Functions: []*config.Function{{Instructions: all}, {Name: sig.Name, Instructions: all, Intercept: &plain}}},
		{Functions: []*config.Function{{Instructions: all}}}}}}}}}}
	w.Till = &config.Event{Kind: config.EventReturn, Name: sig.Linked, Decorated: true, ImagePath: sig.Image}
	c, _, err := config.Parse("(replay)", (&config.Config{Types: r.config.Types, Windows: []*config.Window{w}}).XML())
	return c, err
}

// compareReplay compares what the call gave with what it gave before.
func (a *app) compareReplay(r *replayed, made *session.Replay, dir string) (bool, error) {
	p, err := abp.Open(dir)
	if err != nil {
		return false, err
	}
	defer func() { _ = p.Close() }() // read only
	proc := p.Process(1)
	if proc == nil {
		return false, fmt.Errorf("%s has no process", dir)
	}
	var again string
	err = intercepts.Each(proc, &intercepts.Query{}, false, func(i *intercepts.Item) error {
		if i.Call.SP == made.SP && i.Call.Sig.Linked == r.call.Sig.Linked && again == "" {
			again = string(calls.Format{}.AppendExit(nil, i.Call, i.Calls.Table))
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	before := string(calls.Format{}.AppendExit(nil, r.call, r.calls.Table))
	entry := string(calls.Format{Elements: 32, Bytes: 200}.AppendEntry(nil, r.call, r.calls.Table))
	if again == "" {
		return false, errors.New("it has not returned to main's caller")
	}
	counts := p.Counts()
	if again != before {
		fmt.Fprintf(a.stdout, "%s %s, before %s: it depends on more than what was captured of its arguments; %s has its %d accesses\n", entry, again, before, dir, counts.Loads+counts.Stores)
		return false, nil
	}
	fmt.Fprintf(a.stdout, "%s %s, as before; %s has its %d accesses\n", entry, again, dir, counts.Loads+counts.Stores)
	return true, nil
}
