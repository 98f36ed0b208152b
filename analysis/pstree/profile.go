package pstree

import (
	"time"

	"alleria/abp"
)

// FromProfile makes the nodes of a profile's processes, for Link to put in order. It puts together
// what the processes' files and run.json know: the files have times, run.json the counts, and either
// may be missing.
// run.json wins where both know a thing: it is written last, when all is over.
func FromProfile(p *abp.Profile) []*Node {
	nodes := map[uint32]*Node{}
	node := func(number uint32) *Node {
		if nodes[number] == nil {
			nodes[number] = &Node{Number: int(number)}
		}
		return nodes[number]
	}
	for _, proc := range p.Processes() {
		n := node(proc.Number())
		n.PID, n.Followed, n.Command = int(proc.Header().PID), true, proc.Header().CommandLine
		n.Instructions = proc.Counts().Instructions
		for i := range proc.Family() {
			row := &proc.Family()[i]
			fromFamily(node(row.Number), row)
		}
	}
	if run := p.Run(); run != nil {
		for _, e := range run.Processes {
			n := node(e.Number)
			n.PID, n.Parent, n.Followed = int(e.PID), int(e.Parent), e.Followed
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
	var list []*Node
	for _, n := range nodes {
		list = append(list, n)
	}
	return list
}

// fromFamily takes over what a process's file says of a relative, or of
// itself.
// Several files may know of it: what the last one says holds.
func fromFamily(n *Node, row *abp.FamilyRow) {
	n.PID, n.Parent, n.Followed = int(row.PID), int(row.Parent), row.Followed
	if len(row.Command) > 0 {
		n.Command = row.Command
	}
	if row.Started != 0 {
		started := time.Unix(0, row.Started)
		n.Started = &started
	}
	if row.Exited {
		lived := time.Duration(0)
		if row.Started != 0 && row.Ended != 0 {
			lived = time.Duration(row.Ended - row.Started)
		}
		n.EndedWith(int(row.ExitStatus), lived)
	}
}
