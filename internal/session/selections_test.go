package session

import (
	"slices"
	"strings"
	"testing"

	"alleria/config"
)

// TestMissingProcesses tells of processes that a configuration names and no run has had.
func TestMissingProcesses(t *testing.T) {
	const text = `<AlleriaConfig version="1.0"><Window>
<On><Call name="main" process="9"/></On>
<Profile>
<Process n="2"/><Process n="3"/><Process name="cc1*"/><Process name="mak"/><Process path="/bin/ls" depth="7"/><Process/>
</Profile></Window></AlleriaConfig>`
	c, _, err := config.Parse("w.xml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := newSelectedProcesses(c)
	if got := s.missing(); got != nil {
		t.Errorf("without a run: %q", got)
	}
	s.see(&config.ProcessFacts{Number: 1, Path: "/usr/bin/make"})
	s.see(&config.ProcessFacts{Number: 2, Path: "/usr/lib/cc1plus", Depth: 1})
	want := []string{
		"w.xml:4:17: there was no process 3; the tree had 1 to 2",
		"w.xml:4:55: no process executed mak; the nearest is make",
		"w.xml:4:76: no process was as this element says; alleria tree -- PROGRAM shows which there are",
		"w.xml:2:5: the event never came: there was no process 9; the tree had 1 to 2",
	}
	if got := s.missing(); !slices.Equal(got, want) {
		t.Errorf("\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
