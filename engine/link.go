package engine

import "alleria/engine/asm"

// slotOf is the entry of a look-up table for an address: its low sixteen bits.
func slotOf(app uint64) uint16 { return uint16(app) }

// veneer returns a place in ar that jumps to a cache address in another area.
// An area's displacements reach two gigabytes, and areas may be farther apart.
func (p *Process) veneer(ar *area, to uint64) uint64 {
	if v := ar.veneers[to]; v != 0 {
		return v
	}
	a := asm.New(ar.mem[:ar.size], ar.base, ar.cold)
	v := a.Here()
	a.JmpLiteral(to)
	p.noteLiteral(ar, a.Pos())
	ar.cold = (a.Pos() + 7) &^ 7
	if ar.veneers == nil {
		ar.veneers = make(map[uint64]uint64)
	}
	ar.veneers[to] = v
	return v
}

// headKey names a head: where indirect branches to one application address arrive in
// one variant. The last of its slot's chain is where the slot leads.
type headKey struct {
	v   Variant
	app uint64
}

// indirect finds or makes the head of app and its block; nil if there is no
// code at app. It also points the thread's table at the head.
//
// Only this thread's table is updated: others find the head when they miss.
func (p *Process) indirect(t *Thread, app uint64) *block {
	v := t.variant
	s := slotOf(app)
	b, ok := p.head(app, v)
	if !ok {
		return nil
	}
	t.slot.set(int(tableOff(v))+8*int(s), p.slotHeads[v][s])
	if b == nil {
		b = p.translate(app, v)
	}
	return b
}

// head finds or makes the head of app in variant v and, with it, its block; ok
// is false if there is no code at app.
//
// A head is made together with its block or in front of a jump to it, so that a table never
// leads to a head without code behind.
func (p *Process) head(app uint64, v Variant) (b *block, ok bool) {
	p.lookAround()
	b = p.blockOf(app, v)
	if !p.hasHead(app, v) {
		ar := p.areaFor(app)
		if ar == nil || b == nil && !p.executable(app) {
			return nil, false
		}
		first := p.unit(ar, v, func(u *unit) *block {
			if !u.head(app) {
				return nil
			}
			if b != nil {
				u.jmpAnywhere(b.code)
				return b
			}
			first := u.chain(app)
			if first == nil { // what begins there is cut off by the end of executable memory
				u.jumpTo(app, fresh)
			}
			return first
		})
		if b == nil {
			b = first
		}
	}
	return b, true
}

// aheadOf notes that target may be wanted soon.
// The queue is a stack with a bound: what was asked for lately is the likeliest to
// be next.
func (p *Process) aheadOf(target uint64, v Variant) {
	if p.ahead && len(p.aheadQueue) < aheadMax {
		p.aheadQueue = append(p.aheadQueue, aheadItem{target, v})
	}
}

// aheadItem is an address that may be wanted, in a variant.
type aheadItem struct {
	app uint64
	v   Variant
}

// aheadMax bounds how much one request can lead to be translated before the
// next is looked at.
const aheadMax = 64

// translateAhead translates one address that recent translations lead to. It
// tells whether there was one.
//
// It works while threads wait for nothing: one unit at a time, so that a request is never
// kept waiting for more than that. aheadLeft bounds what one request may lead to, since
// code that is never executed costs room in every cache.
func (p *Process) translateAhead() bool {
	for len(p.aheadQueue) > 0 {
		k := len(p.aheadQueue) - 1
		it := p.aheadQueue[k]
		p.aheadQueue = p.aheadQueue[:k]
		if it.v.records() != p.variant.records() || !it.v.records() && it.v != p.variant || p.notify[it.app] || p.aheadLeft <= 0 {
			continue
		}
		if p.blockOf(it.app, it.v) != nil {
			continue
		}
		p.translate(it.app, it.v)
		p.aheadLeft--
		return true
	}
	return false
}

// publishHeads points the threads' tables at the heads of the unit just
// written. The threads may be looking at the entries: both what one held and
// what it holds now lead on to every older head of the slot.
func (p *Process) publishHeads(heads []uint64, v Variant) {
	for _, app := range heads {
		s := slotOf(app)
		for _, t := range p.running() {
			if t.filled[v] && t.epoch[v] == p.epoch[v] {
				t.slot.set(int(tableOff(v))+8*int(s), p.slotHeads[v][s])
			}
		}
	}
}

// tableMiss is where a look-up table's entry leads when nothing is known.
func (p *Process) tableMiss() uint64 { return p.areas[0].base + p.areas[0].rt.indirect }
