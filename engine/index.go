package engine

// index says, for one variant, what is known of application addresses: the block that
// was translated from there, or the exits that wait for it to be. It is a hash table of
// eight bytes an address, open and probed linearly.
//
// The refused alternative are Go's maps, one of blocks, one of waiting exits and one of heads: a
// sixth of the time of a request went into them, they were three times as large, and the
// collector walked through them.
type index struct {
	slots []slotRef
	used  int // slots that are not empty, the forgotten ones included
	bits  uint
}

// slotRef is a slot: the upper half of the address's hash, and what is there. The address
// itself is with the block or the exit.
type slotRef struct {
	hash uint32
	ref  ref
}

// ref names a block or an exit, by number. 0 is nothing.
type ref uint32

// forgotten keeps the place of an address of which nothing is known any more.
const forgotten ref = 1<<32 - 1

func blockRef(num uint32) ref { return ref(num+1) << 1 }
func exitRef(n int) ref       { return ref(n+1)<<1 | 1 }

// exit is the number of the exit that r names, if it does.
func (r ref) exit() (n int, ok bool) {
	if r&1 == 0 || r == forgotten {
		return 0, false
	}
	return int(r>>1) - 1, true
}

// hashOf spreads an address over 32 bits, of which the upper ones are used first.
func hashOf(app uint64) uint32 { return uint32(app * 0x9e3779b97f4a7c15 >> 32) }

// refTo is the block that r names, nil if it is an exit or nothing.
func (p *Process) refTo(r ref) *block {
	if r == 0 || r&1 != 0 {
		return nil
	}
	return p.blockPool.at(int(r>>1) - 1)
}

// addrOf is the application address that a reference is about.
func (p *Process) addrOf(r ref) (app uint64, ok bool) {
	if b := p.refTo(r); b != nil {
		return b.app, true
	}
	if n, ok := r.exit(); ok {
		return p.exits.at(n).target, true
	}
	return 0, false
}

// slotAt returns the slot of an address in variant v, nil if there is none.
func (p *Process) slotAt(app uint64, v Variant) *slotRef {
	x := &p.index[v]
	if len(x.slots) == 0 {
		return nil
	}
	h, mask := hashOf(app), uint32(len(x.slots)-1)
	for i := h >> (32 - x.bits); ; i++ {
		s := &x.slots[i&mask]
		if s.ref == 0 {
			return nil
		}
		if s.hash == h {
			if a, ok := p.addrOf(s.ref); ok && a == app {
				return s
			}
		}
	}
}

// makeSlot returns the slot of an address, a new one if there is none. It is valid until
// the next call.
func (p *Process) makeSlot(app uint64, v Variant) *slotRef {
	if s := p.slotAt(app, v); s != nil {
		return s
	}
	x := &p.index[v]
	if (x.used+1)*4 > len(x.slots)*3 {
		x.grow()
	}
	h, mask := hashOf(app), uint32(len(x.slots)-1)
	i := h >> (32 - x.bits)
	for x.slots[i&mask].ref != 0 && x.slots[i&mask].ref != forgotten {
		i++
	}
	s := &x.slots[i&mask]
	if s.ref == 0 {
		x.used++
	}
	*s = slotRef{hash: h}
	return s
}

// grow makes a table, of twice the size unless half of the old is of forgotten addresses,
// which are left out.
func (x *index) grow() {
	old, known := x.slots, 0
	for _, s := range old {
		if s.ref != 0 && s.ref != forgotten {
			known++
		}
	}
	bits := x.bits
	if known*2 >= len(old) {
		bits = max(bits+1, 10)
	}
	x.resize(bits)
	mask := uint32(len(x.slots) - 1)
	for _, s := range old {
		if s.ref == 0 || s.ref == forgotten {
			continue
		}
		i := s.hash >> (32 - x.bits)
		for x.slots[i&mask].ref != 0 {
			i++
		}
		x.slots[i&mask] = s
		x.used++
	}
}

// resize makes an empty table of so many bits.
func (x *index) resize(bits uint) {
	x.bits = bits
	x.slots, x.used = make([]slotRef, 1<<bits), 0
	// Writing first: a page that is read first is the kernel's page of zeros, and the later
	// write takes another fault, with an interrupt of the other processors.
	for i := 0; i < len(x.slots); i += pageSize / 8 {
		x.slots[i] = slotRef{}
	}
}

// blockOf returns the translation of app in variant v, nil if there is none.
func (p *Process) blockOf(app uint64, v Variant) *block {
	if s := p.slotAt(app, v); s != nil {
		return p.refTo(s.ref)
	}
	return nil
}

// eachBlock calls f for every block that is known by its address.
func (p *Process) eachBlock(f func(*block)) {
	for v := range p.index {
		for _, s := range p.index[v].slots {
			if b := p.refTo(s.ref); b != nil {
				f(b)
			}
		}
	}
}

// hasHead tells whether there is a head of app: see unit.head. Most are noted with the
// address's block; the others are of addresses that are watched or whose block is dead.
func (p *Process) hasHead(app uint64, v Variant) bool {
	if b := p.blockOf(app, v); b != nil && b.headed {
		return true
	}
	return p.bareHeads[headKey{v, app}]
}

// noteNewHead notes the head that was just written, if no block came behind it.
func (u *unit) noteNewHead() {
	if u.newHead != 0 {
		u.p.noteHead(u.newHead, u.v)
		u.newHead = 0
	}
}

// noteHead notes that there is a head of app.
func (p *Process) noteHead(app uint64, v Variant) {
	if b := p.blockOf(app, v); b != nil {
		b.headed = true
		return
	}
	p.bareHeads[headKey{v, app}] = true
}
