package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"alleria/abp"
)

// treeNode is one process of tree --json.
// Exit is null while unknown, Instructions what was recorded or counted, 0 for a
// process that was not followed.
type treeNode struct {
	Number       uint32      `json:"number"`
	PID          uint32      `json:"pid"`
	Command      []string    `json:"command"`
	Followed     bool        `json:"followed"`
	Exit         *int        `json:"exit"`
	Started      *time.Time  `json:"started,omitempty"`
	Seconds      float64     `json:"seconds,omitempty"`
	Instructions uint64      `json:"instructions"`
	Children     []*treeNode `json:"children"`

	parent uint32
}

// treeCommand shows the tree of one run; numbers of several would collide.
//
// The numbers are the point: they are what Process elements select by, and running a
// program once under `--only count` is how to find them out, as the paper suggests
// (Alleria, section 2.5).
func (a *app) treeCommand() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "tree PROFILE",
		Short: "Show the processes of a run with their numbers",
		Long: `tree shows which process started which, with the numbers that window
configurations name them by, what they ran and how they ended.`,
		Args: oneProfile,
		RunE: func(_ *cobra.Command, args []string) error {
			return openProfiles(args, func(profiles []*abp.Profile) error {
				roots := processTree(profiles[0])
				if asJSON {
					return a.printJSON(roots)
				}
				out := bufio.NewWriter(a.stdout)
				for _, n := range roots {
					printNode(out, n, 0)
				}
				return out.Flush()
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// printNode prints a process and, below it and further to the right, its
// children.
// Seconds are between creation and end of the process, with what it waited.
func printNode(w io.Writer, n *treeNode, depth int) {
	end := ""
	switch {
	case n.Exit != nil:
		end = fmt.Sprintf(", exit status %d", *n.Exit)
	case !n.Followed:
		end = ", not followed"
	}
	if n.Seconds > 0 {
		end += fmt.Sprintf(", %.3g s", n.Seconds)
	}
	fmt.Fprintf(w, "%s%d (pid %d%s) %s\n", strings.Repeat("  ", depth), n.Number, n.PID, end, strings.Join(n.Command, " "))
	for _, c := range n.Children {
		printNode(w, c, depth+1)
	}
}

// processTree puts together what the processes' files and run.json know: the
// files have times, run.json the counts, and either may be missing.
// run.json wins where both know a thing: it is written last, when all is over.
func processTree(p *abp.Profile) []*treeNode {
	nodes := map[uint32]*treeNode{}
	node := func(number uint32) *treeNode {
		if nodes[number] == nil {
			nodes[number] = &treeNode{Number: number, Children: []*treeNode{}, Command: []string{}}
		}
		return nodes[number]
	}
	for _, proc := range p.Processes() {
		n := node(proc.Number())
		n.PID, n.Followed, n.Command = proc.Header().PID, true, proc.Header().CommandLine
		n.Instructions = proc.Counts().Instructions
		for i := range proc.Family() {
			node(proc.Family()[i].Number).fromFamily(&proc.Family()[i])
		}
	}
	if run := p.Run(); run != nil {
		for _, e := range run.Processes {
			n := node(e.Number)
			n.PID, n.parent, n.Followed = e.PID, e.Parent, e.Followed
			if len(e.Command) > 0 {
				n.Command = e.Command
			}
			if e.Exit != nil {
				n.Exit = e.Exit
			}
			// A run that was cut off has no counts in run.json, a counted one none
			// in files.
			n.Instructions = max(n.Instructions, e.Instructions)
		}
	}
	return linkTree(nodes)
}

// fromFamily takes over what a process's file says of a relative, or of
// itself.
// Several files may know of it: what the last one says holds.
func (n *treeNode) fromFamily(row *abp.FamilyRow) {
	n.PID, n.parent, n.Followed = row.PID, row.Parent, row.Followed
	if len(row.Command) > 0 {
		n.Command = row.Command
	}
	if row.Started != 0 {
		started := time.Unix(0, row.Started)
		n.Started = &started
	}
	if row.Exited {
		exit := row.ShellStatus()
		n.Exit = &exit
		if row.Started != 0 && row.Ended != 0 {
			n.Seconds = time.Duration(row.Ended - row.Started).Seconds()
		}
	}
}

// linkTree hangs children on their parents, both in the order of their numbers.
// A process whose parent is unknown is a root.
func linkTree(nodes map[uint32]*treeNode) []*treeNode {
	var order []*treeNode
	for _, n := range nodes {
		order = append(order, n)
	}
	slices.SortFunc(order, func(a, b *treeNode) int { return int(a.Number) - int(b.Number) })
	roots := []*treeNode{}
	for _, n := range order {
		// A parent has a lower number; anything else would make a cycle.
		if parent := nodes[n.parent]; parent != nil && n.parent < n.Number {
			parent.Children = append(parent.Children, n)
		} else {
			roots = append(roots, n)
		}
	}
	return roots
}
