package convert

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/calls"
)

// collapsedFormat is what flame graph scripts read.
func collapsedFormat() *Format {
	return &Format{
		Name: "collapsed", Ending: ".folded", Summary: "collapsed stacks for flamegraph.pl, inferno and speedscope: instructions, or another cost, by stack of functions", one: true,
		Needs: "as pprof, without debug information",
		write: writeCollapsed,
	}
}

// writeCollapsed writes a line for each stack: process, functions from the outermost on, and
// instructions or another cost.
func writeCollapsed(w io.Writer, o *Options) error {
	if err := o.need(abp.FlagInstructions, "instructions"); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	c, err := o.oneCost()
	if err != nil {
		return err
	}
	err = o.eachTree(c, func(p *abp.Process, t *abp.Thread, root *calls.Node, own func(n *calls.Node) uint64) error {
		first := fmt.Sprintf("%s;thread %d", stackWord(processName(p)), t.Number)
		walkStacks(root, []string{first}, own, func(stack []string, cost uint64) {
			fmt.Fprintf(out, "%s %d\n", strings.Join(stack, ";"), cost)
		})
		return nil
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// walkStacks calls f with the names from the root to every node that has a cost of its own.
func walkStacks(n *calls.Node, stack []string, own func(n *calls.Node) uint64, f func(stack []string, cost uint64)) {
	for _, c := range n.Children {
		s := append(stack, stackWord(c.Func.Name))
		if cost := own(c); cost > 0 {
			f(s, cost)
		}
		walkStacks(c, s, own, f)
	}
}

// stackWord is a name without what separates names and lines.
func stackWord(s string) string {
	return strings.ReplaceAll(analysis.Printable(s), ";", ":")
}

// processName is what a process is called.
func processName(p *abp.Process) string {
	name := "process " + p.Name()
	if c := p.Header().CommandLine; len(c) > 0 {
		name += " (" + c[0] + ")"
	}
	return name
}
