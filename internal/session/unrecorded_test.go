package session

import (
	"strings"
	"sync/atomic"
	"testing"

	"alleria/engine"
)

// TestUnrecorded: programs of children that are detached are named once each, when they are found; what has ended by then is counted at the end.
func TestUnrecorded(t *testing.T) {
	var u unrecorded
	var out strings.Builder
	look := func(number int, paths ...string) {
		u.looks++
		var n atomic.Int32
		u.look(&out, number, "/bin/sh", "of a reason", func() string { return paths[min(int(n.Add(1)), len(paths))-1] })
	}
	look(2, "/bin/sh", "/bin/sh", "/bin/ls")
	look(3, "/bin/ls")
	look(4, "/bin/sh", "")
	look(5, "")
	u.found(&out, 6, "/opt/x y", "of a reason")
	want := "alleria: ls (process 2) runs unrecorded: of a reason\n" +
		"alleria: x y (process 6) runs unrecorded: of a reason\n"
	if out.String() != want || u.looks != 0 {
		t.Errorf("%d under way\n%s", u.looks, out.String())
	}
	if note := u.note(&engine.Status{Detached: 5}); note != "5 child processes ran untraced, of ls, x y and others" {
		t.Error(note)
	}
	if note := new(unrecorded).note(&engine.Status{Detached: 1}); note != "1 child process ran untraced" {
		t.Error(note)
	}
}
