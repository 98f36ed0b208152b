package analysis

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"

	"alleria/abp"
)

// TreeNode is one process of a profile with what it and its descendants executed.
type TreeNode struct {
	Number    uint32      `json:"number"`
	PID       uint32      `json:"pid"`
	Parent    uint32      `json:"parent,omitempty"` // its number, 0 none
	Command   []string    `json:"command"`          // of the program that it executed last
	Followed  bool        `json:"followed"`
	Exit      *int        `json:"exit"`      // as a shell reports it; null: not known
	Own       abp.Counts  `json:"own"`       // of all programs that it executed
	Total     abp.Counts  `json:"total"`     // with its descendants'
	Processes int         `json:"processes"` // in its subtree, itself included
	Children  []*TreeNode `json:"children"`  // by number
}

// ProgramReport is what one program executed, in all processes that executed it.
type ProgramReport struct {
	Program string `json:"program"` // file name
	Runs    int    `json:"runs"`    // how often it was executed, or gone on with in a forked process
	abp.Counts
}

// Tree hangs a profile's processes on those that created them, and adds their counts up. It returns those whose
// creator is not among them.
func (r *Report) Tree(profile string) []*TreeNode {
	byNumber := map[uint32]*TreeNode{}
	var order []*TreeNode // by number, as Processes are
	for i := range r.Processes {
		p := &r.Processes[i]
		if p.Profile != profile {
			continue
		}
		n := byNumber[p.Number]
		if n == nil {
			n = &TreeNode{Number: p.Number, Processes: 1, Children: []*TreeNode{}}
			byNumber[p.Number] = n
			order = append(order, n)
		}
		n.PID, n.Parent, n.Command, n.Followed = p.PID, p.Parent, p.Command, p.Followed
		if p.Exit != nil {
			n.Exit = p.Exit
		}
		n.Own.Add(p.Counts, 1)
		n.Total.Add(p.Counts, 1)
	}
	roots := []*TreeNode{}
	// Children have higher numbers than who created them, so that the last comes first.
	for _, n := range slices.Backward(order) {
		parent := byNumber[n.Parent]
		if parent == nil || n.Parent >= n.Number {
			roots = append(roots, n)
			continue
		}
		parent.Total.Add(n.Total, 1)
		parent.Processes += n.Processes
		parent.Children = append(parent.Children, n)
	}
	slices.Reverse(roots)
	for _, n := range order {
		slices.Reverse(n.Children)
	}
	return roots
}

// Programs adds a profile's processes up by the program that they executed, the most instructions first.
func (r *Report) Programs(profile string) []ProgramReport {
	all := map[string]*ProgramReport{}
	add := func(name string, c abp.Counts) {
		if all[name] == nil {
			all[name] = &ProgramReport{Program: name}
		}
		all[name].Runs++
		all[name].Add(c, 1)
	}
	for i := range r.Processes {
		p := &r.Processes[i]
		if p.Profile != profile {
			continue
		}
		for _, c := range p.programs {
			add(c.Name, abp.Counts{Instructions: c.Instructions})
		}
		if len(p.programs) == 0 {
			add(p.program(), p.Counts)
		}
	}
	rows := []ProgramReport{}
	for _, row := range all {
		rows = append(rows, *row)
	}
	slices.SortFunc(rows, func(a, b ProgramReport) int {
		return cmp.Or(cmp.Compare(b.Instructions, a.Instructions), cmp.Compare(a.Program, b.Program))
	})
	return rows
}

// program is the file name of the program that was executed, by which a script is its interpreter. Of a process of which nothing was recorded
// it is the command's.
func (p *ProcessReport) program() string {
	for i := range p.Images {
		if p.Images[i].Main {
			return p.Images[i].Name
		}
	}
	if len(p.Command) == 0 {
		return "?"
	}
	return path.Base(p.Command[0])
}

// WriteTree writes a tree of processes for people.
func WriteTree(w io.Writer, roots []*TreeNode) error {
	t := NewTextTable("process", "processes", "own instructions", "with descendants", "loads", "stores")
	for _, n := range roots {
		n.rows(t, "", "")
	}
	return flushTable(w, t)
}

// accesses is a number of accesses, which a run that counted instructions does not know.
func accesses(n uint64, of *abp.Counts) string {
	if of.Instructions > 0 && of.MemInstructions == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// rows adds a node's row behind first, and its descendants' behind rest.
func (n *TreeNode) rows(t *TextTable, first, rest string) {
	what := fmt.Sprintf("%s%d %s", first, n.Number, clipCommand(n.Command))
	switch {
	case !n.Followed:
		what += " (not followed)"
	case n.Exit != nil && *n.Exit != 0:
		what += fmt.Sprintf(" (exit status %d)", *n.Exit)
	}
	t.Add(what, fmt.Sprint(n.Processes), fmt.Sprint(n.Own.Instructions), fmt.Sprint(n.Total.Instructions), accesses(n.Total.Loads, &n.Total), accesses(n.Total.Stores, &n.Total))
	for i, c := range n.Children {
		if i < len(n.Children)-1 {
			c.rows(t, rest+"├─ ", rest+"│  ")
		} else {
			c.rows(t, rest+"└─ ", rest+"   ")
		}
	}
}

// clipCommand is a command in a table, where compilers' would fill lines.
func clipCommand(args []string) string {
	const most = 60
	runes := []rune(joinCommand(args))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}

// WritePrograms writes totals by program for people, at most top of them (0: all).
func WritePrograms(w io.Writer, rows []ProgramReport, top int) error {
	t := NewTextTable("program", "runs", "instructions", "share", "loads", "stores")
	var total uint64
	for i := range rows {
		total += rows[i].Instructions
	}
	for i := range rows {
		r := &rows[i]
		if top > 0 && i == top {
			t.More = len(rows) - top
			break
		}
		share := "-"
		if total > 0 {
			share = fmt.Sprintf("%.1f%%", 100*float64(r.Instructions)/float64(total))
		}
		t.Add(r.Program, fmt.Sprint(r.Runs), fmt.Sprint(r.Instructions), share, accesses(r.Loads, &r.Counts), accesses(r.Stores, &r.Counts))
	}
	return flushTable(w, t)
}

// flushTable writes a table, and tells whether it could.
func flushTable(w io.Writer, t *TextTable) error {
	out := bufio.NewWriter(w)
	t.Write(out, "")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
