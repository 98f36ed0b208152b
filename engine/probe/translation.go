package probe

import (
	"alleria/engine/asm"
	"alleria/engine/translate"
)

func (p *Points) Captures() translate.Captures {
	c := &p.captures
	return translate.Captures{Returns: c.returns, ByCode: !p.off.CacheCapture, Needs: c.needs, Goroutines: c.goCode, Stacks: p.Stacks()}
}

func (p *Points) At(addr uint64) (pt translate.Point, ok bool) {
	at := p.at[addr]
	if at == nil {
		return pt, false
	}
	counter := func(pl *Counter) *translate.Counter {
		if pl == nil {
			return nil
		}
		return &translate.Counter{Index: pl.index, Offset: pl.Offset()}
	}
	pt = translate.Point{Entry: counter(at.entry), Returns: counter(at.returns), Within: counter(at.within)}
	if pt.Returns != nil {
		pt.Returns.Goroutine = at.goroutine
	}
	if c := at.capture; c != nil {
		pt.Capture = &translate.CapturedEntry{Number: c.number, Vectors: c.needs.Entry,
			Code: p.captureCode(c), Saves: func(a *asm.Writer) { storeSaves(a, c) }}
	}
	return pt, true
}

func (p *Points) EntriesAround(addr uint64) (entries []uint64) {
	for entry, at := range p.at {
		if at.holds(addr) {
			entries = append(entries, entry)
		}
	}
	return entries
}
