package main

import (
	"context"

	"alleria/analysis/pstree"
	"alleria/config"
	"alleria/internal/session"
	"alleria/proctree"
)

// followOnly is a dryRun: the program and what it creates run their own code, traced for what
// the kernel reports alone.
func (a *app) followOnly(ctx context.Context, program string, args []string) ([]proctree.Process, int, error) {
	t := proctree.New(args, proctree.Options{})
	defer t.Close()
	exit, err := session.Record(ctx, session.Options{
		Program: program, Args: args, Config: config.FollowOnly(), ConfigFrom: "built-in", Tool: "alleria " + version, Discard: true, Tree: t,
	})
	return t.Processes(), exit, err
}

// runNodes turns the processes of a run into what is drawn.
func runNodes(processes []proctree.Process) []*pstree.Node {
	var nodes []*pstree.Node
	for i := range processes {
		p := &processes[i]
		n := &pstree.Node{
			Number: p.Number, PID: p.PID, Parent: p.Parent, Command: p.Args, Program: p.Path, Followed: p.Followed(), Started: &p.Started,
			CPUSeconds: (p.Usage.User + p.Usage.System).Seconds(), MaxRSS: p.Usage.MaxRSS, Instructions: p.Instructions,
		}
		for _, program := range p.Programs {
			n.Executed = append(n.Executed, program.Path)
		}
		if !p.Ended.IsZero() {
			n.EndedWith(p.Status, p.Ended.Sub(p.Started))
		}
		nodes = append(nodes, n)
	}
	return nodes
}
