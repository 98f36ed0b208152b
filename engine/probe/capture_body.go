package probe

import (
	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/capture"
	"alleria/internal/layout"
)

// The code that captures one function: its entries, and its returns. It lies in the cache's first region and is used from the cache
// and from native code alike.
//
// What code can capture: integers of 1, 2, 4 and 8 bytes, arguments in memory, vector registers, and what a pointer in a register or
// in memory leads to if that is of a known length of up to textMost bytes, or a string. Everything else
// is the tracer's (see capturePoint.code).

const (
	captureChunk = 64 << 10 // what is taken of the cache at a time
	captureMost  = 8 << 10  // what one function may need of it
	fixedMost    = 256      // bytes of a target of fixed length that code copies
	textMost     = 1016     // and of a string
	maxFollowed  = 16       // pointers that code follows
	maxLevels    = 8        // from each other
)

// captureRange is a stretch of code that captures.
type captureRange struct {
	start, end uint64
	next       int // in the first region
}

// captureCode returns where the code is that captures entries of c, 0: there is none. It makes it.
func (p *Points) captureCode(c *Interception) uint64 {
	if c.made || p.off.CacheCapture || c.Prog.ByTracer() || p.filled && c.Prog.Follows() {
		return c.code
	}
	c.made = true
	r := p.captureRoom()
	if r == nil {
		return 0
	}
	ar := p.cache.Regions[0]
	g := captureGen{p: p, asm: asm.New(ar.Mem[:r.next+captureMost], ar.Base, r.next), rt: ar.Base, c: c}
	entry := g.entry()
	if entry == 0 || g.asm.Full() {
		return 0
	}
	r.next = (g.asm.Pos() + 15) &^ 15
	if c.Prog.Returns && c.number < layout.MaxCaptureLeaves {
		g.asm.Seek(r.next)
		if leave := g.leave(); leave != 0 && !g.asm.Full() {
			r.next = (g.asm.Pos() + 15) &^ 15
			c.leave = leave
			p.shm.Ctl.U64(layout.CaptureLeaves + 8*int(c.number)).Store(leave)
		}
	}
	c.code = entry
	return entry
}

// captureRoom is memory for the code of one function; nil: there is none.
func (p *Points) captureRoom() *captureRange {
	if n := len(p.captures.code); n > 0 {
		r := &p.captures.code[n-1]
		if uint64(r.next)+captureMost <= r.end-p.cache.Regions[0].Base {
			return r
		}
	}
	ar := p.cache.Regions[0]
	if ar.Cold+captureChunk+codecache.GroupReserve > ar.Size {
		return nil
	}
	start := ar.Base + uint64(ar.Cold)
	p.captures.code = append(p.captures.code, captureRange{start, start + captureChunk, ar.Cold})
	ar.Cold += captureChunk
	return &p.captures.code[len(p.captures.code)-1]
}

// CaptureBail tells whether code that captures is at an address, or that looks who called the function whose entry opens a window,
// and where it goes if a load of it faults.
func (p *Points) CaptureBail(addr uint64) (uint64, bool) {
	for i := range p.captures.code {
		if r := &p.captures.code[i]; addr >= r.start && addr < r.end {
			a := p.cache.Regions[0]
			return a.Base + a.Routines.Capture.Bail, true
		}
	}
	a := p.cache.RegionAt(addr)
	if a == nil {
		return 0, false
	}
	rt := &a.Routines.Capture
	switch off := addr - a.Base; {
	case off == a.Routines.EnteredCaller:
		return a.Base + a.Routines.EnteredKnown, true
	case off >= rt.Text && off < rt.TextEnd:
		return a.Base + rt.TextBail, true
	case off >= rt.Begin && off < rt.End:
		return a.Base + rt.Bail, true
	}
	return 0, false
}

// captureGen writes the code of one function.
type captureGen struct {
	p    *Points
	asm  asm.Writer
	rt   uint64 // where the routines are
	c    *Interception
	off  int // where the next word goes, from rcx
	left bool
	bad  bool // it is nothing for code
	// what has been followed so far, for pointers that lead to the same
	followed []*capture.Target
	words    int
	bytes    uint32
	before   int // words in front of the values
}

// entry writes the code of entries, 0 if that is the tracer's.
func (g *captureGen) entry() uint64 {
	for _, s := range g.c.Prog.Saves {
		if s.Kind != capture.GPR {
			return 0
		}
	}
	a, rt := &g.asm, &g.p.cache.Regions[0].Routines.Capture
	code := a.Here()
	next := a.LeaCode(x86.RCX, a.Here())
	a.StoreWord(layout.CaptureNext, x86.RCX)
	a.Jmp(g.rt + rt.Begin)
	a.Link(next, a.Here())
	done := rt.Done
	g.ofStack()
	g.items(g.c.Prog.Entry)
	if g.c.Prog.Returns {
		a.MovImm(x86.RAX, uint64(g.c.number))
		a.StoreWord(layout.CaptureEnters, x86.RAX)
		done = rt.Enter
	}
	a.MovImm(x86.RAX, capture.Head(capture.Entered, 0, g.c.Fn))
	a.Jmp(g.rt + done)
	if g.bad {
		return 0
	}
	return code
}

// ofStack goes to the tracer where the slot has the frames of another stack than the one that the function is entered on. rax is free.
func (g *captureGen) ofStack() {
	a, bail := &g.asm, g.rt+g.p.cache.Regions[0].Routines.Capture.Bail
	switch {
	case g.p.Stacks():
		a.CmpWord(x86.RSP, layout.FramesLo)
		a.Jcc(asm.CondOf(0x72), bail) // below
		a.CmpWord(x86.RSP, layout.FramesHi)
		a.Jcc(asm.CondOf(0x73), bail) // not below
		return
	case g.c.OfGoroutine(g.p):
	case g.p.Goroutines():
		a.CmpWordImm(layout.FramesG, layout.OwnStack)
		a.Jcc(asm.IfZero.Not(), bail)
		return
	default:
		g.leavesFrames(bail)
		return
	}
	a.CmpWord(x86.R14, layout.FramesG)
	a.Jcc(asm.IfZero.Not(), bail)
	a.Get(x86.RAX, x86.R14, layout.GoStackEnd)
	a.CmpWord(x86.RAX, layout.FramesHi)
	a.Jcc(asm.IfZero.Not(), bail)
	// C code that a goroutine has called has its registers, and another stack.
	a.Cmp(asm.At(x86.R14, layout.GoStackEnd), 8, x86.RSP)
	a.Jcc(asm.CondOf(0x76), bail) // not above
	a.Cmp(asm.At(x86.R14, layout.GoStackStart), 8, x86.RSP)
	a.Jcc(asm.CondOf(0x77), bail) // above
}

// leavesFrames goes to the tracer where frames are to be dropped that are not known to lie on the same stack (Points.Suspect).
func (g *captureGen) leavesFrames(bail uint64) {
	a := &g.asm
	a.LoadWord(x86.RAX, layout.CaptureTop)
	top := asm.WordBy(layout.CaptureFrames+layout.CaptureSP, x86.RAX, 1)
	a.Cmp(top, 8, x86.RSP)
	none := a.JccLater(asm.CondOf(0x73)) // not below
	a.Load(x86.RAX, top, 8)
	a.CmpWord(x86.RAX, layout.FramesLo)
	a.Jcc(asm.CondOf(0x72), bail)
	a.CmpWord(x86.RSP, layout.FramesHi)
	a.Jcc(asm.CondOf(0x73), bail)
	a.Link(none, a.Here())
}

// leave writes the code of returns, 0 if that is the tracer's.
func (g *captureGen) leave() uint64 {
	a, rt := &g.asm, &g.p.cache.Regions[0].Routines.Capture
	g.left, g.followed, g.words, g.bytes = true, nil, 0, 0
	code := a.Here()
	next := a.LeaCode(x86.RAX, a.Here())
	a.StoreWord(layout.CaptureNext, x86.RAX)
	a.Jmp(g.rt + rt.Leave)
	a.Link(next, a.Here())
	failed := g.failed()
	g.items(g.c.Prog.Exit)
	a.MovImm(x86.RAX, capture.Head(capture.Left, 0, g.c.Fn))
	a.Jmp(g.rt + rt.LeftDone)
	if failed != nil {
		a.Link(*failed, a.Here())
		g.told()
		g.items(g.c.Prog.Exit)
		a.MovImm(x86.RAX, capture.Head(capture.Left, capture.Altered, g.c.Fn))
		a.Jmp(g.rt + rt.LeftDone)
	}
	if g.bad {
		return 0
	}
	return code
}

// failed goes elsewhere with a call that has failed, so that others pay for nothing but the look; nil: none does.
func (g *captureGen) failed() *asm.Site {
	a := &g.asm
	if g.c.Prog.Fails == capture.NeverFails || g.p.errno == nil {
		return nil
	}
	a.LoadWord(x86.RAX, layout.CaptureSpill)
	switch g.c.Prog.Fails {
	case capture.Zero:
		a.TestSelf(x86.RAX)
	case capture.MinusOneInt:
		a.SignExtend(x86.RAX, x86.RAX, 4)
		a.CmpImm(x86.RAX, 1<<32-1)
	default:
		a.CmpImm(x86.RAX, 1<<32-1)
	}
	site := a.JccLater(asm.IfZero)
	return &site
}

// told writes errno of a call that has failed, as of one that was changed.
func (g *captureGen) told() {
	a := &g.asm
	a.LoadWord(x86.RDX, layout.ControlPtr)
	a.Get(x86.RDX, x86.RDX, layout.ErrnoAt)
	a.TestSelf(x86.RDX)
	a.Jcc(asm.IfZero, g.rt+g.p.cache.Regions[0].Routines.Capture.Bail) // the tracer looks where it is
	words := capture.AppendChanges(nil, []capture.Changed{capture.Errno(0)})
	for i, w := range words {
		if a.MovImm(x86.RAX, w); i == len(words)-1 {
			at := asm.At(x86.RDX, 0)
			at.Seg = x86.SegFS
			a.Load(x86.RAX, at, 4)
		}
		a.Put(x86.RCX, 8*i, x86.RAX)
	}
	g.advance(8 * len(words))
	g.followed, g.bytes, g.before = nil, 0, len(words)
}

// items writes values, from rcx on, which ends up behind them. rax and rdx are free.
func (g *captureGen) items(items []capture.Item) {
	g.off, g.words = 0, capture.HeaderWords+g.before
	for i := range items {
		it := &items[i]
		g.words += capture.WordsOf(int(it.Bytes))
		at := g.off
		g.value(it)
		g.off = at + 8*capture.WordsOf(int(it.Bytes))
		for k := range it.Points {
			if it.Bytes != 8 || len(it.Points) > 1 || it.Src.Kind == capture.Vector {
				g.bad = true
				return
			}
			g.asm.Get(x86.RDX, x86.RCX, at)
			g.follow(it.Points[k].Target, 0)
		}
		if g.words > capture.MaxWords {
			g.bad = true
		}
		if g.bad {
			return
		}
	}
	g.advance(g.off)
	g.bad = g.bad || g.bytes > g.c.Prog.MaxBytes
}

// advance moves rcx up to where the next word goes.
func (g *captureGen) advance(n int) {
	if n != 0 {
		g.asm.LeaDisp(x86.RCX, x86.RCX, int64(n))
	}
	g.off = 0
}

// value writes the bytes of one value.
func (g *captureGen) value(it *capture.Item) {
	a, n := &g.asm, int(it.Bytes)
	switch it.Src.Kind {
	case capture.GPR:
		r := x86.Reg(it.Src.N)
		if r <= x86.RDX {
			a.LoadWord(x86.RAX, layout.CaptureSpill+8*int(r))
		} else {
			a.Mov(x86.RAX, r)
		}
		g.word(n)
	case capture.Saved:
		a.LoadWord(x86.RDX, layout.CaptureTop)
		a.Load(x86.RAX, asm.WordBy(layout.CaptureFrames+layout.CaptureSaves+8*int(it.Src.N), x86.RDX, 1), 8)
		g.word(n)
	case capture.Stack:
		if g.left {
			g.bad = true
			return
		}
		g.copy(x86.RSP, 8+int(it.Src.N), n)
	case capture.Vector:
		g.vector(uint8(it.Src.N), n)
	default:
		g.bad = true
	}
}

// word stores rax's low bytes.
func (g *captureGen) word(n int) {
	switch n {
	case 8:
	case 4:
		g.asm.Mov32(x86.RAX, x86.RAX)
	case 1, 2:
		g.asm.ZeroExtend(x86.RAX, n)
	default:
		g.bad = true
		return
	}
	g.asm.Put(x86.RCX, g.off, x86.RAX)
}

// copy copies n bytes from a distance behind base to where the next word goes, padded. rax is used.
func (g *captureGen) copy(base x86.Reg, disp, n int) {
	a := &g.asm
	if n > fixedMost {
		g.bad = true
		return
	}
	at := g.off
	for ; n >= 8; n -= 8 {
		a.Get(x86.RAX, base, disp)
		a.Put(x86.RCX, at, x86.RAX)
		disp, at = disp+8, at+8
	}
	if n == 0 {
		return
	}
	a.PutImm(x86.RCX, at, 0)
	for _, size := range []int{4, 2, 1} {
		if n&size != 0 {
			a.Load(x86.RAX, asm.At(base, disp), size)
			a.Store(asm.At(x86.RCX, at), size, x86.RAX)
			disp, at = disp+size, at+size
		}
	}
}

// vector stores a vector register's low bytes, and maybe what lies above them, which the next word takes the place of.
func (g *captureGen) vector(v uint8, n int) {
	a := &g.asm
	switch {
	case n <= 16 && g.p.translator.HasAVX:
		a.AvxStore(asm.At(x86.RCX, g.off), v, 16)
	case n <= 16:
		a.SseStore(asm.At(x86.RCX, g.off), v, false)
	case n <= 32 && g.p.translator.HasAVX:
		a.AvxStore(asm.At(x86.RCX, g.off), v, 32)
	default:
		g.bad = true
		return
	}
	if rest := n & 7; rest != 0 {
		g.off += n &^ 7
		a.Get(x86.RAX, x86.RCX, g.off)
		g.word(rest)
	}
}

// follow writes what the pointer in rdx leads to, so many levels from a value.
func (g *captureGen) follow(t *capture.Target, level int) {
	a := &g.asm
	g.advance(g.off)
	if level == maxLevels {
		g.bad = true
		return
	}
	null := g.pointer(t)
	if g.bad {
		return
	}
	switch n, status, ok := fixedTarget(t); {
	case ok:
		a.PutImm(x86.RCX, 0, uint32(capture.PartWord(status, n)))
		if len(t.Points) > 0 {
			a.StoreWord(layout.CaptureLevel+8*level, x86.RCX)
		}
		g.off = 8
		g.copy(x86.RDX, 0, n)
		g.account(n)
		g.advance(8 + 8*capture.WordsOf(n))
		g.nested(t, n, level)
	case isText(t):
		most := min(int(t.Max)&^7, textMost)
		next := a.LeaCode(x86.RAX, a.Here())
		a.StoreWord(layout.CaptureNext, x86.RAX)
		long := uint64(0)
		if most != int(t.Max) {
			long = 1
		}
		a.MovImm(x86.RAX, uint64(most)|long)
		a.Jmp(g.rt + g.p.cache.Regions[0].Routines.Capture.Text)
		a.Link(next, a.Here())
		g.account(most)
	default:
		g.bad = true
		return
	}
	over := a.JmpLater()
	a.Link(null, a.Here())
	a.PutImm(x86.RCX, 0, uint32(capture.PartWord(capture.Null, 0)))
	a.LeaDisp(x86.RCX, x86.RCX, 8)
	a.Link(over, a.Here())
	g.off = 0
}

// nested writes what the pointers in n bytes of a target lead to.
func (g *captureGen) nested(t *capture.Target, n, level int) {
	a := &g.asm
	for at := 0; at+int(t.Size) <= n && !g.bad; at += int(t.Size) {
		for _, q := range t.Points {
			a.LoadWord(x86.RDX, layout.CaptureLevel+8*level)
			a.Get(x86.RDX, x86.RDX, 8+at+int(q.Off))
			if g.follow(q.Target, level+1); g.bad {
				return
			}
		}
	}
}

// pointer leads to what null links if the pointer in rdx is null, and to the tracer if the same has been followed before.
func (g *captureGen) pointer(t *capture.Target) (null asm.Site) {
	a := &g.asm
	if len(g.followed) == maxFollowed {
		g.bad = true
		return null
	}
	a.StoreWord(layout.CapturePtr+8*len(g.followed), x86.RDX)
	a.TestSelf(x86.RDX)
	null = a.JccLater(asm.IfZero)
	for i, o := range g.followed {
		if o == t {
			a.CmpWord(x86.RDX, layout.CapturePtr+8*i)
			a.Link(a.JccLater(asm.IfZero), g.rt+g.p.cache.Regions[0].Routines.Capture.Bail)
		}
	}
	g.followed = append(g.followed, t)
	return null
}

// account counts what a part may take.
func (g *captureGen) account(n int) {
	g.words += 1 + capture.WordsOf(n)
	g.bytes += uint32(max(n, 8))
}

// fixedTarget tells of a target of a known length how many bytes are captured, and what they are called; false: it is nothing for code.
func fixedTarget(t *capture.Target) (int, capture.Status, bool) {
	if t.Dec || t.Len.Kind != capture.Fixed || t.Len.N > fixedMost || t.Size > fixedMost {
		return 0, 0, false
	}
	n := int(t.Len.N) * int(t.Size)
	if n <= int(t.Max) {
		return n, capture.Whole, n <= fixedMost
	}
	n = int(t.Max) / int(t.Size) * int(t.Size)
	return n, capture.Bounded, n <= fixedMost
}

// isText tells targets that are strings.
func isText(t *capture.Target) bool {
	return len(t.Points) == 0 && !t.Dec && t.Len.Kind == capture.Sentinel && t.Size == 1 && t.Len.N == 0 && t.Max >= 8
}

// storeSaves writes, behind the capture of an entry, what puts saved values into the frame. The registers are the
// application's.
func storeSaves(a *asm.Writer, c *Interception) {
	if !c.Prog.Returns || len(c.Prog.Saves) == 0 {
		return
	}
	a.StoreWord(layout.CaptureSpill+8, x86.RCX)
	a.StoreWord(layout.CaptureSpill, x86.RAX)
	a.LoadWord(x86.RCX, layout.CaptureTop)
	for i, s := range c.Prog.Saves {
		r := x86.Reg(s.N)
		if r == x86.RCX {
			a.LoadWord(x86.RAX, layout.CaptureSpill+8)
			r = x86.RAX
		} else if r == x86.RAX {
			a.LoadWord(x86.RAX, layout.CaptureSpill)
		}
		a.Store(asm.WordBy(layout.CaptureFrames+layout.CaptureSaves+8*i, x86.RCX, 1), 8, r)
	}
	a.LoadWord(x86.RAX, layout.CaptureSpill)
	a.LoadWord(x86.RCX, layout.CaptureSpill+8)
}
