package analysis

import (
	"slices"

	"alleria/abp"
)

// frameWorker counts frames on one goroutine, in ascending order of their threads.
type frameWorker interface {
	// frame counts a frame of the thread that has place i in the list that eachFrame
	// returns.
	frame(i int, ref *abp.FrameRef) error
	// done is called behind the last frame, also after an error, and may overlap with
	// others' frames.
	done()
}

// eachFrame has workers, one a processor, count the frames of those threads of a process
// that q matches, and returns these threads in the order of the profile.
//
// All that a frame depends on, open windows included, is in its header, so that frames of
// one thread are counted side by side, in whatever order: sums don't tell. Memory goes
// with the processors and not with the threads of the program (see abp.EachFrame).
func eachFrame(proc *abp.Process, q abp.Query, progress *Progress, start func(threads []abp.Thread) func() frameWorker) ([]abp.Thread, error) {
	var threads []abp.Thread
	var frames []threadFrame
	for _, t := range proc.Threads() {
		if !wants(q.Threads, t.Number) {
			continue
		}
		for _, ref := range t.Frames {
			frames = append(frames, threadFrame{len(threads), ref})
		}
		threads = append(threads, t)
		progress.expect(&t)
	}
	newWorker := start(threads)
	err := abp.EachFrame(len(frames), func() (func(int) error, func()) {
		w := newWorker()
		return func(i int) error {
			defer progress.add(frames[i].ref.Execs)
			return w.frame(frames[i].thread, frames[i].ref)
		}, w.done
	})
	return threads, err
}

// threadFrame is a frame of a thread, by its place in a list.
type threadFrame struct {
	thread int
	ref    *abp.FrameRef
}

// wants reports whether a query's list, where empty means all, has n.
func wants(list []uint32, n uint32) bool { return len(list) == 0 || slices.Contains(list, n) }
