package diskcache

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// opened is a folder of a test's own.
func opened(t testing.TB) *Dir {
	d, err := Open(filepath.Join(t.TempDir(), "kept"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// must fails the test where something went wrong.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestEntryIsFoundByItsKey: what was stored in parts is there whole, under its key alone, until another takes its place.
func TestEntryIsFoundByItsKey(t *testing.T) {
	d := opened(t)
	if data, err := d.Load("a"); data != nil || err != nil {
		t.Fatalf("of an empty folder: %q, %v", data, err)
	}
	must(t, d.Store("a", "first", [][]byte{[]byte("one "), nil, []byte("two")}))
	must(t, d.Store("b", "", nil))
	must(t, d.Store("a", "second", [][]byte{[]byte("three")}))
	if data, err := d.Load("a"); string(data) != "three" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := d.Load("b"); data == nil || len(data) != 0 || err != nil {
		t.Errorf("of nothing: %q, %v", data, err)
	}
	list, err := d.List()
	if err != nil || len(list) != 2 || list[0].Key+list[1].Key != "ba" && list[0].Key+list[1].Key != "ab" {
		t.Errorf("%+v, %v", list, err)
	}
	if n, bytes, err := d.Clear(); n != 2 || bytes < 2*headSize || err != nil {
		t.Errorf("%d files of %d bytes were removed: %v", n, bytes, err)
	}
	if left, _ := os.ReadDir(d.Path()); len(left) != 0 {
		t.Errorf("%v was left", left)
	}
}

// TestDamageIsNoEntry: with any byte another, or any cut off, a file is none, and is gone.
func TestDamageIsNoEntry(t *testing.T) {
	d := opened(t)
	must(t, d.Store("key", "about", [][]byte{[]byte("some data")}))
	file := filepath.Join(d.Path(), nameOf("key"))
	whole, err := os.ReadFile(file)
	must(t, err)
	try := func(what string, b []byte) {
		must(t, os.WriteFile(file, b, 0o600))
		data, err := d.Load("key")
		if data != nil || !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %q, %v", what, data, err)
		}
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the file is still there (%v)", what, err)
		}
	}
	for i := range whole {
		if i >= headSize+8+4 && i < dataAt(8, 9) { // between the checksums and the data
			continue
		}
		b := bytes.Clone(whole)
		b[i] ^= 0x10
		try("another byte", b)
		try("cut off", whole[:i])
	}
	try("longer", append(bytes.Clone(whole), 0))
}

// TestLeastUsedGoes: what was not used for longest is removed when all together are too large, and what is too large by itself is not kept.
func TestLeastUsedGoes(t *testing.T) {
	d := opened(t)
	d.Most, d.MostEntry = 3500, 2000
	part := [][]byte{make([]byte, 1000)}
	for i, key := range []string{"a", "b", "c"} {
		must(t, d.Store(key, "", part))
		then := time.Now().Add(time.Duration(i-10) * time.Minute)
		must(t, os.Chtimes(filepath.Join(d.Path(), nameOf(key)), then, then))
	}
	if data, _ := d.Load("a"); data == nil {
		t.Fatal("not kept")
	}
	must(t, d.Store("d", "", part))
	must(t, d.Store("large", "", [][]byte{make([]byte, 3000)}))
	for key, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true, "large": false} {
		if data, err := d.Load(key); (data != nil) != want || err != nil {
			t.Errorf("%s: %d bytes, %v", key, len(data), err)
		}
	}
}

// TestOthersFoldersAreRefused: a folder that others can read, or that a link leads to, is none.
func TestOthersFoldersAreRefused(t *testing.T) {
	top := t.TempDir()
	open, link := filepath.Join(top, "open"), filepath.Join(top, "link")
	must(t, os.Mkdir(open, 0o700))
	must(t, os.Chmod(open, 0o750))
	must(t, os.Symlink(t.TempDir(), link))
	must(t, os.WriteFile(filepath.Join(top, "file"), nil, 0o600))
	for _, path := range []string{open, link} {
		if _, err := Open(path); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := Open(filepath.Join(top, "file")); err == nil {
		t.Error("a file is no folder")
	}
	d := opened(t)
	must(t, d.Store("key", "", nil))
	must(t, os.Chmod(filepath.Join(d.Path(), nameOf("key")), 0o644))
	if data, err := d.Load("key"); data != nil || !errors.Is(err, ErrRefused) {
		t.Errorf("a file that others can read: %v, %v", data, err)
	}
}

// TestWritersDoNotDisturb: several write and read the same key at once, and see whole entries only.
func TestWritersDoNotDisturb(t *testing.T) {
	d := opened(t)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			part := []byte(strings.Repeat(string(rune('a'+i)), 5000))
			for range 50 {
				if err := d.Store("key", "", [][]byte{part, part}); err != nil {
					t.Error(err)
				}
				data, err := d.Load("key")
				if err != nil || len(data) != 10000 || bytes.Count(data, data[:1]) != len(data) {
					t.Errorf("%d bytes, %v", len(data), err)
				}
			}
		})
	}
	all.Wait()
	if left, _ := os.ReadDir(d.Path()); len(left) != 1 {
		t.Errorf("%v was left", left)
	}
}

// TestPieces: data of any number of pieces, stored in parts of any length, come back, read by one thread or by two, and damage of any piece is found by both.
func TestPieces(t *testing.T) {
	d := opened(t)
	alone, small := *d, *d
	alone.Alone, small.Small = true, true
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, pieceBytes - 1, pieceBytes, pieceBytes + 1, 9*pieceBytes + 77, 16 * pieceBytes, 19*pieceBytes + 77} {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		var parts [][]byte
		for rest := data; len(rest) > 0; {
			k := min(1+rng.IntN(pieceBytes), len(rest))
			parts, rest = append(parts, rest[:k]), rest[k:]
		}
		about := string(make([]byte, firstRead-headSize-20*(n%3))) // the header's end lies behind what is read first, or not
		must(t, d.Store("key", about, parts))
		file := filepath.Join(d.Path(), nameOf("key"))
		whole, err := os.ReadFile(file)
		must(t, err)
		for _, from := range []*Dir{d, &alone, &small} {
			for range 20 {
				if got, err := from.Load("key"); !bytes.Equal(got, data) || got == nil || err != nil {
					t.Fatalf("%d bytes: %d came back, %v", n, len(got), err)
				}
			}
			for k := range piecesOf(n) {
				b := bytes.Clone(whole)
				b[len(b)-n+k*pieceBytes] ^= 1
				must(t, os.WriteFile(file, b, 0o600))
				if got, err := from.Load("key"); got != nil || !errors.Is(err, ErrDamaged) {
					t.Fatalf("%d bytes, piece %d is another: %d came back, %v", n, k, len(got), err)
				}
				must(t, os.WriteFile(file, whole, 0o600))
			}
		}
		if _, got, _, err := Parse(whole); got != about || err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// FuzzParse: any file is an entry with a key or an error.
func FuzzParse(f *testing.F) {
	head, _ := header("key", "about", [][]byte{[]byte("data")})
	f.Add(append(head, "data"...))
	f.Fuzz(func(t *testing.T, file []byte) {
		key, about, data, err := Parse(file)
		if err != nil && (key != "" || about != "" || data != nil) {
			t.Errorf("%q, %q, %q with %v", key, about, data, err)
		}
	})
}
