package symbols

import "testing"

// A name that the symbols lack is not found, and the table of functions is not made for it.
func TestAbsentNames(t *testing.T) {
	for _, path := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/bin/true"} {
		im, err := Open(path)
		if err != nil {
			t.Logf("%v", err)
			continue
		}
		defer im.Close()
		const name = "no_function_of_this_name"
		if got := im.Find(name, false); len(got) != 0 {
			t.Errorf("%s: Find(%q) = %v", path, name, got)
		}
		if _, all := im.nameTables(); im.made.Load() == all {
			t.Errorf("%s: the table was made: %v; only the symbols have names: %v", path, im.made.Load(), all)
		}
	}
}
