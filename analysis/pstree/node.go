package pstree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Node is one process.
type Node struct {
	Number       int        `json:"number"` // in order of creation, from 1
	PID          int        `json:"pid"`
	Parent       int        `json:"parent"`            // the number of who created it, 0: none that is known
	Command      []string   `json:"command"`           // of the program that it ran last
	Program      string     `json:"program,omitempty"` // the path of that
	Executed     []string   `json:"executed"`          // paths of all programs that it executed, in order
	Followed     bool       `json:"followed"`          // it was traced; else it ran by itself
	Exit         *int       `json:"exit"`              // as a shell has it, nil while unknown
	Signal       int        `json:"signal,omitempty"`  // that ended it
	Started      *time.Time `json:"started,omitempty"`
	Seconds      float64    `json:"seconds,omitempty"`       // from creation to end
	CPUSeconds   float64    `json:"cpu_seconds,omitempty"`   // user and system
	MaxRSS       int64      `json:"max_rss_bytes,omitempty"` // the most memory that it had at a time
	Instructions uint64     `json:"instructions"`            // recorded or counted
	Children     []*Node    `json:"children"`
}

// Link hangs children on their parents, both in the order of their numbers, and returns
// those without one. A process whose parent is not among them is a root.
func Link(nodes []*Node) []*Node {
	order := slices.Clone(nodes)
	slices.SortFunc(order, func(a, b *Node) int { return a.Number - b.Number })
	byNumber := map[int]*Node{}
	for _, n := range order {
		byNumber[n.Number] = n
		n.Children = []*Node{} // and not nil: null would be one more case for every script
		if n.Command == nil {
			n.Command = []string{}
		}
		if n.Executed == nil {
			n.Executed = []string{}
		}
	}
	roots := []*Node{}
	for _, n := range order {
		// A parent has a lower number; anything else would make a cycle.
		if parent := byNumber[n.Parent]; parent != nil && n.Parent < n.Number {
			parent.Children = append(parent.Children, n)
		} else {
			roots = append(roots, n)
		}
	}
	return roots
}

// Walk calls f for every node, parents first, with the number of generations above it.
func Walk(roots []*Node, f func(n *Node, depth int)) { walk(roots, 0, f) }

func walk(nodes []*Node, depth int, f func(*Node, int)) {
	for _, n := range nodes {
		f(n, depth)
		walk(n.Children, depth+1, f)
	}
}

// EndedWith notes the end: the exit code or minus the signal, and how long it lived.
func (n *Node) EndedWith(status int, lived time.Duration) {
	if status < 0 {
		n.Signal = -status
		status = 128 + n.Signal
	}
	n.Exit, n.Seconds = &status, lived.Seconds()
}

// goodEnd is what End says of a success.
const goodEnd = "exit status 0"

// End says how the process ended, empty while it is unknown.
func (n *Node) End() string {
	switch {
	case n.Signal > 0:
		return "killed by " + signalName(n.Signal)
	case n.Exit != nil:
		return fmt.Sprintf("exit status %d", *n.Exit)
	}
	return ""
}

// failed tells of an end that was not a success.
func (n *Node) failed() bool { return n.Signal > 0 || n.Exit != nil && *n.Exit != 0 }

// facts are what is known besides number and command, for people.
func (n *Node) facts() []string {
	facts := []string{fmt.Sprintf("pid %d", n.PID)}
	add := func(given bool, s string) {
		if given {
			facts = append(facts, s)
		}
	}
	add(!n.Followed, "not followed")
	add(n.End() != "", n.End())
	add(n.Seconds > 0, span(n.Seconds))
	add(n.CPUSeconds > 0, span(n.CPUSeconds)+" of processor time")
	add(n.MaxRSS > 0, size(n.MaxRSS))
	add(len(n.Executed) > 1, fmt.Sprintf("executed %d programs", len(n.Executed)))
	return facts
}

// span is a time for people.
func span(seconds float64) string {
	if seconds < 0.1 {
		return fmt.Sprintf("%.3g ms", seconds*1000)
	}
	return fmt.Sprintf("%.3g s", seconds)
}

// size is a number of bytes for people.
func size(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.size {
			return fmt.Sprintf("%.3g %s", float64(n)/float64(u.size), u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// Line is the command as it could be typed: arguments that a shell would take apart, and
// those with unprintable characters, are quoted.
func (n *Node) Line() string {
	words := make([]string, len(n.Command))
	for i, w := range n.Command {
		words[i] = quote(w)
	}
	if len(words) == 0 {
		return "?"
	}
	return strings.Join(words, " ")
}

// quote is one argument.
func quote(s string) string {
	odd, unprintable := s == "", false
	for _, r := range s {
		odd = odd || r <= ' ' || strings.ContainsRune("'\"\\$`&|;<>()*?[]{}!#~", r)
		unprintable = unprintable || !unicode.IsPrint(r) || r == unicode.ReplacementChar
	}
	switch {
	case unprintable:
		// bash's $'…' has the escapes of Go's strings.
		q := strconv.QuoteToASCII(s)
		return "$'" + strings.NewReplacer(`\"`, `"`, `\\`, `\\`, "'", `\'`).Replace(q[1:len(q)-1]) + "'"
	case odd:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// signalNames are Linux's on x86-64, by number.
func signalNames() []string {
	return strings.Fields("0 HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP " +
		"TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS")
}

// signalName is a signal's name, and the number where it has none.
func signalName(n int) string {
	if names := signalNames(); n > 0 && n < len(names) {
		return "SIG" + names[n]
	}
	return fmt.Sprintf("signal %d", n)
}
