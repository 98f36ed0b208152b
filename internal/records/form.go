package records

import "sync/atomic"

// Form is how the records of a block are encoded, as who encodes has found out of its facts. It goes by no address and no number of images or
// functions, so that it is one for all processes whose tables come from one file or process: each of 200 compilers executes the same 20,000 blocks.
type Form struct {
	Words                           uint16 // of a record
	Weight                          uint16 // instructions that are recorded
	StackWord, TimeWord, BranchWord int16  // NoWord: none
	Conditional, Dynamic, HasTarget bool
	Target                          int32 // from the block's address
	size                            uint16
}

// How a Form lies in a place of forms: each word of a record is less than 4096, and none is one, so that 13 bits do.
const (
	formWordBits = 13
	formKnown    = 1 << 63
	formCond     = 1 << 62
	formDynamic  = 1 << 61
	formTarget   = 1 << 60
)

// forms are those of the blocks that several tables have in common, by id, for any number of goroutines. Pages are made when a form of theirs is set first.
type forms struct {
	pages [blockPages]atomic.Pointer[formPage]
	last  uint32 // the highest of these blocks
}

// formPlace has a form in two words, of which the first is written last and says that it is known.
type (
	formPlace struct{ first, second atomic.Uint64 }
	formPage  [1 << blockPageBits]formPlace
)

// ShareForms has this table and those that will be made from it (Own, Copy, Share) know the forms of its blocks together, and of those that it has taken over itself all
// that is known already. Nobody else uses the table yet.
func (t *Blocks) ShareForms() {
	all := &forms{last: t.Last()}
	if old := t.forms; old != nil {
		for i := range old.last>>blockPageBits + 1 {
			page := old.pages[i].Load()
			if end := (i + 1) << blockPageBits; page != nil && old.last < end-1 { // the others' further blocks are not these
				page = page.copied(old.last & (1<<blockPageBits - 1))
			}
			all.pages[i].Store(page)
		}
	}
	t.forms = all
}

// copied is the page as far as a place.
func (p *formPage) copied(last uint32) *formPage {
	c := new(formPage)
	for i := range last + 1 {
		if first := p[i].first.Load(); first&formKnown != 0 {
			c[i].second.Store(p[i].second.Load())
			c[i].first.Store(first)
		}
	}
	return c
}

// Form is what SetForm has set of a block, in this table or another one that shares forms with it; false if nothing has.
func (t *Blocks) Form(id uint32) (f Form, ok bool) {
	p := t.formPlace(id)
	if p == nil {
		return f, false
	}
	v := p.first.Load()
	if v&formKnown == 0 {
		return f, false
	}
	second := p.second.Load()
	word := func(at int) int16 { return int16(v>>at&(1<<formWordBits-1)) - 1 }
	return Form{
		Words: uint16(second >> 48), Weight: uint16(v), StackWord: word(16), TimeWord: word(16 + formWordBits), BranchWord: word(16 + 2*formWordBits),
		Conditional: v&formCond != 0, Dynamic: v&formDynamic != 0, HasTarget: v&formTarget != 0,
		Target: int32(uint32(second)), size: uint16(second >> 32),
	}, true
}

// SetForm sets what a block's form is, which this table has read (Read). It is nothing for a block that no other table has, or whose facts
// are longer than a form can tell. Words are those of the table.
func (t *Blocks) SetForm(id uint32, f Form) {
	all := t.forms
	if all == nil || id > all.last {
		return
	}
	size := t.packedSize(id)
	if size == 0 || size != int(uint16(size)) {
		return
	}
	slot := &all.pages[id>>blockPageBits]
	if slot.Load() == nil {
		slot.CompareAndSwap(nil, new(formPage))
	}
	p := &slot.Load()[id&(1<<blockPageBits-1)]
	v := uint64(f.Weight)
	for i, w := range [...]int16{f.StackWord, f.TimeWord, f.BranchWord} {
		v |= uint64(w+1) & (1<<formWordBits - 1) << (16 + i*formWordBits)
	}
	for _, b := range [...]struct {
		is  bool
		bit uint64
	}{{f.Conditional, formCond}, {f.Dynamic, formDynamic}, {f.HasTarget, formTarget}} {
		if b.is {
			v |= b.bit
		}
	}
	p.second.Store(uint64(uint32(f.Target)) | uint64(size)<<32 | uint64(t.row(id).words)<<48)
	p.first.Store(v | formKnown)
}

// formPlace is where a block's form would be; nil if that of none near it is known.
func (t *Blocks) formPlace(id uint32) *formPlace {
	if t.forms == nil || id > t.forms.last {
		return nil
	}
	page := t.forms.pages[id>>blockPageBits].Load()
	if page == nil {
		return nil
	}
	return &page[id&(1<<blockPageBits-1)]
}

// packedSize is how many bytes a block's facts take, of a part those that say of what; 0 where there are none.
func (t *Blocks) packedSize(id uint32) int {
	r := t.row(id)
	if r == nil || !t.good(id) {
		return 0
	}
	packed := t.factsAt(r)
	c := checker{b: packed}
	if r.isPart() {
		for range partNumbers {
			c.number()
		}
	} else {
		c.block(maxWords)
	}
	if c.bad {
		return 0
	}
	return len(packed) - len(c.b)
}

// maxWords is more words than any record has.
const maxWords = 1 << 16

// Packed is a block's facts as they lie in the table, to be read while it is in reach, and 0; of a part they are what Part.pack packs, and the number of the block that it
// is a part of. False if there is no such block.
func (t *Blocks) Packed(id uint32) (facts []byte, of uint32, ok bool) {
	f, known := t.Form(id)
	size := int(f.size)
	if !known {
		size = t.packedSize(id)
	}
	r := t.row(id)
	if size == 0 || r == nil {
		return nil, 0, false
	}
	facts = t.factsAt(r)[:size]
	if r.isPart() {
		of, _ = unpackPart(facts)
	}
	return facts, of, true
}
