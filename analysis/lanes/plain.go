package lanes

import "alleria/abp"

// PlainAccesses calls f for the accesses of a block's whole execution, in their order, with the instruction of each, if all of them are plain: an access's address is its offset and the
// word that it names, nearly always so. Else it calls f for none and returns false: with segments, 32-bit addresses or accesses whose number the words
// tell, all of the block is to be expanded (abp.Exec.ForEachAccess), so that the order stays.
func PlainAccesses(b *abp.Block, f func(ins int, a *abp.Access)) bool {
	for i := range b.Ins {
		if !b.Counted(i) {
			continue
		}
		all := b.InsAccesses(i)
		for k := range all {
			if a := &all[k]; a.Kind != abp.AccessPlain || a.Seg != abp.SegNone || a.AddrBits != 64 {
				return false
			}
		}
	}
	for i := range b.Ins {
		if !b.Counted(i) {
			continue
		}
		all := b.InsAccesses(i)
		for k := range all {
			f(i, &all[k])
		}
	}
	return true
}
