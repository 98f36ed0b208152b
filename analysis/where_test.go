package analysis

import (
	"bytes"
	"strings"
	"testing"
)

// TestPrintable: names that hold control characters, or are no UTF-8, break no line and no terminal.
func TestPrintable(t *testing.T) {
	for s, want := range map[string]string{"a\nb": "a?b", "\x1b[31mred": "?[31mred", "ü…": "ü…", "\xff\t": "\ufffd?"} {
		if got := Printable(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	var out bytes.Buffer
	table := NewTextTable("name", "n")
	table.Add("a\x1b\nb", "1")
	table.Write(&out, "")
	if strings.Count(out.String(), "\n") != 2 || strings.Contains(out.String(), "\x1b") {
		t.Errorf("%q", out.String())
	}
	if got := joinCommand([]string{"a b", "it's\n\\\""}); got != `'a b' $'it\'s\n\\"'` {
		t.Errorf("%s", got)
	}
}
