package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"alleria/analysis"
	"alleria/config/quantity"
	"alleria/proctree"
)

// psTree is one tree of ps --json.
type psTree struct {
	Tree      int         `json:"tree"`             // in the order in which trees began
	Tracer    int         `json:"tracer"`           // process number of the alleria that traces it
	Inside    *psPlace    `json:"inside,omitempty"` // which process of which tree the tracer itself is
	Command   string      `json:"command"`          // cut with "…" if it is long
	Started   time.Time   `json:"started"`
	Counter   int         `json:"counter"` // the number that was given last
	Processes []psProcess `json:"processes"`
}

type psPlace struct {
	Tree    int `json:"tree"`
	Process int `json:"process"`
}

// psProcess is one process. Rates are since the last screen, on the first since it was created.
type psProcess struct {
	Number           int       `json:"number"`
	PID              int       `json:"pid"`
	Parent           int       `json:"parent"` // its number; it may have ended
	Program          string    `json:"program"`
	Generation       int       `json:"generation"` // programs that it has executed
	State            string    `json:"state"`
	Started          time.Time `json:"started"`
	Instructions     uint64    `json:"instructions"`
	InstructionsRate float64   `json:"instructions_per_second"`
	Recorded         uint64    `json:"recorded_bytes"`
	RecordedRate     float64   `json:"recorded_bytes_per_second"`

	depth int // live processes above it
}

// psCommand lists what this user has traced at the moment.
func (a *app) psCommand() *cobra.Command {
	asJSON, watch := false, ""
	c := &cobra.Command{
		Use:   "ps [flags]",
		Short: "List the processes that are being traced",
		Long: `ps lists the process trees that this user is tracing at the moment: each live
process with its number, its parent's number, how many programs it has executed,
whether a window is open in it, and how much it has executed and how much of that was
recorded, in total and per second.

States: followed (nothing of it is recorded), closed (it has windows, and none is
open), open, detached (it runs untraced; its children have no numbers).

Trees in a container are listed only there, and those of another user only for that user.`,
		Example: `  alleria ps
  alleria ps --watch=2
  alleria ps --json | jq '.[].processes[].pid'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			every := time.Duration(0)
			if c.Flags().Changed("watch") {
				var err error
				if every, err = quantity.Duration(watch); err != nil || every < 10*time.Millisecond {
					return usagef("--watch takes the seconds between two listings, from 0.01, not %q", watch)
				}
			}
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return a.listTrees(ctx, "", asJSON, every)
		},
	}
	fl := c.Flags()
	fl.BoolVar(&asJSON, "json", false, "print JSON, with --watch one document per line")
	fl.StringVar(&watch, "watch", "1", "list again at this interval in `seconds`, until interrupted")
	fl.Lookup("watch").NoOptDefVal = "1"
	return c
}

// listTrees lists once, or every so often until the context ends. dir is proctree.List's.
func (a *app) listTrees(ctx context.Context, dir string, asJSON bool, every time.Duration) error {
	var before []psTree
	var then time.Time
	for {
		live, err := proctree.List(dir)
		if err != nil {
			return err
		}
		now := time.Now()
		trees := psTrees(live, before, then, now)
		before, then = trees, now
		if err := a.printTrees(trees, asJSON, every > 0, now); err != nil {
			return err
		}
		if every == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

// psTrees turns what the database has into what is printed. before is what was printed at
// the time then, for rates.
func psTrees(live []proctree.LiveTree, before []psTree, then, now time.Time) []psTree {
	type key struct {
		tree   int
		number int
	}
	last := map[key]psProcess{}
	for _, t := range before {
		for _, p := range t.Processes {
			last[key{t.Tree, p.Number}] = p
		}
	}
	trees := []psTree{}
	for _, l := range live {
		t := psTree{Tree: l.ID, Tracer: l.Tracer, Command: l.Command, Started: l.Started, Counter: l.Counter, Processes: []psProcess{}}
		if l.Inside != nil {
			t.Inside = &psPlace{l.Inside.Tree, l.Inside.Process}
		}
		depths := map[int]int{} // by number, of those that live
		for _, p := range l.Processes {
			q := psProcess{
				Number: p.Number, PID: p.PID, Parent: p.Parent, Program: p.Program, Generation: p.Generation, State: p.State.String(),
				Started: p.Started, Instructions: p.Instructions, Recorded: p.Recorded,
			}
			if above, ok := depths[p.Parent]; ok {
				q.depth = above + 1
			}
			depths[p.Number] = q.depth
			old, since := last[key{t.Tree, p.Number}], then
			if !old.Started.Equal(p.Started) { // it is new
				old, since = psProcess{}, p.Started
			}
			q.InstructionsRate = rate(old.Instructions, p.Instructions, now.Sub(since))
			q.RecordedRate = rate(old.Recorded, p.Recorded, now.Sub(since))
			t.Processes = append(t.Processes, q)
		}
		trees = append(trees, t)
	}
	return trees
}

// rate is how much was added per second.
func rate(before, now uint64, d time.Duration) float64 {
	if d <= 0 || now < before {
		return 0
	}
	return float64(now-before) / d.Seconds()
}

// printTrees prints a screen. When watched, a terminal is cleared for each.
func (a *app) printTrees(trees []psTree, asJSON, watched bool, now time.Time) error {
	var b bytes.Buffer
	switch {
	case asJSON && watched:
		line, err := json.Marshal(trees)
		if err != nil {
			return fmt.Errorf("print JSON: %w", err)
		}
		b.Write(append(line, '\n'))
	case asJSON:
		return a.printJSON(trees)
	default:
		if watched && a.drawsOnTerminal() {
			b.WriteString("\x1b[H\x1b[2J") // home, clear (ECMA-48)
		}
		writeTrees(&b, trees, now)
		if len(trees) == 0 && !watched {
			fmt.Fprintln(a.messages(), "alleria: nothing is being traced")
		}
		if watched {
			b.WriteByte('\n')
		}
	}
	if _, err := a.stdout.Write(b.Bytes()); err != nil {
		return fmt.Errorf("list: %w", err)
	}
	return nil
}

// drawsOnTerminal tells whether results go to a terminal.
func (a *app) drawsOnTerminal() bool {
	f, ok := a.stdout.(*os.File)
	return ok && isTerminal(f)
}

// writeTrees writes a table for each tree, children further to the right than their parents.
func writeTrees(w io.Writer, trees []psTree, now time.Time) {
	for i, t := range trees {
		if i > 0 {
			fmt.Fprintln(w)
		}
		where := ""
		if t.Inside != nil {
			where = fmt.Sprintf(", inside process %d of tree %d", t.Inside.Process, t.Inside.Tree)
		}
		fmt.Fprintf(w, "Tree %d, traced by pid %d%s, for %.3g s, %d live of %d processes: %s\n",
			t.Tree, t.Tracer, where, max(now.Sub(t.Started), 0).Seconds(), len(t.Processes), t.Counter, analysis.Printable(t.Command))
		table := analysis.NewTextTable("process", "state", "pid", "parent", "programs", "instructions", "per second", "recorded", "per second")
		table.Text = 2
		for _, p := range t.Processes {
			table.Add(strings.Repeat("  ", p.depth)+strconv.Itoa(p.Number)+" "+analysis.Printable(p.Program), p.State, strconv.Itoa(p.PID), strconv.Itoa(p.Parent),
				strconv.Itoa(p.Generation), amount(float64(p.Instructions), ""), amount(p.InstructionsRate, ""), amount(float64(p.Recorded), "B"), amount(p.RecordedRate, "B"))
		}
		table.Write(w, "  ")
	}
}

// amount is a number with a suffix of thousands.
func amount(n float64, unit string) string {
	for _, suffix := range []string{"", "k", "M", "G", "T"} {
		if n < 999.5 || suffix == "T" {
			return strings.TrimSpace(fmt.Sprintf("%.3g %s%s", n, suffix, unit))
		}
		n /= 1000
	}
	return ""
}
