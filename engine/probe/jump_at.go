package probe

import (
	"sort"

	"alleria/internal/sys"
)

// JumpAt is the jump whose code holds an address.
func (p *Points) JumpAt(addr uint64) *Jump {
	all := p.jumps.all
	i := sort.Search(len(all), func(i int) bool { return all[i].Code > addr })
	if i > 0 && addr <= all[i-1].Hit {
		return all[i-1]
	}
	return nil
}

// jumpHit is the jump whose count has run out in a thread that has executed the int3
// at an address.
func (p *Points) jumpHit(at uint64) *Jump {
	if j := p.JumpAt(at); j != nil && at == j.Hit {
		return j
	}
	return nil
}

// Asks tells whether an int3 of ours at an address is one in code that notes, and of which site.
func (p *Points) Asks(at uint64) (site uint64, ok bool) {
	if j := p.JumpAt(at); j != nil && j.asks == at && j.notes {
		return j.Entry, true
	}
	return 0, false
}

// HitAt takes a thread that has executed an int3 at an address back to the
// watched address that it was for; false if it was none of ours. Where a jump's
// count ran out, the entry is taken back: it is counted once more, by the tracer.
func (p *Points) HitAt(at uint64, regs *sys.Regs) bool {
	if j := p.jumpHit(at); j != nil {
		j.Retry()
		regs.Rip = j.Entry
		return true
	}
	_, ok := p.probes.get(at)
	// Two threads may hit the int3 that the first one's stop replaces.
	if ok || p.JumpOf(at) != nil {
		regs.Rip = at
		return true
	}
	return false
}

// copied is where a native thread has to go on that is to execute app, whose entry
// has been counted.
func (p *Points) CopyOf(app uint64) uint64 {
	j := p.coveredBy(app)
	if j == nil {
		return app
	}
	if !j.liesIn(p.mem) { // other code is there by now
		p.jumps.at.drop(j.Entry)
		return app
	}
	at, ok := j.CopyOf(app)
	if !ok { // into the middle of an instruction: as the application wants it
		p.host.Fail(p.Uncover(app))
		return app
	}
	return at
}

// AppOf is the application's address for one in j's code.
func (j *Jump) AppOf(code uint64) uint64 {
	app := j.Entry
	for _, m := range j.moved {
		if m.app != j.Patch && m.code <= code && code < j.Hit {
			app = m.app
		}
	}
	return app
}

// Retry takes an entry back that has used the count up. What captures has done nothing yet.
func (j *Jump) Retry() {
	if j.pl != nil {
		j.pl.Retry()
	}
}

// TakeBack undoes the count of a thread that stands at an address of j's code and
// goes back to the function's entry.
func (j *Jump) TakeBack(code uint64) {
	switch {
	case code == j.Code || j.pl == nil:
	case code == j.Hit:
		j.pl.Retry()
	default:
		j.pl.left().Add(1)
	}
}
