package codecache

import "alleria/engine/asm"

// Code that a program makes while it runs is changed, protected and made executable again thousands of times. Blocks of such code are
// entered by gates: a jump for each address and variant, which leads to the block while there is one, and to a dispatch else. All
// links and target checks lead to the gate. A block is taken out of use, and put back, by one aligned store: no thread has to
// stand still for it, nothing is written over, and translations of one address that follow each other form no chain of jumps. It costs
// a jump where a block is entered.
//
// Blocks that lie one behind the other within a page go on from one to the next without it; the first is taken out of use with
// the second (Falls).
//
// Refused: gates for all code, most of which never changes; blocks that compare themselves, as code that is writable does,
// which take longer each time and would execute what may not be executed at the moment.

// gate is where blocks of one address are entered.
type gate struct {
	region *Region
	jump   int    // offset of the jump in the region; the dispatch lies behind it
	leads  uint64 // the block's code, 0 for the dispatch
}

// gateBytes is what a gate's jump is aligned to: its displacement lies in one word then. Behind it lies what asks.
const gateBytes = 8

// MakeGate returns where blocks of app are entered, made if there is no such place yet.
func (c *Cache) MakeGate(ar *Region, app uint64, v Variant, ask func(a *asm.Writer, request uint32)) uint64 {
	k := CheckKey{v, app}
	if g := c.gates[k]; g != nil {
		return g.at()
	}
	a := asm.New(ar.Mem[:ar.Size], ar.Base, (ar.Cold+gateBytes-1)&^(gateBytes-1))
	g := &gate{region: ar, jump: a.Pos()}
	a.Jmp(a.Here() + EntryBytes)
	ask(&a, uint32(c.NewExit(Exit{Target: app, Region: ar, Variant: v, Fixed: true, Made: true}))+1)
	ar.Cold = (a.Pos() + 7) &^ 7
	if c.gates == nil {
		c.gates = make(map[CheckKey]*gate)
	}
	c.gates[k] = g
	return g.at()
}

// Gate is where blocks of app are entered, 0 if they are entered directly.
func (c *Cache) Gate(app uint64, v Variant) uint64 {
	if g := c.gates[CheckKey{v, app}]; g != nil {
		return g.at()
	}
	return 0
}

// HasGates tells whether some code is entered by gates.
func (c *Cache) HasGates() bool { return len(c.gates) > 0 || len(c.pageBlocks) > 0 }

// at is the gate's cache address.
func (g *gate) at() uint64 { return g.region.Base + uint64(g.jump) }

// lead makes the gate lead to a cache address, 0 for the dispatch. Threads may be executing it.
func (g *gate) lead(to uint64) {
	g.leads = to
	behind := g.at() + EntryBytes
	if to == 0 {
		to = behind
	}
	Patch32(g.region.Mem[g.jump+1:], uint32(int64(to)-int64(behind)))
}

// LinkTo is where branches to the block lead, for an entry that has been counted so far.
func (c *Cache) LinkTo(b *Block, how Entry) uint64 {
	if b.Is(Gated) && (how == Uncounted || !b.Is(HasCounts)) {
		return c.Gate(b.App, b.Variant)
	}
	return b.At(how)
}

// open makes the gate of a gated block lead to it. One whose address is watched stays closed: the tracer is asked each time.
func (c *Cache) open(b *Block) {
	if g := c.gates[CheckKey{b.Variant, b.App}]; b.Is(Gated) && g != nil && !c.Watched[b.App] {
		g.lead(b.Code)
	}
}

// close makes a gated block's gate ask, if it is that block that it leads to.
func (c *Cache) close(b *Block) {
	if g := c.gates[CheckKey{b.Variant, b.App}]; b.Is(Gated) && g != nil && g.leads == b.Code {
		g.lead(0)
	}
}

// ListIn notes that a block has code in a page whose blocks are listed.
func (c *Cache) ListIn(page uint64, b *Block) {
	if c.pageBlocks == nil {
		c.pageBlocks = make(map[uint64][]uint32)
	}
	list := c.pageBlocks[page]
	if k := len(list); k > 0 && list[k-1] == b.Num {
		return
	}
	if len(list) == cap(list) { // instead of growing for what is gone
		list = c.living(list)
	}
	c.pageBlocks[page] = append(list, b.Num)
}

// UnlistPage is for a page whose blocks are all about to be forgotten: what is translated there next may be a file's, whose blocks are in no list.
func (c *Cache) UnlistPage(page uint64) { delete(c.pageBlocks, page) }

// living leaves dead blocks out of a list.
func (c *Cache) living(list []uint32) []uint32 {
	n := 0
	for _, num := range list {
		if !c.BlockPool.At(int(num)).Is(Dead) {
			list[n] = num
			n++
		}
	}
	return list[:n]
}

// ListedIn is the living blocks of a page whose blocks are listed; listed is false for any other. The later of two that follow each other comes
// first.
func (c *Cache) ListedIn(page uint64) (blocks []*Block, listed bool) {
	list, listed := c.pageBlocks[page]
	for i := len(list) - 1; i >= 0; i-- {
		if b := c.BlockPool.At(int(list[i])); !b.Is(Dead) {
			blocks = append(blocks, b)
		}
	}
	return blocks, listed
}

// before is the block that goes on with b's code without a branch, nil if none does.
func (c *Cache) before(b *Block) *Block {
	if b.Num == 0 {
		return nil
	}
	if o := c.BlockPool.At(int(b.Num) - 1); o.Is(Falls) && !o.Is(Dead) {
		return o
	}
	return nil
}

// Idles tells whether a block can be put back into use once it was set aside.
func (b *Block) Idles() bool { return b.Is(Gated) && !b.Is(HasCounts) && !b.Is(Mixed) }

// SetAside takes a block, and what goes on with it, out of use until Return. It is as unknown as if it had never been translated.
func (c *Cache) SetAside(b *Block) {
	for ; b != nil && !b.Is(Idle); b = c.before(b) {
		if !b.Idles() {
			c.Kill(b)
			return
		}
		b.Note(Idle)
		c.unknown(b)
		c.close(b)
	}
}

// Return puts a block that was set aside back into use. It is false where another has taken its place, or where it goes on with one that is out
// of use.
func (c *Cache) Return(b *Block) bool {
	if b.Is(Falls) {
		if next := c.BlockPool.At(int(b.Num) + 1); next.Is(Dead) || next.Is(Idle) {
			return false
		}
	}
	if c.BlockOf(b.App, b.Variant) != nil {
		return false
	}
	b.Unnote(Idle)
	unit := c.entered // which may be half written: nothing is to lead there yet
	c.entered = nil
	c.Enter(b)
	c.LinkEntered()
	c.entered = unit
	return true
}

// unknown takes a block out of the index.
func (c *Cache) unknown(b *Block) {
	c.settleAt(b.App) // a forgotten address would be found there again
	if s := c.slotAt(b.App, b.Variant); s != nil && c.refTo(s.Ref) == b {
		s.Ref = Forgotten
		if b.Is(Checked) {
			c.NoteCheck(b.App, b.Variant)
		}
	}
}

// Unlist forgets the blocks and gates of a variant, whose translations are all forgotten. Threads that are in them may
// go on there.
func (c *Cache) Unlist(v Variant) {
	for k := range c.gates {
		if k.Variant == v {
			delete(c.gates, k)
		}
	}
	for page, list := range c.pageBlocks {
		n := 0
		for _, num := range list {
			if c.BlockPool.At(int(num)).Variant != v {
				list[n] = num
				n++
			}
		}
		c.pageBlocks[page] = list[:n]
	}
}
