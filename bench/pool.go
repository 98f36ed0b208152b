package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
)

// The pool of processing threads adapts to the load. Modes "disk-ptcN" have a fixed number of threads: what adapts is to be near the best of them.

// changingProgram is the one of section 5.4 of the Alleria paper: its load changes as threads begin and end, one second apart (short: a fifth).
const changingProgram = "changing"

// changingSource is where it lies, from the project's root, where `make bench` runs.
const changingSource = "testdata/adaptive/twelve.c"

// prepareChanging compiles it.
func prepareChanging(dir string, s size) ([]string, error) {
	if _, err := os.Stat(changingSource); err != nil {
		return nil, fmt.Errorf("%w: run this at the project's root: %w", exec.ErrNotFound, err)
	}
	bin := filepath.Join(dir, changingProgram)
	if msg, err := exec.Command("cc", "-O1", "-pthread", "-o", bin, changingSource).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cc: %w: %s", err, msg)
	}
	return []string{bin, fmt.Sprint(pick(s, 1000, 200)), fmt.Sprint(pick(s, 20_000_000, 4_000_000))}, nil
}

// poolPrefix begins the names of the modes with a fixed number of threads, disk is the one that adapts.
const poolPrefix = "disk-ptc"

// fixedNumbers are the numbers of threads that the pool is compared with.
func fixedNumbers() []string { return []string{"0", "1", "2", "3", "4"} }

// pools are the modes with a fixed number of processing threads.
func pools(record recorder, addresses []string) []mode {
	var all []mode
	for _, n := range fixedNumbers() {
		m := record(poolPrefix+n, "as disk, with a fixed number of processing threads", recorded, append(addresses[:len(addresses):len(addresses)], "-o", "DIR", "--ptc", n)...)
		m.group, m.needs = "pool", "disk"
		all = append(all, m)
	}
	return all
}

// mustPool is how much longer the pool that adapts may take than the best fixed number of threads.
const mustPool = 1.1

// poolRow is how the pool that adapts compares with fixed numbers of threads.
type poolRow struct {
	Best      string  `json:"best_fixed,omitempty"` // the mode
	PoolRatio float64 `json:"pool_ratio,omitempty"` // times the best one's
	OneRatio  float64 `json:"one_thread_ratio,omitempty"`
	MustPool  float64 `json:"must_pool,omitempty"`
}

// pool compares the row of the pool that adapts with those of fixed numbers that were measured beside it.
func (r *row) pool(measured func(mode string) float64) {
	if r.Mode != "disk" {
		return
	}
	best := math.Inf(1)
	for _, n := range fixedNumbers() {
		if m := measured(poolPrefix + n); m > 0 && m < best {
			best, r.Best = m, poolPrefix+n
		}
	}
	if r.Best == "" {
		return
	}
	r.PoolRatio, r.MustPool = r.Ratio/best, mustPool
	if one := measured(poolPrefix + "1"); one > 0 {
		r.OneRatio = r.Ratio / one
	}
}

// printPools prints what the table has no columns for.
func printPools(w io.Writer, rows []row) {
	for i := range rows {
		if r := &rows[i]; r.Best != "" && r.Failure == "" {
			fmt.Fprintf(w, "\n%s: the pool that adapts takes %.3f times what the best fixed number of threads does, %s (must %.2f) %s; %.3f times what one does",
				r.Program, r.PoolRatio, r.Best, r.MustPool, verdictOf(r.PoolRatio, r.MustPool, 1), r.OneRatio)
		}
	}
}
