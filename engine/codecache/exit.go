package codecache

// Exit is a direct branch whose target had no translation when it was written.
// It is linked once the target has one.
// Exits are numbered; the number is what translated code asks with.
type Exit struct {
	Site     uint64 // cache address of the displacement
	Target   uint64 // application address
	Region   *Region
	Variant  Variant
	Fixed    bool // never linked: the tracer wants to be asked (notify points, system calls)
	Call     bool // follows a SyscallNotify call
	Recorded bool // call: the instruction is part of the records
	Spent    bool // behind a block that used the budget up
	Made     bool // of code that the program has made
	Entry    Entry
	RareExit
}

// RareExit is what few exits have.
type RareExit struct {
	Need  *Shortage // of a block that exceeds a budget
	Stale *Block    // the code of this block has changed
	Trap  *Block    // the tracer executes this block's last instruction
	X87   X87Pointer
}

// X87Pointer is how an x87 instruction pointer was written to memory: from the start of an operand, and its bytes; none if Size is 0.
type X87Pointer struct{ Off, Size uint8 }

// ExitWords is an exit as it is kept: there are more of them than blocks, so it has no
// pointers and 24 bytes.
type ExitWords struct {
	Target uint64
	site   uint32 // offset of the displacement in the region; 0 for none
	next   uint32 // the next exit that waits for the same target, by number, plus 1
	rare   uint32 // number of its rareExit, plus 1
	region uint8
	v      Variant
	flags  uint8
}

// Bits of ExitWords.flags.
const (
	exitFixed = 1 << iota
	exitCall
	exitRecorded
	exitSpent
	exitEntry          // two bits: the entry
	exitMade  = 1 << 6 // of code that the program has made
	exitDoor  = 1 << 7 // of a door
)

// NewExit enters an exit and returns its number. Exits to notify points are
// never linked: the tracer wants to be asked each time.
func (c *Cache) NewExit(e Exit) int {
	w, n := c.Exits.Add()
	*w = ExitWords{Target: e.Target, region: e.Region.Num, v: e.Variant}
	if e.Site != 0 {
		w.site = uint32(e.Site - e.Region.Base)
	}
	w.flag(exitFixed, e.Fixed || c.Watched[e.Target])
	w.flag(exitCall, e.Call)
	w.flag(exitRecorded, e.Recorded)
	w.flag(exitSpent, e.Spent)
	w.flag(exitMade, e.Made || c.InMade)
	w.flags |= uint8(e.Entry) * exitEntry
	if e.RareExit != (RareExit{}) {
		c.RareExits = append(c.RareExits, e.RareExit)
		w.rare = uint32(len(c.RareExits))
	}
	if w.flags&exitFixed == 0 {
		c.await(w, n)
		c.aheadOf(e.Target, e.Variant)
	}
	return n
}

// OfMadeCode tells whether the exit was written for code that the program has made.
func (w *ExitWords) OfMadeCode() bool { return w.flags&exitMade != 0 }

func (w *ExitWords) flag(bit uint8, on bool) {
	if on {
		w.flags |= bit
	}
}

// ExitAt returns the exit of that number.
func (c *Cache) ExitAt(n int) Exit {
	w := c.Exits.At(n)
	e := Exit{Target: w.Target, Region: c.Regions[w.region], Variant: w.v, Fixed: w.flags&exitFixed != 0, Call: w.flags&exitCall != 0,
		Recorded: w.flags&exitRecorded != 0, Spent: w.flags&exitSpent != 0, Entry: Entry(w.flags / exitEntry & 3)}
	if w.site != 0 {
		e.Site = e.Region.Base + uint64(w.site)
	}
	if w.rare != 0 {
		e.RareExit = c.RareExits[w.rare-1]
	}
	return e
}

// await puts an exit into the list of those that wait for its target. If there is a block,
// which the exit's branch does not reach, nobody waits: it is linked when it asks first.
func (c *Cache) await(w *ExitWords, n int) {
	s := c.MakeSlot(w.Target, w.v)
	if c.refTo(s.Ref) != nil {
		return
	}
	if first, ok := s.Ref.exit(); ok {
		w.next = uint32(first) + 1
	}
	s.Ref = exitRef(n)
}

// enteredBlock is a block of the group being written and the first of the exits that
// wait for it, by number plus 1.
type enteredBlock struct {
	b     *Block
	waits uint32
}

// Enter makes a block known. The exits that wait for it are linked once the
// group is complete.
func (c *Cache) Enter(b *Block) {
	s := c.MakeSlot(b.App, b.Variant)
	e := enteredBlock{b: b}
	if first, ok := s.Ref.exit(); ok {
		e.waits = uint32(first) + 1
	}
	s.Ref = blockRef(b.Num)
	c.entered = append(c.entered, e)
	if c.NewCheck == b.App && b.App != 0 {
		c.NewCheck = 0
		b.Note(Checked)
	}
	if k := (CheckKey{b.Variant, b.App}); len(c.BareChecks) > 0 && c.BareChecks[k] {
		delete(c.BareChecks, k)
		b.Note(Checked)
	}
}

// LinkEntered links the exits that waited for the blocks just written.
// Watched addresses are left out: their exits keep asking.
func (c *Cache) LinkEntered() {
	for _, e := range c.entered {
		if c.Watched[e.b.App] {
			continue
		}
		c.open(e.b)
		for n := e.waits; n != 0; n = c.Exits.At(int(n) - 1).next {
			c.Link(int(n)-1, e.b)
		}
	}
	c.entered = c.entered[:0]
}

// Link patches an exit's branch to lead to b. A thread that is on its way through the
// exit's stub gets its answer from the dispatch, which names the target as well.
func (c *Cache) Link(n int, b *Block) {
	e := c.Exits.At(n)
	if e.flags&exitFixed != 0 || e.site == 0 {
		return
	}
	if c.siteGone(c.Regions[e.region].Base + uint64(e.site)) {
		e.site = 0
		return
	}
	ar, to := c.Regions[e.region], c.wayTo(n, b)
	if !ar.Contains(to) {
		to = c.Veneer(ar, to)
	}
	Patch32(ar.Mem[e.site:], uint32(int64(to)-int64(ar.Base+uint64(e.site)+4)))
	e.site = 0
}
