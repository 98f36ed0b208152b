package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"alleria/cab"
	"alleria/cab/topology"
)

// placedPool notes where it is placed.
type placedPool struct {
	placed  [][]int
	working int
	refuses error
}

func (p *placedPool) Measure(uint64) cab.Measures { return cab.Measures{Working: p.working} }

func (p *placedPool) Place(cpus []int) (int, error) {
	p.placed = append(p.placed, slices.Clone(cpus))
	return p.working, p.refuses
}

// TestPlacing has a program move over two caches of four processors each: processing threads follow it, go anywhere when there is no room, and the log and
// run.json say so.
func TestPlacing(t *testing.T) {
	f := newFakeRun(t, `<Window></Window>`)
	var m topology.Machine
	for i := range 8 {
		m = append(m, topology.Processor{ID: i, Core: i, Last: i / 4 * 4})
	}
	f.machine.processors = func() topology.Machine { return m }
	var log strings.Builder
	f.opts.Log = &log
	pool := &placedPool{working: 2}
	var on []int
	pl := &placing{run: f.run, allowed: []int{0, 1, 2, 3, 4, 5, 6, 7}, pool: pool, stop: make(chan struct{}), runOn: func(pid, most int) []int { return on }}
	pl.live.Store(&[]int{1})
	for _, step := range []struct {
		on   []int
		want string
		text string
	}{
		{nil, "[]", ""},
		{[]int{5}, "[[4 5 6 7]]", "on processors 4-7: they share a last-level cache with threads of the program"},
		{[]int{6}, "[]", "on processors 4-7: they share a last-level cache with threads of the program"},
		{nil, "[]", "on processors 4-7: they share a last-level cache with threads of the program"},
		{[]int{0, 1}, "[[0 1 2 3]]", "on processors 0-3: they share a last-level cache with threads of the program"},
		{[]int{0, 1, 2}, "[[0 1 2 3 4 5 6 7]]", "anywhere: the caches of the program's threads have too few processors for them and the processing threads"},
		{[]int{0, 5}, "[]", "anywhere: threads of the program run beside every last-level cache"},
	} {
		on, pool.placed = step.on, nil
		pl.tick()
		if got := fmt.Sprint(pool.placed); got != step.want || pl.where() != step.text {
			t.Errorf("threads on %v: placed %s, %q, want %s, %q", step.on, got, pl.where(), step.want, step.text)
		}
	}
	on, pool.refuses = []int{5}, fmt.Errorf("binding thread 7: refused")
	if pl.tick(); pl.where() != "anywhere: binding thread 7: refused" {
		t.Errorf("%q", pl.where())
	}
	if n := strings.Count(log.String(), "\n"); n != 5 {
		t.Errorf("%d lines in the log:\n%s", n, log.String())
	}
	f.machine.processors = func() topology.Machine { return m[:4] }
	for off, want := range map[bool]string{false: "anywhere: ", true: "anywhere: that was asked for"} {
		f.opts.NoAffinity = off
		pl := f.startPlacing()
		if pl.close(); !strings.HasPrefix(pl.where(), want) {
			t.Errorf("%q, want %q", pl.where(), want)
		}
	}
}
