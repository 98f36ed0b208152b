package emit

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"alleria/abp"
)

// TestMaxInstructions records with bounds of all sizes: exactly so many instructions are there,
// of each thread its first ones, and the profile is sound.
func TestMaxInstructions(t *testing.T) {
	for seed := range uint64(4) {
		all, err := abp.Open(record(t, seed, 20, 60, Options{}).dir)
		if err != nil {
			t.Fatal(err)
		}
		total := all.Counts().Instructions
		all.Close()
		for i := range uint64(24) {
			most := 1 + total*i/20 // also more than there are
			r := record(t, seed, 20, 60, Options{MaxInstructions: most, Level: int(i%3) - 1, NoVector: i%2 == 0})
			if found := problems(t, r.dir); len(found) > 0 {
				t.Fatalf("seed %d, at most %d: %v", seed, most, found)
			}
			if got := prefixOf(t, r); got != min(most, total) {
				t.Errorf("seed %d, at most %d of %d: %d", seed, most, total, got)
			}
		}
	}
}

// prefixOf compares each thread with the beginning of what it did, and returns how many
// instructions there are.
func prefixOf(t *testing.T, r *recording) uint64 {
	t.Helper()
	p, err := abp.Open(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	at := map[uint32]int{}
	var sum abp.Counts
	err = p.EachExec(abp.Query{}, func(x *abp.Exec) error {
		e := r.threads[x.Thread].out[at[x.Thread]]
		at[x.Thread]++
		sum.Add(x.Counts(), 1)
		if x.Completed < e.completed { // where it was cut
			e.completed = x.Completed
		}
		return e.same(x)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Counts(); got != sum {
		t.Errorf("headers say %+v, decoded %+v", got, sum)
	}
	return sum.Instructions
}

// TestMaxSize: the files are as large as they may be, but for what closing them takes.
func TestMaxSize(t *testing.T) {
	for _, most := range []int64{60_000, 200_000} {
		more := filepath.Join(t.TempDir(), "more")
		r := record(t, 3, 200, 2500, Options{MaxSize: most, Dirs: []string{more}, Level: -1})
		var size int64
		for _, dir := range []string{r.dir, more} {
			names, err := filepath.Glob(filepath.Join(dir, "p1", "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				st, err := os.Stat(name)
				if err != nil {
					t.Fatal(err)
				}
				size += st.Size()
			}
		}
		if size < most*3/4 || size > most*5/4 {
			t.Errorf("at most %d: %d", most, size)
		}
		if found := problems(t, r.dir); len(found) > 0 {
			t.Error(fmt.Sprint(found))
		}
		prefixOf(t, r)
	}
}
