package emit

import "sync"

// bodies is memory of frames' bodies that have been written, for others: a body that waits
// for its turn takes its stream's memory along.
type bodies struct {
	mu   sync.Mutex
	free [][]byte // guarded by mu
}

// keptBodies is how many are kept: they are megabytes, and few frames wait at a time.
const keptBodies = 2

// get returns memory, nil if there is none.
func (b *bodies) get() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.free)
	if n == 0 {
		return nil
	}
	last := b.free[n-1]
	b.free = b.free[:n-1]
	return last
}

// put takes memory that nobody uses any more.
func (b *bodies) put(body []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.free) < keptBodies {
		b.free = append(b.free, body)
	}
}
