package convert

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"alleria/abp"
	"alleria/analysis/calls"
)

// collapsedFormat is what flame graph scripts read.
func collapsedFormat() *Format {
	return &Format{
		Name: "collapsed", Ending: ".folded", Summary: "collapsed stacks for flamegraph.pl, inferno and speedscope: instructions by stack of functions",
		Needs: "as pprof, without debug information",
		write: writeCollapsed,
	}
}

// writeCollapsed writes a line for each stack: process, functions from the outermost on, and
// instructions.
func writeCollapsed(w io.Writer, o *Options) error {
	if err := o.need(abp.FlagInstructions, "instructions"); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	err := o.eachTree(func(p *abp.Process, t *abp.Thread, root *calls.Node) error {
		first := fmt.Sprintf("%s;thread %d", stackWord(processName(p)), t.Number)
		walkStacks(root, []string{first}, func(stack []string, n *calls.Node) {
			fmt.Fprintf(out, "%s %d\n", strings.Join(stack, ";"), n.Own.Instructions)
		})
		return nil
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// walkStacks calls f with the names from the root to every node that has instructions of its
// own.
func walkStacks(n *calls.Node, stack []string, f func(stack []string, n *calls.Node)) {
	for _, c := range n.Children {
		s := append(stack, stackWord(c.Func.Name))
		if c.Own.Instructions > 0 {
			f(s, c)
		}
		walkStacks(c, s, f)
	}
}

// stackWord is a name without what separates names and lines.
func stackWord(s string) string {
	return strings.NewReplacer(";", ":", "\n", " ").Replace(s)
}

// processName is what a process is called.
func processName(p *abp.Process) string {
	name := "process " + p.Name()
	if c := p.Header().CommandLine; len(c) > 0 {
		name += " (" + c[0] + ")"
	}
	return name
}

// eachTree calls f with the call tree of every thread that the options want.
func (o *Options) eachTree(f func(p *abp.Process, t *abp.Thread, root *calls.Node) error) error {
	q := o.Query
	if len(q.Functions) > 0 || !q.Code.All() || !q.Data.All() {
		return fmt.Errorf("filters on functions, code and data leave out what callers are known by; the format's reader has filters of its own: %w", ErrUsage)
	}
	return o.eachThread(func(p *abp.Process, t *abp.Thread, cq calls.Query) error {
		cq.Threads = []uint32{t.Number}
		tree, err := calls.Build(o.Profile, p, cq, nil)
		if err != nil {
			return err
		}
		return f(p, t, tree.Stacks())
	})
}
