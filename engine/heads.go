package engine

import "alleria/engine/codecache"

// indirect finds or makes the head of app and its block; nil if there is no
// code at app. It also points the thread's table at the head.
//
// Only this thread's table is updated: others find the head when they miss.
func (p *Process) indirect(t *Thread, app uint64) *codecache.Block {
	v := t.variant
	s := codecache.SlotOf(app)
	b, ok := p.translator.FindHead(app, v)
	if !ok {
		return nil
	}
	t.slot.Set(int(codecache.TableOff(v))+8*int(s), p.cache.SlotHeads[v][s])
	if b == nil {
		b = p.translator.Translate(app, v)
	}
	return b
}

// translateAhead translates one address that recent translations lead to. It
// tells whether there was one.
//
// It works while threads wait for nothing: one unit at a time, so that a request is never
// kept waiting for more than that. aheadLeft bounds what one request may lead to, since
// code that is never executed costs room in every cache.
func (p *Process) translateAhead() bool {
	for len(p.cache.AheadQueue) > 0 {
		k := len(p.cache.AheadQueue) - 1
		it := p.cache.AheadQueue[k]
		p.cache.AheadQueue = p.cache.AheadQueue[:k]
		if it.Variant.Records() != p.variant.Records() || !it.Variant.Records() && it.Variant != p.variant || p.cache.Watched[it.App] || p.cache.AheadLeft <= 0 {
			continue
		}
		if p.cache.BlockOf(it.App, it.Variant) != nil {
			continue
		}
		p.translator.Translate(it.App, it.Variant)
		p.cache.AheadLeft--
		return true
	}
	return false
}

// publishHeads points the threads' tables at the heads of the unit just
// written. The threads may be looking at the entries: both what one held and
// what it holds now lead on to every older head of the slot.
func (p *Process) publishHeads(heads []uint64, v codecache.Variant) {
	for _, app := range heads {
		s := codecache.SlotOf(app)
		for _, t := range p.running() {
			if t.filled[v] && t.epoch[v] == p.cache.Epoch[v] {
				t.slot.Set(int(codecache.TableOff(v))+8*int(s), p.cache.SlotHeads[v][s])
			}
		}
	}
}
