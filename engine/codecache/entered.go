package codecache

import "alleria/internal/layout"

// EnteredKind is what an Entered is of.
type EnteredKind uint8

const (
	OwnJump    EnteredKind = iota // N is the counter of jumps from a function, at From, to its own first instruction, which From is
	DirectCall                    // N is the block that ends with the call
	DirectJump                    // N is the counter of jumps from From into another function at To
	Indirect                      // N is the number of the branch at From, At its hash
	Unhashed                      // likewise, of one that has no hash
	HashPlace                     // N is that number, At and Region where code has the hash
	Led                           // N is that number, of a branch that lies elsewhere and has led to To, which From is
	enteredKinds
)

// Entered is what a counter, a block or an indirect branch counts of functions' entries, in a form that others can take over: translations have these numbers in them. From and To are
// addresses of the application.
type Entered struct {
	From, To uint64
	N, At    uint32
	Kind     EnteredKind
	Jump     uint8 // of an indirect branch: it is no call
	Region   uint8
	_        [5]uint8
}

// EnteredHead says what the numbers in a process's list of those go up to.
type EnteredHead struct {
	On     uint32 // 1: entries are counted, and what blocks are of depends on where functions begin and end
	Sites  uint32 // indirect branches
	Hashes uint32 // that have been given
	_      uint32
}

// MostSites bounds the indirect branches of what is kept, which whoever takes it over has a table of.
const MostSites = 1 << 20

// FitsEntered tells whether all numbers of a list are of something that there is.
func (k *Kept) FitsEntered(list []Entered) bool {
	h := &k.Entered
	if h.On > 1 || h.Sites > MostSites || h.Hashes > layout.EdgeEntries || h.On == 0 && len(list) > 0 {
		return false
	}
	for i := range list {
		if e := &list[i]; !k.fitsEntered(e) || e.Kind == Indirect && e.At >= layout.EdgeEntries || e.Kind == HashPlace && !k.patchable(e.Region, e.At) {
			return false
		}
	}
	return true
}

// fitsEntered tells whether there is what has the number.
func (k *Kept) fitsEntered(e *Entered) bool {
	switch e.Kind {
	case OwnJump, DirectJump:
		return int64(e.N) < int64(k.Counters.N)
	case DirectCall:
		return int64(e.N) < int64(k.Blocks.N)
	}
	return e.Kind < enteredKinds && e.N < k.Entered.Sites
}
