package calls

import (
	"fmt"
	"slices"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/stream"
)

// Build reads a process's threads and returns their call trees, merged. progress may be nil.
//
// One thread after the other, decoded on all processors: following calls takes a fraction of
// the time that decoding does.
func Build(p *abp.Profile, proc *abp.Process, q Query, progress *analysis.Progress) (*Tree, error) {
	pl := newPlanner(proc)
	all := newNodes()
	threads := proc.Threads()
	wanted := func(t *abp.Thread) bool { return len(q.Threads) == 0 || slices.Contains(q.Threads, t.Number) }
	for i := range threads {
		if wanted(&threads[i]) {
			progress.Expect(&threads[i])
		}
	}
	for i := range threads {
		if !wanted(&threads[i]) {
			continue
		}
		t := newTracker(pl)
		t.want, t.byTime = q.wants(), !q.Time.All()
		if err := stream.Thread(p, proc, &threads[i], progress, t); err != nil {
			return nil, fmt.Errorf("calls of thread %d: %w", threads[i].Number, err)
		}
		all.merge(t.nodes)
	}
	return finish(proc, pl, all), nil
}
