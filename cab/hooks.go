package cab

import (
	"sync"
	"time"

	"alleria/internal/layout"
	"alleria/internal/sys"
)

// hooks is where the check of the protocol (model_test.go) takes hold of the consumers' code: in front of each word that they
// share with the producer, at each lock, and where they sleep and wake. Everywhere else it is nil, and
// costs a comparison a word of a chunk's control.
type hooks struct {
	at     func()
	locked func(*sync.Mutex)
	waked  func(word *uint32)
	waits  func(word *uint32, was uint32)
	// Mistakes that the check has to find: memory is taken back without a second look, or from a producer that still fetches words from there.
	hasty, early bool
}

func (h *hooks) step() {
	if h != nil {
		h.at()
	}
}

// clear makes slots free, from the first to the last.
func (h *hooks) clear(words []uint64) {
	if h == nil {
		for i := range words {
			words[i] = layout.SlotClear
		}
		return
	}
	for i := range words {
		h.at()
		words[i] = layout.SlotClear
	}
}

// wake wakes n that sleep on a word.
func (h *hooks) wake(word *uint32, n int) {
	if h != nil {
		h.waked(word)
		return
	}
	sys.FutexWake(word, n)
}

// wait sleeps while a word is what it was, for at most d.
func (h *hooks) wait(word *uint32, was uint32, d time.Duration) {
	if h != nil {
		h.waits(word, was)
		return
	}
	sys.FutexWait(word, was, d)
}

// populate has the machine give memory now.
func (h *hooks) populate(b []byte) error {
	if h != nil {
		return nil
	}
	return sys.Populate(b)
}

// discard gives memory back that nobody uses. If it cannot, it stays.
func (h *hooks) discard(b []byte) {
	if h != nil {
		clear(b) // whoever still uses it loses something
		return
	}
	_ = sys.Release(b)
}

// blind tells whether the second look is left out.
func (h *hooks) blind() bool { return h != nil && h.hasty }

// rash tells whether it is not looked at where the producer writes.
func (h *hooks) rash() bool { return h != nil && h.early }

// lock takes the ring's lock.
func (r *Ring) lock() {
	if r.hooks != nil {
		r.hooks.locked(&r.mu)
		return
	}
	r.mu.Lock()
}
