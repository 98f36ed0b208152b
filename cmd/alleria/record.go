package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"alleria/analysis/live"
	"alleria/config"
	"alleria/config/quantity"
	"alleria/internal/session"
)

// recordFlags are the flags as written, before they are checked.
//
// opts is filled by check; what could be bound to it directly is. The texts are kept
// apart because a message has to quote what was typed.
type recordFlags struct {
	opts     session.Options
	window   windowFlags
	pool     poolFlags
	compress string
	chunk    string
	most     string
	maxSize  string
	maxTime  string
	maxIns   string
	rate     string
	by       string
	follow   string
	types    prototypeFlags
	analyses []string
	inline   bool
	cache    string
}

// recordCommand declares the flags. What they mean is checked in one place
// afterwards, so that messages name the flag and what would be right.
//
// Flags end at the program's name: what follows is the program's own, with or without "--"
// before it.
func (a *app) recordCommand() *cobra.Command {
	f := &recordFlags{}
	c := &cobra.Command{
		Use:   "record [flags] [--] PROGRAM [ARGUMENT...]",
		Short: "Run a program and record what a window configuration says",
		Long: `record runs PROGRAM and writes a profile of it.

A window configuration says what is recorded (--config; else alleria.config in
the working directory or the output directory; else every memory access of every
process). For a single window, the flags from --on-call to --fields say it. The
program's input, output, arguments and environment are its own. The exit status
is the program's, or 128+N if signal N ended it.`,
		Example: `  alleria record -- gzip -9 -k big.txt
  alleria record -c window.xml -o out -- python3 script.py
  alleria record --on-call compress --till-return compress -- ./tool
  alleria record --only count -- make -j4
  alleria record --analysis calltree,cache -- ./tool`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("no program is named: alleria record [flags] [--] PROGRAM [ARGUMENT...]")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.check(c.Flags()); err != nil {
				return err
			}
			return a.record(f, args)
		},
	}
	fl := c.Flags()
	fl.SetInterspersed(false) // flags behind the program's name are the program's
	o := &f.opts
	f.window.register(fl)
	f.directories(fl)
	fl.StringVar(&o.Only, "only", "", "`translate` (record nothing), count (instructions by process, thread and function) or blocks (no accesses)")
	fl.StringArrayVar(&f.analyses, "analysis", nil, "analyse beside the program instead of writing what it did: `names` separated by commas, each with options if wanted: methods, callgraph, calltree, paths, cache(l1d=48k,12,64;ll=off), coherence, reuse(sample=8192), strides, heatmap; results go into the output")
	fl.IntVar(&f.opts.Readers, "readers", 0, "with --analysis: the `number` of readers of what a thread has recorded; analyses that share a reader take turns (0: one for each analysis, as far as there are processors for them)")
	fl.BoolVar(&o.KeepRecords, "keep-records", false, "with --analysis: write the records into the output as well, as without it")
	fl.BoolVar(&f.inline, "sequential", false, "with --analysis: nothing runs beside the program. methods and callgraph by themselves are counted by code in the program's threads, without inclusive counts; for the others a thread waits while what it has done is analysed")
	fl.BoolVar(&o.Discard, "discard", false, "consume the entries and drop them")
	fl.StringVar(&f.follow, "follow", "all", "what to follow besides the program: `all` processes that it creates, as far as the configuration names them; none; threads (the same as none)")
	fl.StringVar(&f.cache, "cache", "", "`directory` in which translations of programs are kept for later runs, instead of $XDG_CACHE_HOME/alleria or ~/.cache/alleria; off: none are kept")
	fl.BoolVar(&o.Unpatched, "unpatched", false, "never put breakpoints or jumps into the program's code, for programs that check their code: while a window waits, the program runs in the code cache, not natively")
	fl.BoolVar(&o.NoASLR, "no-aslr", false, "switch off the program's address-space randomisation")
	fl.StringVar(&f.maxSize, "max-size", "", "stop recording when the profile has reached this many `bytes` (64K, 10M, 2G)")
	fl.StringVar(&f.maxTime, "max-time", "", "stop recording after this `time` (500ms, 10s)")
	fl.StringVar(&f.maxIns, "max-instructions", "", "stop recording after this many `instructions` (10k, 5M, 2G)")
	fl.StringVar(&f.rate, "sample-rate", "", "record only bursts, this `part` of all instructions (1%, 1/20, 0.05), or as much as the processing threads keep up with (auto: threads never wait then)")
	fl.StringVar(&f.by, "sample-by", "instructions", "place bursts by counted `instructions`, or by processor time, with the program running natively in between (time): counts are then shares of time")
	f.calls(fl)
	fl.StringVar(&f.compress, "compress", "", "compression `level` of the profile, 1 to 22, or off")
	fl.IntVar(&o.Threads, "threads", 0, "the most processing threads: their `number` grows to this where one does not keep up (0: one per processor)")
	f.pool.register(fl)
	f.hidden(fl)
	fl.StringVar(&f.chunk, "buffer-chunk", "", "`size` of a chunk of a buffer (64K …)")
	fl.StringVar(&f.most, "buffer-max", "", "largest `size` to which the buffer of a thread grows when the thread has to wait (32M)")
	fl.Var(&o.Buffering, "buffering", "how a thread hands its records to processing threads: cab, or for comparison another way (nway, fastforward, batched), whose buffers do not grow")
	return c
}

// directories declares the flags about where the profile goes.
func (f *recordFlags) directories(fl *pflag.FlagSet) {
	o := &f.opts
	fl.StringArrayVarP(&o.Outputs, "output", "o", nil, "output `directory`; several spread the streams over several disks")
	fl.BoolVar(&o.Sync, "sync", false, "at the end, wait until the profile is on its disks, and report what they refuse")
	fl.BoolVar(&o.Force, "force", false, "replace an output directory that exists")
}

// hidden declares the flags that are for measurements and comparisons.
func (f *recordFlags) hidden(fl *pflag.FlagSet) {
	fl.StringSliceVar(&f.opts.Engine, "engine", nil, "switch optimisations of the engine off by `name`, for comparison")
	fl.StringVar(&f.opts.Stage, "stage", "", "with --analysis: only produce events, or only produce and queue them, as alleria bench --model measures it (`produce`, queue)")
	fl.Uint64Var(&f.opts.SampleSeed, "sample-seed", 0, "with --sample-rate: place the bursts by this seed `number`")
	for _, name := range []string{"engine", "stage", "sample-seed"} {
		if err := fl.MarkHidden(name); err != nil {
			panic(err) // there is no such flag: a mistake above
		}
	}
}

// calls declares the flags about calls that are captured.
func (f *recordFlags) calls(fl *pflag.FlagSet) {
	f.types.register(fl)
	fl.BoolVar(&f.opts.AllowModify, "allow-modify", false, "let the configuration change arguments and results of calls, and make calls fail (set, fail); without it such a configuration is refused")
}

// record finds the program and hands over to the session, with flags that have been checked.
//
// Order matters: flags, program and configuration are checked before the output
// directory is made and before anything runs, each with an exit status of its own.
// From the session on, the exit status is the target's unless recording failed
// before the target could start.
func (a *app) record(f *recordFlags, args []string) error {
	opts := f.opts
	program, err := findProgram(args[0])
	if err != nil {
		return err
	}
	opts.Program, opts.Args, opts.Tool = program, args, "alleria "+version
	if opts.Config, opts.ConfigFrom, err = f.config(a.messages()); err != nil {
		return err
	}
	if opts.Declarations, err = f.types.load(); err != nil {
		return err
	}
	if f.rate != "" {
		r, err := config.ParseRate(f.rate)
		if err != nil {
			return usagef("--sample-rate: %w", err)
		}
		opts.Config.SetSampleRate(r)
	}
	// The session would refuse it too, but cannot know how mistakes in a file are
	// printed.
	if bad := opts.Config.Unsupported(); len(bad) > 0 && opts.Only == session.OnlyAll {
		return configError(config.Errors(bad))
	}
	if opts.Config.Changes() && !opts.AllowModify && opts.Only == session.OnlyAll {
		return configError(fmt.Errorf("%s changes values of the program while it runs (set or fail): --allow-modify allows that", opts.ConfigFrom))
	}
	log, err := a.openLog()
	if err != nil {
		return err
	}
	if log != nil {
		defer log.Close()
		opts.Log = log
	}
	opts.Messages, opts.Warnings, opts.Progress = a.messages(), a.stderr, a.progress()
	if opts.Kept, err = a.kept(f.cache, opts.Log); err != nil {
		return err
	}

	ctx, stop := session.Outlive()
	defer stop()
	exit, err := session.Record(ctx, opts)
	switch {
	case errors.Is(err, session.ErrIncomplete) && exit != 0:
		// The program ran to its end, and its failure matters more to scripts than
		// that of its recording.
		return &statusError{exit, err}
	case err != nil:
		return err
	case exit != 0:
		return &statusError{status: exit}
	}
	return nil
}

// config is the window configuration: where analyses are made and nothing else is asked for, what they need. Of the whole program none says anything, also one that lies about.
func (f *recordFlags) config(messages io.Writer) (*config.Config, string, error) {
	if f.opts.Only == session.OnlyTranslate || f.opts.Only == session.OnlyCount {
		return config.Default(), "built-in", nil
	}
	if len(f.opts.Analyses) == 0 || f.window.given(f.opts.Outputs) {
		f.window.analysed(f.opts.Analyses)
		return f.window.load(messages, f.opts.Outputs)
	}
	c, err := analysisConfig(f.opts.Analyses)
	return c, "what the analyses need", err
}

// check turns the texts into the options' values.
// What contradicts itself is refused, though one of the two could win: a flag that
// is silently without effect is how measurements go wrong.
func (f *recordFlags) check(fl *pflag.FlagSet) (err error) {
	o := &f.opts
	switch o.Only {
	case session.OnlyAll, session.OnlyTranslate, session.OnlyCount, session.OnlyBlocks:
	default:
		return usagef("--only is translate, count or blocks, not %q", o.Only)
	}
	if len(f.analyses) > 0 {
		if o.Analyses, err = live.Parse(strings.Join(f.analyses, ",")); err != nil {
			return usagef("--analysis: %w", err)
		}
	}
	if err := withoutEffect(fl, o, f.inline); err != nil {
		return err
	}
	if o.Follow, err = parseFollow(f.follow, f.window.oneOff.Process); err != nil {
		return err
	}
	if o.Threads < 0 || o.Threads > mostThreads {
		return usagef("--threads is a number from 0 to %d, not %d", mostThreads, o.Threads)
	}
	if o.Readers < 0 || len(o.Analyses) == 0 && fl.Changed("readers") {
		return usagef("--readers is a number of readers for the analyses of --analysis, not %d for %d", o.Readers, len(o.Analyses))
	}
	if slices.Contains(o.Outputs, "") {
		return usagef("--output is the name of a directory, not empty")
	}
	if o.Compress, err = parseCompress(f.compress); err != nil {
		return err
	}
	if err := f.pool.check(fl, o); err != nil {
		return err
	}
	if f.inline {
		sequential(o)
	}
	if err := f.checkSampling(); err != nil {
		return err
	}
	return f.checkBounds()
}

// sequential has analyses made in the program's own time. Methods, and who calls them, are counters in its code. The others are too large for
// that: they are called where a thread's chunk is full, and the thread waits for them.
func sequential(o *session.Options) {
	if countedInside(o.Analyses) {
		o.CountEdges = slices.ContainsFunc(o.Analyses, func(s live.Spec) bool { return s.Name == "callgraph" })
		o.Analyses, o.Only, o.CountCalls = nil, session.OnlyCount, true
		return
	}
	o.NoThreads = true
}

// countedInside tells whether code in the program's own threads can count all that is asked for: calls, and from where.
func countedInside(analyses []live.Spec) bool {
	return len(analyses) > 0 && !slices.ContainsFunc(analyses, func(s live.Spec) bool { return s.Name != "methods" && s.Name != "callgraph" })
}

// checkSampling reads how bursts are laid out.
func (f *recordFlags) checkSampling() error {
	switch f.by {
	case "instructions":
		f.opts.SampleBy = session.SampleByInstructions
	case "time":
		f.opts.SampleBy = session.SampleByTime
	default:
		return usagef("--sample-by is instructions or time, not %q", f.by)
	}
	if f.rate != "" && live.NeedsOf(f.opts.Analyses).Order {
		return usagef("--sample-rate leaves out what the order between threads needs: what others did to a line between two bursts (coherence, and cache with shared-ll)")
	}
	return nil
}

// checkBounds reads the flags that are quantities.
// Zero, which is also a flag that was not given, is "no bound".
func (f *recordFlags) checkBounds() (err error) {
	o := &f.opts
	if f.maxSize != "" {
		if o.MaxSize, err = quantity.Size(f.maxSize); err != nil {
			return usagef("--max-size: %w", err)
		}
	}
	if f.maxTime != "" {
		if o.MaxTime, err = quantity.Duration(f.maxTime); err != nil {
			return usagef("--max-time: %w", err)
		}
	}
	if f.maxIns != "" {
		if o.MaxInstructions, err = quantity.Count(f.maxIns); err != nil {
			return usagef("--max-instructions: %w", err)
		}
	}
	if f.chunk != "" {
		n, err := quantity.Size(f.chunk)
		if err != nil {
			return usagef("--buffer-chunk: %w", err)
		}
		o.BufferChunk = int(n)
	}
	if f.most != "" {
		n, err := quantity.Size(f.most)
		if err != nil {
			return usagef("--buffer-max: %w", err)
		}
		o.BufferMost = int(min(n, math.MaxInt32))
	}
	return nil
}

// parseFollow reads whom to follow. Threads of the program are followed in any case: the
// word is for those who look for it, as other tracers have it.
func parseFollow(s, processes string) (string, error) {
	switch {
	case s == "all":
		return session.FollowAll, nil
	case s != "none" && s != "threads":
		return "", usagef("--follow is all, none or threads, not %q", s)
	case processes != "" && processes != "1":
		return "", usagef("--follow %s follows process 1 alone, so that --process %s has no effect; leave one of them out", s, processes)
	}
	return session.FollowNone, nil
}

// parseCompress reads a level. 0 is no level that can be asked for: it stands
// for the writer's own choice.
// 1 to 22 are zstd's own levels, the fastest first.
func parseCompress(s string) (int, error) {
	switch s {
	case "":
		return session.CompressDefault, nil
	case "off":
		return session.CompressOff, nil
	}
	level, err := strconv.Atoi(s)
	if err != nil || level < 1 || level > 22 {
		return 0, usagef("--compress is a level from 1 to 22 or off, not %q", s)
	}
	return level, nil
}

// besideUs is the end of a sentence about a name that PATH does not have: shells do not
// look into the working directory, and their users forget it.
func besideUs(name string) string {
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && !strings.Contains(name, "/") {
		return fmt.Sprintf("; did you mean ./%s?", name)
	}
	return ""
}

// findProgram looks a program up as a shell does. That it is there and may be
// executed is checked before anything is set up, so that a misspelt name leaves
// no output directory behind.
//
// The path is returned as PATH gave it and not resolved: a program may look at its
// own name, and the kernel is given the same path as by a shell.
func findProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil, errors.Is(err, exec.ErrDot): // a PATH that holds "." was the user's choice
		return path, nil
	case errors.Is(err, exec.ErrNotFound):
		return "", &statusError{statusNotFound, fmt.Errorf("%s: no such program in PATH%s", name, besideUs(name))}
	case errors.Is(err, fs.ErrNotExist):
		return "", &statusError{statusNotFound, fmt.Errorf("%s: no such file", name)}
	}
	// Not a file, or not executable for us: LookPath says which.
	var reason *exec.Error
	if errors.As(err, &reason) {
		err = reason.Err
	}
	return "", &statusError{statusNotTraced, fmt.Errorf("%s cannot be executed: %w", name, err)}
}
