package stream

import "alleria/abp"

// Warm returns a Sink for executions of which only bursts were recorded: it brings everything to a sink, of which the first half of each burst does not
// count. What a burst begins with was used lately by what is not recorded, mostly, so that it would be told as missing.
// How long a burst will be is not known when it begins: half of the one before is taken. All of the first one counts.
func Warm(sink Counted) Walker { return &warm{sink: sink} }

// warm is what Warm returns.
type warm struct {
	sink Counted
	seen int  // words of this burst
	half int  // of them those that do not count
	cold bool // what comes does not count
}

// Gap is Gapped's.
func (w *warm) Gap() {
	if w.seen == 0 {
		return
	}
	w.half, w.seen = w.seen/2, 0
	if !w.cold && w.half > 0 {
		w.cold = true
		w.sink.Count(false)
	}
}

// count has what comes count.
func (w *warm) count() {
	w.cold = false
	w.sink.Count(true)
}

// Stretch is Sink's.
func (w *warm) Stretch(state *abp.Exec, words []uint64) {
	at := 0
	if w.cold {
		for at < len(words) && w.seen+at < w.half {
			at += 1 + state.Process.Block(uint32(words[at])).Words
		}
		if at > 0 {
			x := *state // a sink may keep its own in it
			w.sink.Stretch(&x, words[:at])
		}
		if at < len(words) {
			w.count()
		}
	}
	if at < len(words) {
		w.sink.Stretch(state, words[at:])
	}
	w.seen += len(words)
}

// Walks is Walker's: not in the half of a burst that does not count, whose end is to be found.
func (w *warm) Walks() bool {
	s, ok := w.sink.(Walker)
	return ok && s.Walks() && !w.cold
}

// Walk is Walker's.
func (w *warm) Walk(state *abp.Exec, words []uint64, walked *Walked) {
	at := walked.At
	defer func() { w.seen += walked.At - at }()
	w.sink.(Walker).Walk(state, words, walked)
}

// Single is Sink's.
func (w *warm) Single(x *abp.Exec) {
	if w.cold && w.seen >= w.half {
		w.count()
	}
	w.sink.Single(x)
	w.seen += 1 + len(x.Words)
}
