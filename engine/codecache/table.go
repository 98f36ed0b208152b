package codecache

import (
	"alleria/engine/asm"
	"alleria/internal/layout"
)

// SlotOf is the entry of a look-up table for an address: its low sixteen bits.
func SlotOf(app uint64) uint16 { return uint16(app) }

// Veneer returns a place in ar that jumps to a cache address in another region.
// A region's displacements reach two gigabytes, and regions may be farther apart.
func (c *Cache) Veneer(ar *Region, to uint64) uint64 {
	if v := ar.veneers[to]; v != 0 {
		return v
	}
	a := asm.New(ar.Mem[:ar.Size], ar.Base, ar.Cold)
	v := a.Here()
	a.JmpLiteral(to)
	c.NoteLiteral(ar, a.Pos())
	ar.Cold = (a.Pos() + 7) &^ 7
	if ar.veneers == nil {
		ar.veneers = make(map[uint64]uint64)
	}
	ar.veneers[to] = v
	return v
}

// Constant puts sixteen bytes beside the code of ar, aligned, which that compares with.
func (c *Cache) Constant(ar *Region, b [16]byte) uint64 {
	at := (ar.Cold + 15) &^ 15
	copy(ar.Mem[at:], b[:])
	ar.Cold = at + len(b)
	return ar.Base + uint64(at)
}

// CheckKey names a target check: where indirect branches to one application address arrive in
// one variant. The last of its slot's chain is where the slot leads.
type CheckKey struct {
	Variant Variant
	App     uint64
}

// aheadOf notes that target may be wanted soon.
// The queue is a stack with a bound: what was asked for lately is the likeliest to
// be next.
func (c *Cache) aheadOf(target uint64, v Variant) {
	if c.Ahead && len(c.AheadQueue) < aheadMax {
		c.AheadQueue = append(c.AheadQueue, aheadItem{target, v})
	}
}

// aheadItem is an address that may be wanted, in a variant.
type aheadItem struct {
	App     uint64
	Variant Variant
}

// aheadMax bounds how much one dispatch can lead to be translated before the
// next is looked at.
const aheadMax = 64

// TableMiss is where a look-up table's entry leads when nothing is known.
func (c *Cache) TableMiss() uint64 { return c.Regions[0].Base + c.Regions[0].Routines.Indirect }

// A target check is kept as its region's number and its distance from the beginning of that, which is less than a region's 256 MiB: half a megabyte less for each
// table that is in use would be a tenth of what a short program's tracer touches. Nothing at distance 0 is one: routines lie there.
const (
	regionShift = 28
	codeMask    = 1<<regionShift - 1
)

// SlotCheck is the newest target check of an entry of a variant's look-up tables, or what leads to the tracer where there is none.
func (c *Cache) SlotCheck(v Variant, s uint16) uint64 {
	if n := c.SlotChecks[v][s]; n != 0 {
		return c.Regions[n>>regionShift].Base + uint64(n&codeMask)
	}
	return c.TableMiss()
}

// SetSlotCheck has the code at a distance from a region's beginning be the newest target check of an entry.
func (c *Cache) SetSlotCheck(v Variant, s uint16, ar *Region, code uint32) {
	c.SlotChecks[v][s] = uint32(ar.Num)<<regionShift | code
}

// SlotEntries writes what a thread's look-up table of a variant is to have.
func (c *Cache) SlotEntries(v Variant, table []uint64) {
	miss := c.TableMiss()
	checks := c.SlotChecks[v]
	if checks == nil {
		for s := range table {
			table[s] = miss
		}
		return
	}
	for s := range table {
		table[s] = miss
		if n := checks[s]; n != 0 { // what other threads had translated, or a creator
			table[s] = c.Regions[n>>regionShift].Base + uint64(n&codeMask)
		}
	}
}

// TableOff is where a variant's look-up table lies in a slot.
func TableOff(v Variant) int { return layout.TableOff + int(v)*layout.TableSize }
