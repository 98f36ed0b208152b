package present

import (
	"bufio"
	"bytes"
	"testing"
)

// TestNothing prints what comes of no calls at all: documents and tables of nothing are still such.
func TestNothing(t *testing.T) {
	for _, c := range []struct {
		what string
		make func(w *bufio.Writer) Printer
		want string
	}{
		{"list", func(w *bufio.Writer) Printer { return List(w, Options{}, nil) }, ""},
		{"rows", func(w *bufio.Writer) Printer { return List(w, Options{CSV: true}, nil) }, ""},
		{"statistics", func(w *bufio.Writer) Printer { return Statistics(w, Options{}, nil) }, ""},
		{"statistics in JSON", func(w *bufio.Writer) Printer { return Statistics(w, Options{JSON: true}, nil) }, "[]\n"},
		{"leaks", func(w *bufio.Writer) Printer { return Leaks(w, Options{}, nil) }, "0 allocations of 0 bytes, 0 freed; never freed: 0, of 0 bytes\n"},
		{"leaks in JSON", func(w *bufio.Writer) Printer { return Leaks(w, Options{JSON: true}, nil) },
			"{\n  \"allocations\": 0,\n  \"freed\": 0,\n  \"bytes\": 0,\n  \"live_bytes\": 0,\n  \"live\": []\n}\n"},
	} {
		var out bytes.Buffer
		w := bufio.NewWriter(&out)
		if err := c.make(w).End(); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if w.Flush(); out.String() != c.want {
			t.Errorf("%s: %q, want %q", c.what, out.String(), c.want)
		}
	}
}
