package translate

import "alleria/engine/x86"

// Translations of a file's code are of use to the next process of the program, those of code that the program has made are not. So no block is of both, no group is,
// and what leads from the one kind to the other asks in the next process (codecache.Cache.Shut). Some programs make one page of a library writable, to
// write a few instructions there: the rest of the library is as in any other process (reuse.Written.Patched).

// madeAt tells whether code at an address was made by the program, or may change unnoticed.
func (u *Translator) madeAt(addr uint64) bool { return u.target.Made(addr) || u.target.Changing(addr) }

// goesWith tells whether what lies at app is of the same kind as what was written last. It says no, too, where an instruction of the
// longest kind would reach into code of the other.
func (u *Translator) goesWith(app uint64) bool {
	const longest = 15
	made := u.madeAt(app)
	if !made && (app+longest-1)&^(codePage-1) != app&^(codePage-1) && u.madeAt(app+longest-1) {
		return false
	}
	return made == u.cache.InMade
}

// ofOneKind is how many of the n instructions that were decoded at app make a block of one kind, and notes which. One of a file whose end the program has
// made is of what it has made, and so is what is no instruction with bytes behind it that may be others.
func (u *Translator) ofOneKind(app uint64, n int, why x86.Why) (int, x86.Why) {
	u.cache.InMade = u.madeAt(app)
	switch {
	case u.cache.InMade:
	case n == 0:
		u.cache.InMade = !u.goesWith(app)
	default:
		k := u.untilMade(u.Ins[:n])
		if k == 0 {
			u.cache.InMade = true
			return n, why
		}
		if k < n {
			return k, x86.Full
		}
	}
	return n, why
}

// untilMade is how many of a file's instructions, which follow each other, come in front of the first that reaches into code which the program has made.
func (u *Translator) untilMade(ins []x86.Insn) int {
	page := ins[0].Addr &^ (codePage - 1)
	for i := range ins {
		last := (ins[i].Next() - 1) &^ (codePage - 1)
		if last == page {
			continue
		}
		if page = last; u.madeAt(page) {
			return i
		}
	}
	return len(ins)
}
