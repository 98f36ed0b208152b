package symbols

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"
)

// memoryStore is a Store of a test's own.
type memoryStore struct {
	entries map[string][]byte
	loads   int // that found something
}

func (s *memoryStore) Load(key string) ([]byte, error) {
	if s.entries[key] != nil {
		s.loads++
	}
	return s.entries[key], nil
}

func (s *memoryStore) Store(key, _ string, parts [][]byte) error {
	s.entries[key] = slices.Concat(parts...)
	return nil
}

// withStore opens an image as a run would that begins long after the file was written.
func withStore(t testing.TB, path string, s *memoryStore, opts Options) *Image {
	t.Helper()
	opts.Kept = s
	im, err := OpenWith(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { im.Close() })
	im.opened = im.opened.Add(time.Hour)
	return im
}

// keepOf makes an image's table and keeps it.
func keepOf(t testing.TB, path string, s *memoryStore, opts Options) {
	t.Helper()
	im := withStore(t, path, s, opts)
	im.Functions()
	if err := im.keep(); err != nil {
		t.Fatal(err)
	}
}

// sameFunctions fails the test where two images' tables differ.
func sameFunctions(t *testing.T, got, want *Image) {
	t.Helper()
	plain := func(im *Image) []Function {
		fns := slices.Clone(im.Functions())
		for i := range fns {
			fns[i].image = nil
			if len(fns[i].Aliases) == 0 {
				fns[i].Aliases = nil
			}
		}
		return fns
	}
	a, b := plain(got), plain(want)
	if len(a) != len(b) {
		t.Fatalf("%d functions, not %d", len(a), len(b))
	}
	for i := range a {
		if !reflect.DeepEqual(a[i], b[i]) {
			t.Fatalf("function %d is %+v, not %+v", i, a[i], b[i])
		}
	}
	if !slices.Equal(got.maxEnd, want.maxEnd) || got.Sum() != want.Sum() {
		t.Errorf("ends or sums differ: %x and %x", got.Sum(), want.Sum())
	}
}

// TestKeptFunctions: a table that an earlier run has made is the table, with symbols, without, of a library with versions.
func TestKeptFunctions(t *testing.T) {
	for _, path := range []string{"/bin/bash", "/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libstdc++.so.6", "/proc/self/exe"} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			s := &memoryStore{entries: make(map[string][]byte)}
			keepOf(t, system(t, path), s, Options{})
			kept := withStore(t, path, s, Options{})
			if kept.Sum() == 0 || kept.NumFunctions() != len(mustOpen(t, path).Functions()) || kept.made.Load() {
				t.Errorf("the sum is %x, of %d functions; made: %t", kept.Sum(), kept.NumFunctions(), kept.made.Load())
			}
			if kept.TakeKept(); !kept.made.Load() {
				t.Error("the table is not made of what is kept")
			}
			if none := withStore(t, path, &memoryStore{entries: make(map[string][]byte)}, Options{}); !none.made.Load() {
				if none.TakeKept(); none.made.Load() {
					t.Error("a table is made where none is kept")
				}
			}
			sameFunctions(t, kept, mustOpen(t, path))
			if s.loads != 1 || !kept.isKept {
				t.Errorf("taken %d times from %d entries", s.loads, len(s.entries))
			}
			before := maps.Clone(s.entries)
			if err := kept.keep(); err != nil || !reflect.DeepEqual(before, s.entries) {
				t.Errorf("kept again: %v", err)
			}
		})
	}
}

// TestKeptFunctionsOfFixtures: tables of few functions, too, are the same from bytes, Go's among them.
func TestKeptFunctionsOfFixtures(t *testing.T) {
	shapes(t, func(t *testing.T, path string) {
		want := mustOpen(t, path)
		fns, ok := decodeFunctions(encodeFunctions(want.Functions(), want.Sum()))
		if !ok {
			t.Fatal("not decoded")
		}
		got := mustOpen(t, path)
		got.fnOnce.Do(func() {})
		for i := range fns {
			fns[i].image = got
		}
		got.fns, got.maxEnd = fns, want.maxEnd
		sameFunctions(t, got, want)
	})
}

// TestKeptFunctionsAreOfOneVersion: whatever a table depends on has it made anew where it is another.
func TestKeptFunctionsAreOfOneVersion(t *testing.T) {
	dirs := []string{t.TempDir()}
	path := copyFile(t, system(t, "/bin/bash"))
	s := &memoryStore{entries: make(map[string][]byte)}
	opts := Options{DebugDirs: dirs, KeptFor: "us"}
	taken := func(opts Options) bool {
		s.loads = 0
		im := withStore(t, path, s, opts)
		im.Functions()
		return s.loads > 0
	}
	keepOf(t, path, s, opts)
	if !taken(opts) {
		t.Fatal("not kept")
	}
	other := opts
	if other.KeptFor = "others"; taken(other) {
		t.Error("another binary has taken it")
	}
	// A debug file that has come, is another, and is gone again.
	id := mustOpen(t, path).BuildID
	debug := filepath.Join(dirs[0], ".build-id", id[:2], id[2:]+".debug")
	if err := os.MkdirAll(filepath.Dir(debug), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(file, text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(debug, "none of ours")
	if taken(opts) {
		t.Error("taken although a debug file has come")
	}
	keepOf(t, path, s, opts)
	write(debug, "another one")
	if taken(opts) {
		t.Error("taken although the debug file is another")
	}
	os.Remove(debug)
	if !taken(opts) {
		t.Error("not taken with the debug file gone")
	}
	// The image itself, written to in place.
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{0}, 15); err != nil { // a byte that says nothing
		t.Fatal(err)
	}
	f.Close()
	if taken(opts) {
		t.Error("taken although the file has been written to")
	}
}

// TestNewFilesFunctionsAreNotKept: what was written an instant ago may be written once more without looking like it.
func TestNewFilesFunctionsAreNotKept(t *testing.T) {
	s := &memoryStore{entries: make(map[string][]byte)}
	im, err := OpenWith(copyFile(t, system(t, "/bin/bash")), Options{Kept: s})
	if err != nil {
		t.Fatal(err)
	}
	defer im.Close()
	im.opened = im.opened.Add(-time.Hour) // whatever the machine's load
	im.Functions()
	if err := im.keep(); err != nil || len(s.entries) > 0 {
		t.Errorf("%d entries, %v", len(s.entries), err)
	}
}

// FuzzDecodeFunctions: other bytes are no table, or one that can be used.
func FuzzDecodeFunctions(f *testing.F) {
	im := mustOpen(f, system(f, "/bin/true"))
	f.Add(encodeFunctions(im.Functions(), im.Sum()))
	f.Add(encodeFunctions([]Function{{Addr: 16, Size: 4, Aliases: []Alias{{"a", "V1", true}, {"b", "", false}}}, {Addr: 17, Source: Unwind}}, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		fns, ok := decodeFunctions(b)
		if !ok {
			if fns != nil {
				t.Fatal("functions of what is no table")
			}
			return
		}
		again, ok := decodeFunctions(encodeFunctions(fns, 0))
		if !ok || len(again) != len(fns) {
			t.Fatal("what was decoded is not encoded")
		}
		for i := range fns {
			fns[i].image = im
			fns[i].Name()
			if i > 0 && fns[i].Addr <= fns[i-1].Addr {
				t.Fatal("the table is not sorted")
			}
		}
	})
}
