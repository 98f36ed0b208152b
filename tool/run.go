package tool

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"alleria/analysis/live"
	"alleria/cab"
	"alleria/internal/session"
)

// Exit statuses of Main besides the program's own: those of `alleria`.
const (
	statusUsage     = 2
	statusOwn       = 125
	statusNotTraced = 126
	statusNotFound  = 127
)

// options are what a tool's command has as flags.
type options struct {
	follow, buffering, advance, log string
	processing, chunk               int
	sequential, verbose, noASLR     bool
	noPlans                         bool
	engine                          string
	inProcess                       bool
}

// How room in a buffer is looked for.
const (
	advanceBlock = "block" // once for all records of a block
	advanceEach  = "each"
)

// register declares the flags.
func (o *options) register(fl *flag.FlagSet) {
	fl.StringVar(&o.follow, "follow", "all", "whom to follow besides the program: `all` that it creates, or none")
	fl.StringVar(&o.buffering, "buffering", "cab", "how a thread hands its records over: cab, or for comparison nway, fastforward, batched")
	fl.StringVar(&o.advance, "advance", advanceBlock, "look for room in a buffer once a `block`, or before each record")
	fl.IntVar(&o.chunk, "bs", 0, "`KiB` of what a thread hands over at a time (256)")
	fl.IntVar(&o.processing, "ptc", 0, "processing threads, a fixed `number` of them; 0: as many as the load needs")
	fl.BoolVar(&o.sequential, "sequential", false, "have threads wait while their records are processed")
	fl.BoolVar(&o.noASLR, "no-aslr", false, "switch the program's address-space randomisation off")
	fl.BoolVar(&o.noPlans, "no-plans", false, "make each record the general way, for comparison")
	fl.StringVar(&o.engine, "engine", "", "switch optimisations of the engine off by `name`, between commas, for comparison")
	fl.BoolVar(&o.inProcess, "in-process", false, "call the callbacks in the tracer's process: what ends them ends the program as well")
	fl.StringVar(&o.log, "log", "", "append what happens inside to this `file`")
	fl.BoolVar(&o.verbose, "v", false, "say what was executed")
}

// Main is the tool's command: [flags] [--] PROGRAM [ARGUMENT...]. It ends the process, with the program's exit status.
func (t *Tool) Main() {
	os.Exit(t.main(os.Args[1:]))
}

// main is Main with arguments and an exit status.
func (t *Tool) main(args []string) int {
	t.Flags.Usage = func() {
		fmt.Fprintf(t.Flags.Output(), "usage: %s [flags] [--] PROGRAM [ARGUMENT...]\n", t.name)
		t.Flags.PrintDefaults()
	}
	switch err := t.Flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return statusUsage // told already
	}
	ctx, stop := session.Outlive()
	defer stop()
	exit, err := t.Run(ctx, t.Flags.Args(), os.Stderr)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", t.name, err)
		if exit == 0 {
			exit = statusOf(err)
		}
	}
	return exit
}

// statusOf sorts the errors of Run.
func statusOf(err error) int {
	switch {
	case errors.Is(err, session.ErrNotFound), errors.Is(err, exec.ErrNotFound):
		return statusNotFound
	case errors.Is(err, session.ErrCannotTrace):
		return statusNotTraced
	case errors.Is(err, session.ErrUsage):
		return statusUsage
	}
	return statusOwn
}

// Run runs a program, with its arguments, and returns its exit status as a shell reports it; what the program writes goes where ours
// does. messages is for what Done writes, and for warnings with -v. Cancelling the context ends the analysis, and not the program. An error behind the
// program's end is the analysis's. Only one Run may be at work in a process.
func (t *Tool) Run(ctx context.Context, argv []string, messages io.Writer) (exit int, err error) {
	o, err := t.session(argv, messages)
	if err != nil {
		return 0, err
	}
	if tracer != nil && !t.opts.inProcess {
		exit, err = tracer.run(ctx, t, argv, messages)
	} else {
		exit, err = t.record(ctx, o)
	}
	if err != nil && !errors.Is(err, session.ErrIncomplete) {
		return exit, err
	}
	if err == nil {
		for _, c := range t.types {
			if e := c.leaked(); e != nil {
				err = errors.Join(err, fmt.Errorf("analysis %s: %w", t.name, e))
			}
		}
	}
	if t.opts.verbose {
		fmt.Fprintf(messages, "%s: the program's threads have recorded %d words of 8 bytes\n", t.name, t.words.Load())
	}
	if err == nil {
		err = t.failed()
	}
	return exit, errors.Join(err, t.finish(messages))
}

// record runs the program in this process.
func (t *Tool) record(ctx context.Context, o session.Options) (exit int, err error) {
	if t.opts.log != "" {
		log, err := os.OpenFile(t.opts.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return 0, fmt.Errorf("%w: -log: %w", session.ErrUsage, err)
		}
		defer log.Close()
		o.Log = log
	}
	return session.Record(ctx, o)
}

// failed is why the user has ended the analysis, nil: that has not happened.
func (t *Tool) failed() error {
	select {
	case <-t.over.done:
		return fmt.Errorf("analysis %s ended: %w", t.name, t.over.err)
	default:
		return nil
	}
}

// finish calls Done.
func (t *Tool) finish(messages io.Writer) (err error) {
	if t.Done == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("analysis %s: Done panicked: %v, at %s", t.name, v, live.PanicPlace(0))
		}
	}()
	t.Done(messages)
	return nil
}

// session is what the recording gets.
func (t *Tool) session(argv []string, messages io.Writer) (o session.Options, err error) {
	if len(argv) == 0 {
		return o, fmt.Errorf("%w: no program is named", session.ErrUsage)
	}
	if o.Config, err = t.config(); err != nil {
		return o, fmt.Errorf("%w: %w", session.ErrUsage, err)
	}
	if o.Program, err = exec.LookPath(argv[0]); err != nil && !errors.Is(err, exec.ErrDot) {
		return o, fmt.Errorf("%w: %w", session.ErrNotFound, err)
	}
	o.Args, o.ConfigFrom, o.Discard, o.NoASLR = argv, t.name, true, t.opts.noASLR
	o.Analyses, o.Sites = []live.Spec{t.spec()}, &t.sites
	o.NoThreads, o.FixedThreads, o.BufferChunk = t.opts.sequential, t.opts.processing, t.opts.chunk<<10
	if t.opts.verbose {
		o.Messages = messages
	}
	if t.opts.engine != "" {
		o.Engine = strings.Split(t.opts.engine, ",")
	}
	if err := o.Buffering.Set(t.opts.buffering); err != nil {
		return o, fmt.Errorf("%w: -buffering: %w", session.ErrUsage, err)
	}
	switch t.opts.follow {
	case "all":
	case "none":
		o.Follow = session.FollowNone
	default:
		return o, fmt.Errorf("%w: -follow is all or none, not %q", session.ErrUsage, t.opts.follow)
	}
	if a := t.opts.advance; a != advanceBlock && a != advanceEach {
		return o, fmt.Errorf("%w: -advance is %s or %s, not %q", session.ErrUsage, advanceBlock, advanceEach, a)
	}
	return o, nil
}

var _ flag.Value = (*cab.Buffering)(nil)
