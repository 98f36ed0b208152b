package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"alleria/analysis/live"
	"alleria/internal/costmodel"
	"alleria/internal/sys"
)

// benchFlags are the flags of bench, as written.
type benchFlags struct {
	model  string
	rounds int
	asJSON bool
}

// benchCommand says what an analysis costs with a program.
func (a *app) benchCommand() *cobra.Command {
	f := benchFlags{}
	c := &cobra.Command{
		Use:   "bench --model ANALYSIS [flags] [--] PROGRAM [ARGUMENT...]",
		Short: "Measure what an analysis costs beside a program, and what it costs in it",
		Long: `bench runs PROGRAM several times, by itself and with parts of the work that recording
for an analysis takes. By the cost model of the CAB paper it then says whether the
analysis is better made beside the program (in processing threads) or in it (in the
program's own threads), and with how many processing threads.

  A     the program by itself
  A_i   translating it and producing events adds this
  A_q   handing them over adds this
  P     the analysis, in processor time
  P_c   obtaining the events adds this, in processor time
  I_ap  sharing a processor adds this

In the program, all of it takes E_s = A + A_i + P + I_ap. Beside the program, it takes
E_c, the larger of A + A_i + A_q and P + P_c. Runs of all kinds take turns, and the
shortest of each kind counts. PROGRAM has no input, and what it writes to standard
output and standard error is dropped. It has to do the same each time.`,
		Example: `  alleria bench --model calltree -- bzip2 -k -c big.txt
  alleria bench --model 'cache(ll=off)' --json -- ./tool`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("no program is named: alleria bench --model ANALYSIS [--] PROGRAM [ARGUMENT...]")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.bench(c, &f, args) },
	}
	fl := c.Flags()
	fl.SetInterspersed(false)
	fl.StringVar(&f.model, "model", "", "the `analysis`, as for record --analysis: "+strings.Join(live.Names(), ", "))
	fl.IntVarP(&f.rounds, "rounds", "n", 3, "`number` of runs of each kind")
	fl.BoolVar(&f.asJSON, "json", false, "print JSON")
	return c
}

// bench measures and prints.
func (a *app) bench(c *cobra.Command, f *benchFlags, args []string) error {
	if f.model == "" {
		return usagef("--model names an analysis: %s", strings.Join(live.Names(), ", "))
	}
	specs, err := live.Parse(f.model)
	if err != nil {
		return usagef("--model: %w", err)
	}
	if len(specs) != 1 {
		return usagef("--model is one analysis, not %q", f.model)
	}
	if f.rounds < 1 || f.rounds > 1000 {
		return usagef("--rounds is a number from 1 to 1000, not %d", f.rounds)
	}
	program, err := findProgram(args[0])
	if err != nil {
		return err
	}
	self, err := recorder()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "alleria-bench-")
	if err != nil {
		return err
	}
	o := costmodel.Options{Program: append([]string{program}, args[1:]...), Record: []string{self, "record", "--analysis", f.model}, Rounds: f.rounds, Dir: dir}
	if countedInside(specs) {
		o.Sequential = append(o.Record[:len(o.Record):len(o.Record)], "--sequential")
	}
	var share atomic.Uint64
	o.Step = func(done, of int) { share.Store(math.Float64bits(float64(done) / float64(of))) }
	load := sys.LoadAverage() // before: these runs are a load too
	stop := a.showing("measuring", func() float64 { return math.Float64frombits(share.Load()) })
	r, err := costmodel.Measure(c.Context(), o)
	stop()
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		return err
	}
	m := newMeasured(f.model, args, f.rounds, r)
	m.Load = load
	if f.asJSON {
		return a.printJSON(m)
	}
	out := bufio.NewWriter(a.stdout)
	m.print(out)
	return out.Flush()
}

// recorder is what people record with: the form of this command that runs programs alone, where it lies beside this one.
func recorder() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("this program's own file: %w", err)
	}
	if short, ok := strings.CutSuffix(self, wholeSuffix); ok {
		if _, err := os.Stat(short); err == nil {
			return short, nil
		}
	}
	return self, nil
}

// measured is what bench prints.
type measured struct {
	Analysis   string   `json:"analysis"`
	Command    []string `json:"command"`
	Rounds     int      `json:"rounds"`
	Threads    int      `json:"threads"`
	Processes  int      `json:"processes"`
	Processors float64  `json:"processors"`
	Load       float64  `json:"load"` // of the machine before
	// Seconds.
	Terms      costmodel.Terms  `json:"terms"`
	Es         prediction       `json:"E_s"`
	Ec         prediction       `json:"E_c"`
	Sequential *float64         `json:"sequential,omitempty"`
	Advice     costmodel.Advice `json:"advice"`
}

// prediction is a sum of the model's terms beside what was measured.
type prediction struct {
	Predicted float64 `json:"predicted"`
	Measured  float64 `json:"measured"`
}

func newMeasured(analysis string, command []string, rounds int, r *costmodel.Runs) *measured {
	processors := sys.Processors()
	m := &measured{Analysis: analysis, Command: command, Rounds: rounds, Threads: r.Threads, Processes: r.Processes,
		Processors: processors, Terms: r.Terms(), Advice: r.Advise(processors)}
	m.Es = prediction{m.Terms.Sequential(), r.Within.Elapsed.Seconds()}
	m.Ec = prediction{m.Terms.Concurrent(m.Advice.Threads), r.Beside.Elapsed.Seconds()}
	if r.Sequential != nil {
		s := r.Sequential.Elapsed.Seconds()
		m.Sequential = &s
	}
	return m
}

// print writes it for people.
func (m *measured) print(w io.Writer) {
	t := &m.Terms
	fmt.Fprintf(w, "%s of %s: shortest of %d runs each, %g processors, load %.1f\n\n", m.Analysis, strings.Join(m.Command, " "), m.Rounds, m.Processors, m.Load)
	for _, l := range [...]struct {
		name string
		s    float64
		what string
	}{
		{"A", t.A, "the program by itself"},
		{"A_i", t.Ai, "translating it and producing events"},
		{"A_q", t.Aq, "handing them over"},
		{"P", t.P, "the analysis (processor time)"},
		{"P_c", t.Pc, "obtaining the events (processor time)"},
		{"I_ap", t.Iap, "sharing a processor"},
	} {
		fmt.Fprintf(w, "  %-5s %9.3f s   %s\n", l.name, l.s, l.what)
	}
	fmt.Fprintf(w, "\n        predicted    measured\n")
	fmt.Fprintf(w, "  %-5s %9.3f s %9.3f s   in it: A + A_i + P + I_ap\n", "E_s", m.Es.Predicted, m.Es.Measured)
	fmt.Fprintf(w, "  %-5s %9.3f s %9.3f s   beside it: the larger of A + A_i + A_q and P + P_c\n", "E_c", m.Ec.Predicted, m.Ec.Measured)
	if m.Sequential != nil {
		fmt.Fprintf(w, "                    %9.3f s   counted by code in the program's own threads\n", *m.Sequential)
	}
	fmt.Fprintln(w)
	for _, s := range m.says() {
		fmt.Fprintln(w, s)
	}
}

// says is the advice in words.
func (m *measured) says() (out []string) {
	a, t := &m.Advice, &m.Terms
	with := fmt.Sprintf("alleria record --analysis '%s' --ptc %d", m.Analysis, a.Threads)
	if a.Where == costmodel.Within {
		with = fmt.Sprintf("alleria record --analysis '%s' --sequential", m.Analysis)
	}
	switch {
	case a.Where == costmodel.Within:
		out = append(out, fmt.Sprintf("In the program: %.1f times as fast as beside it (%s).", a.Gain, with))
	case a.Where == costmodel.Either:
		out = append(out, "Beside the program or in it: there is next to no difference ("+with+").")
	default:
		out = append(out, fmt.Sprintf("Beside the program: %.1f times as fast as in it (%s).", a.Gain, with))
	}
	if a.Where != costmodel.Within {
		slow := "The program's side takes longer: a faster analysis would save nothing."
		if t.Analyzer() > t.Application() {
			slow = "The analysis takes longer: a faster analysis would save time."
		}
		out = append(out, slow)
	}
	if m.Threads > 1 || m.Processes > 1 {
		out = append(out, fmt.Sprintf("The model is of one thread; the program had up to %d, in %d processes: E_s is for one processor, and predictions are bounds.", m.Threads, m.Processes))
	}
	if m.Processors < 2 {
		out = append(out, "There is only one processor: nothing runs in parallel here.")
	}
	if m.Load > m.Processors {
		out = append(out, fmt.Sprintf("Other programs use this machine (load %.1f): times are too long, and not all by the same factor.", m.Load))
	}
	return out
}
