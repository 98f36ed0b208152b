package codecache

// RelocKind is how a reference is written.
type RelocKind uint8

const (
	RelocDisp RelocKind = iota // 32 bits, the distance to the application's address from behind them and what follows them
	RelocAbs                   // 64 bits, the address
	RelocNeg                   // 64 bits, minus the address
)

// Reloc is a reference to the image that App lies in.
type Reloc struct {
	App    uint64
	At     uint32 // offset in the region
	Region uint8  // the region, by number
	Kind   RelocKind
}

// CheckAt is a target check: see the translator's targetCheck.
type CheckAt struct {
	App     uint64
	Code    uint32 // offset in the region
	Miss    uint32 // of the displacement of its jump to the target check before it
	Region  uint8
	Variant Variant
}

// LiteralAt is where the cache's code has an address of another region's.
type LiteralAt struct {
	At     uint32
	Region uint8
}

// KeptVariants is how many variants are kept. Recording code has numbers of blocks in it, so that who takes it over takes the facts of
// blocks with it, and the numbers that images and functions have in these; of the plans only the first is kept.
const KeptVariants = Record + 1

// Written is what is written down while code is translated, so that another process can take the translations over.
// Code of the cache refers to the application by addresses in constants, and by displacements where an operand was relative to
// RIP. Everything else in it is relative to the region, to the thread's slot, or a number of this process's tables, which are
// taken over as they are.
type Written struct {
	Off      bool
	Relocs   Pool[Reloc]
	Checks   Pool[CheckAt]
	Literals []LiteralAt
	// what counts of entries are of, in the end, and what numbers there go up to
	Entered     []Entered
	EnteredHead EnteredHead
	// Mixed: another image came to lie where one was, or an image's file was changed while the process may have had it
	Mixed bool
}

// NoteLiteral notes an address of the cache's that ends at an offset of the region.
func (c *Cache) NoteLiteral(ar *Region, end int) {
	if w := &c.Written; !w.Off {
		w.Literals = append(w.Literals, LiteralAt{At: uint32(end - 8), Region: ar.Num})
	}
}
