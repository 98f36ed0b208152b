package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// mistake is one block of testdata/wrong.txt.
type mistake struct {
	title   string
	edits   [][2]string
	outcome []string
}

// readMistakes parses testdata/wrong.txt; its head says how it is written.
func readMistakes(t *testing.T) (head string, list []mistake) {
	t.Helper()
	data, err := os.ReadFile("testdata/wrong.txt")
	if err != nil {
		t.Fatal(err)
	}
	unescape := strings.NewReplacer(`\n`, "\n")
	head, rest, _ := strings.Cut(string(data), "\n== ")
	for _, block := range strings.Split(rest, "\n== ") {
		lines := strings.Split(strings.TrimRight(block, "\n"), "\n")
		m := mistake{title: lines[0]}
		for _, l := range lines[1:] {
			switch {
			case strings.HasPrefix(l, "- "):
				m.edits = append(m.edits, [2]string{unescape.Replace(l[2:])})
			case strings.HasPrefix(l, "+"):
				m.edits[len(m.edits)-1][1] = unescape.Replace(strings.TrimPrefix(l[1:], " "))
			default:
				m.outcome = append(m.outcome, l)
			}
		}
		list = append(list, m)
	}
	return head, list
}

// apply makes the mistake.
func (m *mistake) apply(t *testing.T, base string) string {
	t.Helper()
	for _, e := range m.edits {
		if n := strings.Count(base, e[0]); n != 1 {
			t.Fatalf("%s: %q occurs %d times in the base", m.title, e[0], n)
		}
		base = strings.Replace(base, e[0], e[1], 1)
	}
	return base
}

func readBase(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("testdata/base.xml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// outcomeOf lists what Parse says of a text, in the form of wrong.txt.
func outcomeOf(t *testing.T, text string) []string {
	t.Helper()
	c, warns, err := Parse("f", []byte(text))
	var errs Errors
	if err != nil && !errors.As(err, &errs) {
		t.Fatalf("the error is a %T", err)
	}
	if (c == nil) != (len(errs) > 0) {
		t.Fatalf("a value and an error, or neither: %v, %v", c, err)
	}
	var out []string
	for i, e := range errs {
		if i > 0 && errs[i-1].Pos.compare(e.Pos) > 0 {
			t.Errorf("errors are not sorted: %v after %v", e.Pos, errs[i-1].Pos)
		}
		kind := map[bool]string{true: "R", false: "E"}[e.rule]
		out = append(out, kind+strings.TrimPrefix(e.Error(), "f"))
		if e.Line < 1 || e.Col < 1 || e.What == "" || e.Right == "" {
			t.Errorf("an error lacks place, fault or remedy: %+v", e)
		}
	}
	for _, w := range warns {
		out = append(out, "W"+strings.TrimPrefix(w.String(), "f"))
	}
	return out
}

func TestBaseIsRight(t *testing.T) {
	if out := outcomeOf(t, readBase(t)); out != nil {
		t.Errorf("base.xml: %s", strings.Join(out, "\n"))
	}
}

// TestWrong makes each mistake of wrong.txt and compares everything that is
// said about it, places included.
func TestWrong(t *testing.T) {
	head, list := readMistakes(t)
	base := readBase(t)
	var b strings.Builder
	b.WriteString(head)
	for _, m := range list {
		got := outcomeOf(t, m.apply(t, base))
		if len(got) == 0 {
			t.Errorf("%s: nothing is said about it", m.title)
		}
		if want := strings.Join(m.outcome, "\n"); want != strings.Join(got, "\n") && !*update {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", m.title, strings.Join(got, "\n"), want)
		}
		fmt.Fprintf(&b, "\n== %s\n", m.title)
		escape := strings.NewReplacer("\n", `\n`)
		for _, e := range m.edits {
			fmt.Fprintf(&b, "- %s\n%s\n", escape.Replace(e[0]), strings.TrimRight("+ "+escape.Replace(e[1]), " "))
		}
		for _, l := range got {
			b.WriteString(l + "\n")
		}
	}
	if *update {
		if err := os.WriteFile("testdata/wrong.txt", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
