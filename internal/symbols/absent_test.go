package symbols

import (
	"bytes"
	"os"
	"testing"
)

// A name that the string tables lack is not found, and the table of functions is not made
// for it; every name that the table has is found by an image that has not made it yet.
func TestAbsentNames(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/bin/true", self} {
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
		if made := im.fns != nil; made == im.lacks(name) {
			t.Errorf("%s: the table was made: %v; the name is certainly absent: %v", path, made, !made)
		}
		fns := im.Functions()
		for i := 0; i < len(fns); i += 1 + len(fns)/50 {
			f := &fns[i]
			if len(f.Aliases) == 0 || im.golang {
				continue
			}
			for _, name := range []string{f.Linked(), demangleBoth(f.Linked()).short} {
				if part := finalIdentifier(name); im.lacks(part) {
					t.Errorf("%s: there is a %s, but %q is said to be absent", path, name, part)
				}
			}
		}
	}
}

// Where a debug file has the names, nothing is known to be absent without it.
func TestAbsentWithDebugFile(t *testing.T) {
	text, err := os.ReadFile("/usr/bin/true")
	if err != nil {
		t.Skip(err)
	}
	im, err := OpenReader(bytes.NewReader(text), "true")
	if err != nil {
		t.Fatal(err)
	}
	if !im.lacks("some_name") {
		t.Skip("true has symbols of its own, or debug files")
	}
	dir := t.TempDir()
	im.opts.DebugDirs = []string{dir}
	if im.BuildID == "" {
		t.Skip("no build-id")
	}
	if err := os.MkdirAll(dir+"/.build-id/"+im.BuildID[:2], 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/.build-id/"+im.BuildID[:2]+"/"+im.BuildID[2:]+".debug", text, 0o644); err != nil {
		t.Fatal(err)
	}
	if im.lacks("some_name") {
		t.Error("a name is said to be absent, though a debug file may have it")
	}
}
