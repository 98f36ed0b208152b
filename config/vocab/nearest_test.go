package vocab

import "testing"

func TestNearest(t *testing.T) {
	for _, c := range [][2]string{{"libz.so", "libz.so.1"}, {"gzpi", "gzip"}, {"completely-else", ""}} {
		if got := Nearest(c[0], []string{"libz.so.1", "gzip", "libc.so.6"}); got != c[1] {
			t.Errorf("%s: %q, want %q", c[0], got, c[1])
		}
	}
	if got := Nearest("x", nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"größe", "grosse", 3}} {
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
