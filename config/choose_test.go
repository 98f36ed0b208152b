package config

import (
	"strings"
	"testing"
)

// chosen parses Process elements, each with a follow or content of its own, and says by
// its position, from 1, which one holds for a process; 0 is none.
func chosen(t *testing.T, elements string, f ProcessFacts) int {
	t.Helper()
	c := mustParse(t, profileText(elements))
	got := c.Matcher().Genesis(&f).Element(0)
	for i, p := range c.Windows[0].Profile.Processes {
		if p == got {
			return i + 1
		}
	}
	return 0
}

// TestChooseProcess has a case for each selector, for each pair of neighbours in the
// order of specificity, and for what decides between equals.
func TestChooseProcess(t *testing.T) {
	cc1 := ProcessFacts{Number: 7, Depth: 3, Ancestors: []int{5, 2, 1}, Path: "/usr/libexec/cc1", Args: []string{"cc1", "-quiet", "a.c", "-O2"}}
	gcc := ProcessFacts{Number: 2, Depth: 1, Ancestors: []int{1}, Path: "/usr/bin/x86_64-linux-gnu-gcc-14", Also: []string{"/usr/bin/gcc"}, Args: []string{"gcc", "a.c"}}
	sh := ProcessFacts{Number: 1, Path: "/usr/bin/dash", Also: []string{"/src/configure"}, Args: []string{"/bin/sh", "/src/configure"}}
	for _, c := range []struct {
		elements string
		f        ProcessFacts
		want     int
	}{
		// Each selector by itself.
		{`<Process n="7"/>`, cc1, 1}, {`<Process n="6"/>`, cc1, 0},
		{`<Process name="cc1"/>`, cc1, 1}, {`<Process name="cc"/>`, cc1, 0}, {`<Process name="CC1"/>`, cc1, 0}, {`<Process name="*c*1*"/>`, cc1, 1}, {`<Process name="libexec/cc1"/>`, cc1, 0},
		{`<Process path="/usr/libexec/cc1"/>`, cc1, 1}, {`<Process path="/usr/bin/cc1"/>`, cc1, 0}, {`<Process path="/usr/*"/>`, cc1, 0},
		{`<Process argument="a.c"/>`, cc1, 1}, {`<Process argument="*.c"/>`, cc1, 1}, {`<Process argument="-O*"/>`, cc1, 1}, {`<Process argument=".c"/>`, cc1, 0}, {`<Process argument="cc1"/>`, cc1, 0},
		{`<Process depth="3"/>`, cc1, 1}, {`<Process depth="0..2"/>`, cc1, 0}, {`<Process depth="3..9"/>`, cc1, 1}, {`<Process depth="4..9"/>`, cc1, 0}, {`<Process depth="0"/>`, sh, 1},
		{`<Process under="1"/>`, cc1, 1}, {`<Process under="5"/>`, cc1, 1}, {`<Process under="7"/>`, cc1, 0}, {`<Process under="1"/>`, sh, 0},
		{`<Process/>`, cc1, 1}, {`<Process n="0"/>`, cc1, 1},
		// Other paths that lead to the program.
		{`<Process name="gcc"/>`, gcc, 1}, {`<Process path="/usr/bin/gcc"/>`, gcc, 1}, {`<Process name="*-gcc-14"/>`, gcc, 1}, {`<Process name="configure"/>`, sh, 1}, {`<Process name="dash"/>`, sh, 1},
		{`<Process name="*"/>`, ProcessFacts{Number: 1}, 0}, {`<Process argument="*"/>`, ProcessFacts{Number: 1}, 0},
		// All that are given must hold.
		{`<Process name="cc1" argument="-O3"/>`, cc1, 0}, {`<Process name="cc1" argument="-O2" under="2" depth="2..3"/>`, cc1, 1}, {`<Process name="as" under="2"/>`, cc1, 0},
		// Neighbours in the order, in both orders of the file.
		{`<Process path="/usr/libexec/cc1"/><Process n="7"/>`, cc1, 2}, {`<Process n="7"/><Process path="/usr/libexec/cc1"/>`, cc1, 1},
		{`<Process name="cc1"/><Process path="/usr/libexec/cc1"/>`, cc1, 2}, {`<Process path="/usr/libexec/cc1"/><Process name="cc1" argument="a.c" under="5" depth="3"/>`, cc1, 1},
		{`<Process argument="a.c"/><Process name="c*"/>`, cc1, 2}, {`<Process name="c*"/><Process argument="a.c" under="5" depth="3"/>`, cc1, 1},
		{`<Process under="5"/><Process argument="*"/>`, cc1, 2}, {`<Process argument="*"/><Process under="5" depth="3"/>`, cc1, 1},
		{`<Process depth="3"/><Process under="1"/>`, cc1, 2}, {`<Process under="1"/><Process depth="3"/>`, cc1, 1},
		{`<Process/><Process depth="0..9"/>`, cc1, 2}, {`<Process depth="0..9"/><Process/>`, cc1, 1},
		// More of the same.
		{`<Process name="cc1"/><Process name="cc1" depth="3"/>`, cc1, 2}, {`<Process path="/usr/libexec/cc1"/><Process path="/usr/libexec/cc1" argument="-O2"/>`, cc1, 2},
		// Equals: a text before a pattern, the longer literal part, the nearer ancestor, fewer
		// generations, the first in the file.
		{`<Process name="cc1*"/><Process name="cc1"/>`, cc1, 2}, {`<Process name="c*"/><Process name="cc*"/>`, cc1, 2}, {`<Process name="*1"/><Process name="c*"/>`, cc1, 1},
		{`<Process argument="-*"/><Process argument="-O2"/>`, cc1, 2}, {`<Process argument="a*"/><Process argument="-O*"/>`, cc1, 2},
		{`<Process under="1"/><Process under="2"/>`, cc1, 2}, {`<Process under="5"/><Process under="2"/>`, cc1, 1},
		{`<Process depth="1..3"/><Process depth="2..3"/>`, cc1, 2}, {`<Process depth="3..4"/><Process depth="2..3"/>`, cc1, 1},
		{`<Process name="cc1*"/><Process name="cc1" depth="3"/><Process name="cc1" depth="2..3"/>`, cc1, 2},
	} {
		if got := chosen(t, c.elements, c.f); got != c.want {
			t.Errorf("%s: element %d, want %d", c.elements, got, c.want)
		}
	}
}

// step is one thing that happens to processes in TestFollow: ">2 name" creates process 2
// from the last one, "=name" executes a program in the last one.
func followed(t *testing.T, windows []string, steps string) string {
	t.Helper()
	text := `<AlleriaConfig version="1.0">`
	for _, w := range windows {
		text += `<Window><Profile>` + w + `</Profile></Window>`
	}
	m := mustParse(t, text+`</AlleriaConfig>`).Matcher()
	f := ProcessFacts{Number: 1, Path: "/bin/first"}
	p := m.Genesis(&f)
	word := func() string { return map[bool]string{true: "y", false: "n"}[p.Followed()] }
	got := word()
	for _, s := range strings.Fields(steps) {
		name := s[1:]
		if s[0] == '>' {
			if !p.Followed() {
				return got + " a child of one detached"
			}
			may := p.FollowsChildren()
			f.Ancestors = append([]int{f.Number}, f.Ancestors...)
			f.Number++
			f.Depth++
			p = m.Child(p, &f)
			if p.Followed() && !may {
				return got + " followed though none can be"
			}
		} else {
			may := p.FollowsExec()
			f.Path = "/bin/" + name
			p = m.Executed(p, &f)
			if p.Followed() && !may {
				return got + " followed though none can be"
			}
		}
		got += word()
	}
	return got
}

// TestFollow goes down a chain of processes and programs and says at each step whether
// that is followed.
func TestFollow(t *testing.T) {
	for _, c := range []struct {
		windows     []string
		steps, want string
	}{
		{[]string{`<Process/>`}, "> =a > =b", "yyyyy"},
		{[]string{`<Process follow="exec"/>`}, "=a =b >", "yyyn"},
		{[]string{`<Process follow="none"/>`}, "=a", "yn"},
		{[]string{`<Process follow="none"/>`}, ">", "yn"},
		// Looked at again after each program: what it was detached for is the next element's to say.
		{[]string{`<Process/><Process name="cc1" follow="exec"/>`}, "> =cc1 =as > ", "yyyyy"},
		{[]string{`<Process/><Process name="cc1" follow="exec"/>`}, "> =cc1 >", "yyyn"},
		{[]string{`<Process n="1"/>`}, ">", "yn"},
		{[]string{`<Process n="1"/><Process n="2"/>`}, "> >", "yyn"},
		{[]string{`<Process name="first"/><Process name="cc1"/>`}, "> =cc1", "yyy"},
		{[]string{`<Process name="first"/>`}, "> =cc1", "yyn"},
		{[]string{`<Process name="cc1"/>`}, "", "n"},
		{[]string{`<Process under="1"/><Process n="1" follow="exec"/>`}, ">", "yn"},
		{[]string{`<Process depth="0..1"/>`}, "> >", "yyn"},
		// A process is followed that some window follows; what another cuts off stays so below.
		{[]string{`<Process n="1" follow="exec"/>`, `<Process/>`}, "> > =a", "yyyy"},
		{[]string{`<Process n="1"/>`, `<Process n="2"/>`}, ">", "yy"},
	} {
		if got := followed(t, c.windows, c.steps); got != c.want {
			t.Errorf("%q, %s: %s, want %s", c.windows, c.steps, got, c.want)
		}
	}
}

// TestFollowByWindow tells which windows record of a child that one of them does not follow,
// and of that one's child.
func TestFollowByWindow(t *testing.T) {
	body := `<Thread><Image><Function><Instruction cat="any"/></Function></Image></Thread>`
	m := mustParse(t, `<AlleriaConfig version="1.0"><Window><Profile><Process n="1" follow="exec">`+body+`</Process><Process>`+body+
		`</Process></Profile></Window><Window><Profile><Process/></Profile></Window></AlleriaConfig>`).Matcher()
	first := m.Genesis(&ProcessFacts{Number: 1})
	child := m.Child(first, &ProcessFacts{Number: 2, Depth: 1, Ancestors: []int{1}})
	grandchild := m.Child(m.Executed(child, &ProcessFacts{Number: 2, Depth: 1, Ancestors: []int{1}}), &ProcessFacts{Number: 3, Depth: 2, Ancestors: []int{2, 1}})
	only := func(n int) func(int) bool { return func(i int) bool { return i == n } }
	for _, c := range []struct {
		what string
		p    *ProcessMatcher
		open func(int) bool
		want Status
	}{
		{"first", first, nil, Records}, {"first, the first window", first, only(0), Records}, {"first, the second", first, only(1), RecordsNothing},
		{"child", child, nil, RecordsNothing}, {"child, the first window", child, only(0), NotFollowed}, {"child, the second", child, only(1), RecordsNothing},
		{"grandchild", grandchild, nil, RecordsNothing}, {"grandchild, the first window", grandchild, only(0), NotFollowed},
	} {
		th, got := c.p.Thread(1, c.open)
		if got != c.want || (th != nil) != (got == Records) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
	if first.Element(0).Thread(1) == nil || first.Element(1).Thread(1) != nil || child.Element(0) != nil {
		t.Error("elements")
	}
}
