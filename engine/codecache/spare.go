package codecache

import "alleria/internal/layout"

// Spare is memory of the tables of caches that are gone, for those of the processes that begin next. A compiler's are 20 MB, which each of hundreds
// left to the garbage collector: that was at work once for each five of them, and the kernel cleared pages for the next.
//
// One goroutine uses it, the tracer's. The zero value is empty. A nil one keeps nothing.
type Spare struct {
	blocks  pieces[Block]
	exits   pieces[ExitWords]
	sides   pieces[LazySideExit]
	numbers pieces[uint32]
	relocs  pieces[Reloc]
	checks  pieces[CheckAt]
	parts   []*indexPart
	words   [][]uint32
}

// What is kept of each kind at most, in pieces: the tables of some four compilers. Blocks' are ten times the others'.
const (
	mostSpare  = 4096
	mostBlocks = 1024
)

// pieces are some of pools.
type pieces[T any] struct {
	free []*[poolPiece]T
	most int
}

// any returns a piece with whatever is in it.
func (s *pieces[T]) any() *[poolPiece]T {
	if s == nil || len(s.free) == 0 {
		return new([poolPiece]T)
	}
	last := len(s.free) - 1
	p := s.free[last]
	s.free = s.free[:last]
	return p
}

// zeros returns an empty piece.
func (s *pieces[T]) zeros() *[poolPiece]T {
	if s == nil || len(s.free) == 0 {
		return new([poolPiece]T)
	}
	p := s.any()
	clear(p[:])
	return p
}

// CopyFrom makes an empty pool a copy of another one.
func (l *Pool[T]) CopyFrom(o *Pool[T]) {
	l.N, l.theirs, l.pieces = o.N, 0, make([]*[poolPiece]T, len(o.pieces))
	for i, piece := range o.pieces {
		l.pieces[i] = l.spare.any()
		*l.pieces[i] = *piece
	}
}

// own makes an empty pool what another one is, which nobody uses any more.
func (l *Pool[T]) own(o Pool[T]) {
	o.spare = l.spare
	*l = o
	l.clearRest()
}

// giveBack gives a pool's pieces back, which is empty then.
func (l *Pool[T]) giveBack() {
	if s := l.spare; s != nil {
		ours := l.pieces[min(l.theirs, len(l.pieces)):]
		s.free = append(s.free, ours[:min(len(ours), s.most-len(s.free))]...)
	}
	*l = Pool[T]{spare: l.spare}
}

// Use has the cache's tables be made of what is spare.
func (c *Cache) Use(s *Spare) {
	if s == nil {
		return
	}
	c.spare = s
	s.blocks.most, s.exits.most, s.sides.most, s.numbers.most, s.relocs.most, s.checks.most = mostBlocks, mostSpare, mostSpare, mostSpare, mostSpare, mostSpare
	c.BlockPool.spare, c.Exits.spare, c.SideExits.spare, c.Counters.spare = &s.blocks, &s.exits, &s.sides, &s.numbers
	c.Written.Relocs.spare, c.Written.Checks.spare = &s.relocs, &s.checks
}

// GiveBack gives the tables back of a cache that nobody uses any more.
func (c *Cache) GiveBack() {
	c.BlockPool.giveBack()
	c.Exits.giveBack()
	c.SideExits.giveBack()
	c.Counters.giveBack()
	c.Written.Relocs.giveBack()
	c.Written.Checks.giveBack()
	for _, a := range c.Regions {
		a.Blocks.giveBack()
	}
	c.under = nil
	for v := range c.Index {
		for p := range c.Index[v].eachPart() {
			c.spare.keepPart(p)
		}
		c.spare.keepWords(c.SlotChecks[v])
		c.Index[v], c.SlotChecks[v] = Index{}, nil
	}
}

// keepPart keeps a part of an index.
func (s *Spare) keepPart(p *indexPart) {
	if s != nil && len(p.slots) == 1<<partBits && len(s.parts) < mostSpare {
		s.parts = append(s.parts, p)
	}
}

// part returns an empty part of an index.
func (s *Spare) part(depth uint) *indexPart {
	if s == nil || len(s.parts) == 0 {
		return newPart(partBits, depth)
	}
	last := len(s.parts) - 1
	p := s.parts[last]
	s.parts = s.parts[:last]
	p.depth = depth
	p.empty()
	return p
}

// keepWords keeps the words of SlotChecks.
func (s *Spare) keepWords(w []uint32) {
	const most = 16
	if s != nil && len(w) == layout.TableEntries && len(s.words) < most {
		s.words = append(s.words, w)
	}
}

// MakeChecks has an entry of SlotChecks be there for each of the look-up tables' in a variant. made makes new ones.
func (c *Cache) MakeChecks(v Variant, made func(n int) []uint32) {
	switch s := c.spare; {
	case c.SlotChecks[v] != nil:
	case s == nil || len(s.words) == 0:
		c.SlotChecks[v] = made(layout.TableEntries)
	default:
		last := len(s.words) - 1
		c.SlotChecks[v] = s.words[last]
		s.words = s.words[:last]
		clear(c.SlotChecks[v])
	}
}
