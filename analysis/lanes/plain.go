package lanes

import "alleria/abp"

// PlainAccesses calls f for the accesses of a block's whole execution, in their order, with the instruction of each, if all of them are plain: an access's address is its offset and the
// word that it names, nearly always so. Else it calls f for none and returns false: with segments, 32-bit addresses or accesses whose number the words
// tell, all of the block is to be expanded (abp.Exec.ForEachAccess), so that the order stays.
func PlainAccesses(b *abp.Block, f func(ins int, a *abp.Access)) bool {
	if !all(b, func(a *abp.Access) bool { return a.Seg == abp.SegNone }) {
		return false
	}
	counted(b, f)
	return true
}

// plainOrFS tells whether all accesses are such, or would be without the base of fs.
func plainOrFS(b *abp.Block) bool {
	return all(b, func(a *abp.Access) bool { return a.Seg == abp.SegNone || a.Seg == abp.SegFS })
}

// all tells whether all accesses that count are of one lane and 64 bits, and what is asked of their segments.
func all(b *abp.Block, seg func(a *abp.Access) bool) bool {
	for i := range b.Ins {
		if !b.Counted(i) {
			continue
		}
		all := b.InsAccesses(i)
		for k := range all {
			if a := &all[k]; a.Kind != abp.AccessPlain || a.AddrBits != 64 || !seg(a) {
				return false
			}
		}
	}
	return true
}

// counted calls f for all accesses that count.
func counted(b *abp.Block, f func(ins int, a *abp.Access)) {
	for i := range b.Ins {
		if !b.Counted(i) {
			continue
		}
		all := b.InsAccesses(i)
		for k := range all {
			f(i, &all[k])
		}
	}
}
