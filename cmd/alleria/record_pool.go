package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"alleria/config/quantity"
	"alleria/internal/layout"
	"alleria/internal/session"
)

// poolFlags are record's flags about processing threads and buffers, as written. Where the paper's profiler has
// a name for one (-tuner, -ptc, -bc, -bs, -tf), or the paper (TP, TAY1, TAY2, TAZ), that is its name here.
type poolFlags struct {
	tuner, ptc, bc, bs, tf string
	tp, tay1, tay2, taz    string
	affinity               string
}

func (p *poolFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&p.tuner, "tuner", "on", "adaptive profiling: the numbers of processing threads and buffers follow the load (`on`, off)")
	fl.StringVar(&p.affinity, "affinity", "auto", "keep processing threads on processors that share a cache with the program's threads, where there is a choice (`auto`), or not (off)")
	fl.StringVar(&p.ptc, "ptc", "", "a fixed `number` of processing threads; 0: each thread of the program waits while its records are written")
	fl.StringVar(&p.bc, "bc", "", "a fixed `number` of buffers (chunks) for each thread of the program, from 2")
	fl.StringVar(&p.bs, "bs", "", "size of a buffer in `KiB`; --buffer-chunk takes it in bytes")
	fl.StringVar(&p.tf, "tf", "", "`time` between decisions of --tuner (100ms)")
	fl.StringVar(&p.tp, "tp", "", "while threads are added: stop when their idle time has risen by this `part` (50%)")
	fl.StringVar(&p.tay1, "tay1", "", "while nothing changes: add a thread when the program's waiting time has risen by this `part` (10%)")
	fl.StringVar(&p.tay2, "tay2", "", "while nothing changes: look at the load again when that time has fallen by this `part` (10%)")
	fl.StringVar(&p.taz, "taz", "", "while threads are suspended: stop when the program's waiting time has risen by this `part` (5%)")
}

// mostBuffers is how many chunks a ring can have.
const mostBuffers = layout.MaxChunks

// check turns the texts into the options' values.
func (p *poolFlags) check(fl *pflag.FlagSet, o *session.Options) (err error) {
	switch p.tuner {
	case "on":
	case "off":
		o.NoTuner = true
	default:
		return usagef("--tuner is on or off, not %q", p.tuner)
	}
	switch p.affinity {
	case "auto":
	case "off":
		o.NoAffinity = true
	default:
		return usagef("--affinity is auto or off, not %q", p.affinity)
	}
	if err := p.contradictions(fl); err != nil {
		return err
	}
	if p.ptc != "" {
		if o.FixedThreads, err = wholeNumber("ptc", p.ptc, 0, mostThreads); err != nil {
			return err
		}
		o.NoThreads = o.FixedThreads == 0
	}
	if p.bc != "" {
		if o.Buffers, err = wholeNumber("bc", p.bc, 2, mostBuffers); err != nil {
			return err
		}
	}
	if p.bs != "" {
		n, err := wholeNumber("bs", p.bs, 1, layout.RingMax>>10)
		if err != nil {
			return err
		}
		if n < 16 || n&(n-1) != 0 {
			return usagef("--bs is a power of two from 16, not %d", n)
		}
		o.BufferChunk = n << 10
	}
	if p.tf != "" {
		if o.TunerPeriod, err = quantity.Duration(p.tf); err != nil {
			return usagef("--tf: %w", err)
		}
		if o.TunerPeriod <= 0 {
			return usagef("--tf is a time like 100ms or 1s, not 0")
		}
	}
	return p.parts(o)
}

// parts turns the texts of thresholds into the options' values.
func (p *poolFlags) parts(o *session.Options) error {
	for _, t := range [...]struct {
		name, text string
		to         **float64
	}{{"tp", p.tp, &o.Thresholds.TP}, {"tay1", p.tay1, &o.Thresholds.TAY1}, {"tay2", p.tay2, &o.Thresholds.TAY2}, {"taz", p.taz, &o.Thresholds.TAZ}} {
		if t.text == "" {
			continue
		}
		v, err := parsePart(t.text)
		if err != nil {
			return usagef("--%s is a part like 5%% or 0.05, not %q", t.name, t.text)
		}
		*t.to = &v
	}
	return nil
}

// contradictions refuses flags that another leaves nothing to do for.
func (p *poolFlags) contradictions(fl *pflag.FlagSet) error {
	for _, c := range [...]struct {
		on        bool
		why, flag string
	}{
		{p.ptc != "", "--ptc fixes the number of processing threads", "threads"},
		{p.ptc == "0", "without processing threads a buffer is written before its thread goes on", "bc"},
		{p.ptc == "0", "without processing threads a buffer is written before its thread goes on", "buffer-max"},
		{p.bc != "", "--bc fixes the number of buffers", "buffer-max"},
		{p.bs != "", "--bs is the size of a buffer", "buffer-chunk"},
	} {
		if c.on && fl.Changed(c.flag) {
			return usagef("%s, so that --%s has no effect; leave one of them out", c.why, c.flag)
		}
	}
	if p.ptc == "" && p.tuner == "on" {
		return nil
	}
	for _, name := range []string{"tf", "tp", "tay1", "tay2", "taz"} {
		if fl.Changed(name) {
			return usagef("nothing adapts with --ptc or --tuner off, so that --%s has no effect; leave one of them out", name)
		}
	}
	if p.ptc != "" && p.tuner == "on" && fl.Changed("tuner") {
		return usagef("--ptc fixes the number of processing threads, so that --tuner has no effect; leave one of them out")
	}
	return nil
}

// wholeNumber reads a number within bounds.
func wholeNumber(flag, s string, least, most int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, usagef("--%s is a number from %d to %d, not %q", flag, least, most, s)
	}
	return n, nil
}

// parsePart reads a part: a number, or one in percent.
func parsePart(s string) (float64, error) {
	t, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(t, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 100) {
		return 0, strconv.ErrRange
	}
	return v, nil
}

// knob is what is said of one of the flags: what it does, when to turn it, and what the published profiler or the paper has.
type knob struct{ does, turn, there string }

// knobs are the flags of the pool by their names, as docs/user-guide.md has them.
func knobs() map[string]knob {
	return map[string]knob{
		"tuner": {"on (the default): the numbers of processing threads and buffers follow the load. off: as many threads as --threads says, from the beginning; those that are not needed sleep.",
			"off to compare, or on a machine that does nothing else.", "-tuner, off by default there."},
		"affinity": {"auto (the default): processing threads run on processors that share a last-level cache with the program's threads, where the machine has several such caches and one has room for all of them; cpusets and taskset are kept to, and the program's threads are left alone. run.json says where they ran and why (costs.processing_placed), --log each change. off: wherever the system puts them.",
			"off to compare, or where other programs are bound to the same processors.", "none; the CAB paper binds both sides by hand."},
		"ptc": {"a fixed number of processing threads, whatever the load. 0: none, and each thread of the program waits while one of its buffers is written.",
			"to repeat a measurement; when report --adaptive shows that the number hardly changes; 0 on one processor.", "-ptc."},
		"bc": {"a fixed number of buffers in the ring of each thread of the program, from 2. Without it a ring grows while its thread waits, and gives its memory back when the thread is quiet.",
			"where there is little memory and there are many threads.", "-bc, which counts the buffers of all threads together."},
		"bs": {"the size of a buffer in KiB, a power of two from 16 (by default eight times the first-level data cache: 256 where that has 32 or 48 KiB).", "rarely: smaller ones are handed over sooner, larger ones less often.", "-bs."},
		"tf": {"the time between decisions (100ms).", "higher for loads that change slowly: fewer lines in the log.", "-tf, in milliseconds."},
		"tp": {"phase X, ramping up: one more thread and buffer each period, until the processing threads' idle time (ptit) has risen by this part (50%).",
			"higher for more threads in steady loads.", "TP, 50 to 100% recommended."},
		"tay1": {"phase Y, stable: a thread is added when the time that the program's threads wait for buffers (atwt) has risen by this part (10%).",
			"higher when report --adaptive shows decisions without effect, lower for loads that change little by little.", "TAY1, 1 to 10% recommended."},
		"tay2": {"phase Y, stable: phase X begins again when atwt has fallen by this part (10%).", "as tay1.", "TAY2, 1 to 10% recommended."},
		"taz": {"phase Z, ramping down: one thread fewer each period while one is idle, until atwt has risen by this part (5%).",
			"lower where a missing thread costs much.", "TAZ, 1 to 10% recommended."},
	}
}

// explainKnob is the text for a name; empty: it is none's.
func explainKnob(name string) string {
	k, ok := knobs()[name]
	if !ok {
		return ""
	}
	return fmt.Sprintf("record --%s\n  %s\n\n  When to turn it: %s\n  In the published profiler: %s\n", name, k.does, k.turn, k.there)
}
