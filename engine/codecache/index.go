package codecache

// Index says, for one variant, what is known of application addresses: the block that
// was translated from there, or the exits that wait for it to be. It is a hash table of
// eight bytes an address, open and probed linearly.
//
// The refused alternative are Go's maps, one of blocks, one of waiting exits and one of target checks: a
// sixth of the time of a dispatch went into them, they were three times as large, and the
// collector walked through them.
type Index struct {
	Slots []SlotRef
	used  int // slots that are not empty, the forgotten ones included
	Bits  uint
}

// SlotRef is a slot: the upper half of the address's hash, and what is there. The address
// itself is with the block or the exit.
type SlotRef struct {
	hash uint32
	Ref  Ref
}

// Ref names a block or an exit, by number. 0 is nothing.
type Ref uint32

// Forgotten keeps the place of an address of which nothing is known any more.
const Forgotten Ref = 1<<32 - 1

func blockRef(num uint32) Ref { return Ref(num+1) << 1 }
func exitRef(n int) Ref       { return Ref(n+1)<<1 | 1 }

// exit is the number of the exit that r names, if it does.
func (r Ref) exit() (n int, ok bool) {
	if r&1 == 0 || r == Forgotten {
		return 0, false
	}
	return int(r>>1) - 1, true
}

// hashOf spreads an address over 32 bits, of which the upper ones are used first.
func hashOf(app uint64) uint32 { return uint32(app * 0x9e3779b97f4a7c15 >> 32) }

// refTo is the block that r names, nil if it is an exit or nothing.
func (c *Cache) refTo(r Ref) *Block {
	if r == 0 || r&1 != 0 {
		return nil
	}
	return c.BlockPool.At(int(r>>1) - 1)
}

// AddrOf is the application address that a reference is about.
func (c *Cache) AddrOf(r Ref) (app uint64, ok bool) {
	if b := c.refTo(r); b != nil {
		return b.App, true
	}
	if n, ok := r.exit(); ok {
		return c.Exits.At(n).Target, true
	}
	return 0, false
}

// slotAt returns the slot of an address in variant v, nil if there is none.
func (c *Cache) slotAt(app uint64, v Variant) *SlotRef {
	x := &c.Index[v]
	if len(x.Slots) == 0 {
		return nil
	}
	h, mask := hashOf(app), uint32(len(x.Slots)-1)
	for i := h >> (32 - x.Bits); ; i++ {
		s := &x.Slots[i&mask]
		if s.Ref == 0 {
			return nil
		}
		if s.hash == h {
			if a, ok := c.AddrOf(s.Ref); ok && a == app {
				return s
			}
		}
	}
}

// MakeSlot returns the slot of an address, a new one if there is none. It is valid until
// the next call.
func (c *Cache) MakeSlot(app uint64, v Variant) *SlotRef {
	if s := c.slotAt(app, v); s != nil {
		return s
	}
	x := &c.Index[v]
	if (x.used+1)*4 > len(x.Slots)*3 {
		x.grow()
	}
	h, mask := hashOf(app), uint32(len(x.Slots)-1)
	i := h >> (32 - x.Bits)
	for x.Slots[i&mask].Ref != 0 && x.Slots[i&mask].Ref != Forgotten {
		i++
	}
	s := &x.Slots[i&mask]
	if s.Ref == 0 {
		x.used++
	}
	*s = SlotRef{hash: h}
	return s
}

// grow makes a table, of twice the size unless half of the old is of forgotten addresses,
// which are left out.
func (x *Index) grow() {
	old, known := x.Slots, 0
	for _, s := range old {
		if s.Ref != 0 && s.Ref != Forgotten {
			known++
		}
	}
	bits := x.Bits
	if known*2 >= len(old) {
		bits = max(bits+1, 10)
	}
	x.Resize(bits)
	mask := uint32(len(x.Slots) - 1)
	for _, s := range old {
		if s.Ref == 0 || s.Ref == Forgotten {
			continue
		}
		i := s.hash >> (32 - x.Bits)
		for x.Slots[i&mask].Ref != 0 {
			i++
		}
		x.Slots[i&mask] = s
		x.used++
	}
}

// Resize makes an empty table of so many bits.
func (x *Index) Resize(bits uint) {
	x.Bits = bits
	x.Slots, x.used = make([]SlotRef, 1<<bits), 0
	// Writing first: a page that is read first is the kernel's page of zeros, and the later
	// write takes another fault, with an interrupt of the other processors.
	for i := 0; i < len(x.Slots); i += hostPage / 8 {
		x.Slots[i] = SlotRef{}
	}
}

// BlockOf returns the translation of app in variant v, nil if there is none.
func (c *Cache) BlockOf(app uint64, v Variant) *Block {
	if s := c.slotAt(app, v); s != nil {
		return c.refTo(s.Ref)
	}
	return nil
}

// EachBlock calls f for every block that is known by its address.
func (c *Cache) EachBlock(f func(*Block)) {
	for v := range c.Index {
		for _, s := range c.Index[v].Slots {
			if b := c.refTo(s.Ref); b != nil {
				f(b)
			}
		}
	}
}

// HasCheck tells whether there is a target check of app: see the translator's targetCheck. Most are noted with the
// address's block; the others are of addresses that are watched or whose block is dead.
func (c *Cache) HasCheck(app uint64, v Variant) bool {
	if b := c.BlockOf(app, v); b != nil && b.Checked {
		return true
	}
	return c.BareChecks[CheckKey{v, app}]
}

// NoteCheck notes that there is a target check of app.
func (c *Cache) NoteCheck(app uint64, v Variant) {
	if b := c.BlockOf(app, v); b != nil {
		b.Checked = true
		return
	}
	c.BareChecks[CheckKey{v, app}] = true
}

// hostPage is a page of the tracer's memory.
const hostPage = 4096
