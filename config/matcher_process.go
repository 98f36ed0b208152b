package config

import (
	"cmp"
	"slices"
	"strings"
)

type profileNode struct {
	processes []*processNode // in the order of the file
}

type processNode struct {
	element  *Process
	byNumber map[int]*threadNode
	any      *threadNode
}

// NewMatcher compiles the profiles of the windows that are open together.
func NewMatcher(profiles ...*Profile) *Matcher {
	m := &Matcher{}
	for _, p := range profiles {
		node := &profileNode{}
		for _, proc := range p.Processes {
			node.processes = append(node.processes, compileProcess(proc))
		}
		m.profiles = append(m.profiles, node)
	}
	return m
}

// Matcher compiles all windows of the configuration: what could ever be
// recorded, whichever are open.
func (c *Config) Matcher() *Matcher {
	profiles := make([]*Profile, len(c.Windows))
	for i, w := range c.Windows {
		profiles[i] = w.Profile
	}
	return NewMatcher(profiles...)
}

// ProcessFacts are what processes are chosen by.
type ProcessFacts struct {
	Number int // in creation order, from 1
	// Depth counts generations below the first process, which has 0.
	Depth int
	// Ancestors are the numbers of the processes above, the parent first.
	Ancestors []int
	// Path is the full path of the program that it executes, links resolved. A process
	// that has executed none since its creation has its parent's.
	Path string
	// Also are other paths that lead to the program: as it was given to execve, which is
	// where gcc is not x86_64-linux-gnu-gcc-14, and a script that the kernel runs by
	// the program.
	Also []string
	// Args are its arguments. The first is the program's own name and is not looked at.
	Args []string
}

// has tells whether some path of the program satisfies f.
func (f *ProcessFacts) has(match func(path string) bool) bool {
	return f.Path != "" && match(f.Path) || slices.ContainsFunc(f.Also, match)
}

// Matches tells whether the element selects a process, also if another one beside it wins.
func (p *Process) Matches(f *ProcessFacts) bool {
	switch {
	case p.N > 0:
		return p.N == f.Number
	case p.Path != "" && !f.has(func(path string) bool { return path == p.Path }),
		p.Name != "" && !f.has(func(path string) bool { return globMatch(p.Name, path[strings.LastIndexByte(path, '/')+1:]) }),
		p.Argument != "" && !slices.ContainsFunc(f.Args[min(1, len(f.Args)):], func(a string) bool { return globMatch(p.Argument, a) }),
		p.Under > 0 && !slices.Contains(f.Ancestors, p.Under),
		p.Depth.Given && (f.Depth < p.Depth.From || f.Depth > p.Depth.To):
		return false
	}
	return true
}

// moreSpecific orders two elements that both match; negative: p wins. Level by level, as
// for functions: having the selector at all, then a text before a pattern, then how much
// of it is literal. What is equal in all is decided by the order in the file.
func (p *Process) moreSpecific(q *Process, f *ProcessFacts) int {
	return cmp.Or(
		first(p.N > 0, q.N > 0),
		first(p.Path != "", q.Path != ""),
		longerPattern(p.Name, q.Name),
		longerPattern(p.Argument, q.Argument),
		first(p.Under > 0, q.Under > 0),
		// The nearer ancestor. Without one both are -1.
		cmp.Compare(slices.Index(f.Ancestors, p.Under), slices.Index(f.Ancestors, q.Under)),
		first(p.Depth.Given, q.Depth.Given),
		cmp.Compare(p.Depth.To-p.Depth.From, q.Depth.To-q.Depth.From),
	)
}

// first puts what has something before what has not.
func first(p, q bool) int {
	switch {
	case p == q:
		return 0
	case p:
		return -1
	}
	return 1
}

// longerPattern orders two patterns, of which either may be empty.
func longerPattern(p, q string) int {
	stars := func(s string) int { return strings.Count(s, "*") }
	return cmp.Or(
		first(p != "", q != ""),
		first(stars(p) == 0, stars(q) == 0),
		cmp.Compare(len(q)-stars(q), len(p)-stars(p)),
	)
}

// pick returns the selection that holds for a process, nil if none.
func (p *profileNode) pick(f *ProcessFacts) *processNode {
	var best *processNode
	for _, n := range p.processes {
		if n.element.Matches(f) && (best == nil || n.element.moreSpecific(best.element, f) < 0) {
			best = n
		}
	}
	return best
}

// ProcessMatcher is what holds for one process while it executes one program: for each
// profile the Process that was chosen, and what is followed. It is immutable.
//
// A process goes through several: Matcher.Genesis or Child at its creation, Executed after
// each program. What a follow attribute cuts off stays so for all that comes below.
type ProcessMatcher struct {
	matcher *Matcher
	nodes   []*processNode // by profile, nil where none matches
	cut     []bool         // by profile: nothing of it holds, here and below
}

// Genesis chooses for the first process of a tree.
func (m *Matcher) Genesis(f *ProcessFacts) *ProcessMatcher {
	return m.choose(f, make([]bool, len(m.profiles)))
}

// Child chooses for a process that another one has created. It runs its parent's program
// as yet, and so has that one's path and arguments.
func (m *Matcher) Child(parent *ProcessMatcher, f *ProcessFacts) *ProcessMatcher {
	return m.choose(f, parent.below(FollowAll))
}

// Executed chooses anew for a process that executes another program.
func (m *Matcher) Executed(before *ProcessMatcher, f *ProcessFacts) *ProcessMatcher {
	return m.choose(f, before.below(FollowExec))
}

// below says which profiles hold no longer behind a step that needs at least that Follow.
func (p *ProcessMatcher) below(need Follow) []bool {
	cut := slices.Clone(p.cut)
	for i, n := range p.nodes {
		cut[i] = cut[i] || n != nil && n.element.Follow > need
	}
	return cut
}

// choose finds the elements of all profiles.
func (m *Matcher) choose(f *ProcessFacts, cut []bool) *ProcessMatcher {
	p := &ProcessMatcher{matcher: m, nodes: make([]*processNode, len(m.profiles)), cut: cut}
	for i, profile := range m.profiles {
		if !cut[i] {
			p.nodes[i] = profile.pick(f)
		}
	}
	return p
}

// Followed tells whether the process is followed: some Process element holds for it. Else
// it is detached.
func (p *ProcessMatcher) Followed() bool {
	return slices.ContainsFunc(p.nodes, func(n *processNode) bool { return n != nil })
}

// FollowsChildren tells whether processes that it creates may be followed: whether they
// are, Child says of each. Without, they can be detached unseen.
func (p *ProcessMatcher) FollowsChildren() bool { return p.follows(FollowAll) }

// FollowsExec tells whether it may be followed through the execution of another program.
func (p *ProcessMatcher) FollowsExec() bool { return p.follows(FollowExec) }

// follows asks whether a step leaves some profile that holds.
func (p *ProcessMatcher) follows(need Follow) bool {
	return p.Followed() && slices.Contains(p.below(need), false)
}

// Element returns the Process that was chosen of a profile by its position, from 0; nil
// if none holds.
func (p *ProcessMatcher) Element(profile int) *Process {
	if n := p.nodes[profile]; n != nil {
		return n.element
	}
	return nil
}

// Thread returns what holds for a thread of the process, numbered from 1, in those
// profiles that open tells of by their position; a nil open is all of them. The
// ThreadMatcher is nil unless the status is Records; nil matchers are safe to ask and
// record nothing.
func (p *ProcessMatcher) Thread(thread int, open func(profile int) bool) (*ThreadMatcher, Status) {
	// The best of what any profile says: a process that one window follows is
	// followed.
	status := NotFollowed
	var found *ThreadMatcher
	for i, proc := range p.nodes {
		if proc == nil || open != nil && !open(i) {
			continue
		}
		status = max(status, RecordsNothing)
		t := proc.pick(thread)
		if t == nil || t.empty {
			continue
		}
		status = Records
		found = found.and(&t.solo)
	}
	return found, status
}

// Status returns what holds for the process in all: the most that holds for any of its threads.
func (p *ProcessMatcher) Status() Status {
	status := NotFollowed
	for _, proc := range p.nodes {
		if proc != nil {
			status = max(status, proc.status())
		}
	}
	return status
}

// status tells whether something of some thread may be recorded.
func (p *processNode) status() Status {
	if p.any != nil && !p.any.empty {
		return Records
	}
	for _, t := range p.byNumber {
		if !t.empty {
			return Records
		}
	}
	return RecordsNothing
}

// unknownDepth is no generation.
const unknownDepth = -1

// numbered are the facts of a process of which only the number is known.
func numbered(n int) *ProcessFacts {
	if n == 1 {
		return &ProcessFacts{Number: n}
	}
	return &ProcessFacts{Number: n, Depth: unknownDepth}
}

// Follows tells whether a process is followed of which only the number is known.
func (m *Matcher) Follows(process int) bool { return m.Genesis(numbered(process)).Followed() }

// Process returns what holds in all for a process of which only the number is known.
func (m *Matcher) Process(process int) Status { return m.Genesis(numbered(process)).Status() }

// Match returns what holds for a thread of a process of which only the number is known.
// See ProcessMatcher.Thread.
func (m *Matcher) Match(process, thread int) (*ThreadMatcher, Status) {
	return m.Genesis(numbered(process)).Thread(thread, nil)
}

// Thread returns what holds for a thread of the processes that the element is chosen for;
// nil if nothing is recorded of it.
func (p *Process) Thread(n int) *ThreadMatcher {
	if t := compileProcess(p).pick(n); t != nil && !t.empty {
		return &t.solo
	}
	return nil
}
