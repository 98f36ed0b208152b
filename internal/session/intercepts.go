package session

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"alleria/abp/calls"
	"alleria/config"
	"alleria/engine"
	"alleria/interceptors"
	"alleria/internal/capture"
	"alleria/internal/session/plan"
	"alleria/internal/session/ways"
	"alleria/internal/symbols"
)

// intercepts is the functions of a program image whose calls are captured.
//
// They are looked for in each image when it is there, for all windows at once; which of them are armed follows the open
// windows. A function has one program at a time: where several open windows ask for it in different ways, the first does it.
type intercepts struct {
	ps *process
	im *image
	*making
	written calls.TypeID // types that the profile has
	number  uint32       // of functions so far
	looked  map[*symbols.Loaded]bool
	at      map[uint64]*intercepted
	unknown []string // functions of which auto found nothing, each once, which told says
	told    map[string]bool
	ifuncs  map[uint64]*ifunc // by the resolver's address
	errno   bool              // the engine knows who finds it
	replays bool              // main waits for the call that is to be made again
}

// intercepted is a function that some window has an Intercept for.
type intercepted struct {
	entry uint64
	image *symbols.Loaded
	fn    *symbols.Function // nil: main of a program without symbols
	name  string
	// names are those that it has instead, which resolvers chose it for or elements ask for; naming is how good they are. See rename.
	names   []string
	naming  naming
	ways    ways.Ways
	armed   *ways.Way
	counted bool // in armings
}

// armings are what a run has armed, and how long that took.
type armings struct {
	functions uint64 // of all program images, each once
	took      time.Duration
}

// hasIntercepts tells whether a configuration has any.
func hasIntercepts(c *config.Config) bool {
	for _, w := range c.Windows {
		for i := range w.Profile.AllImages() {
			if hasIntercept(i) {
				return true
			}
		}
	}
	return false
}

// hasIntercept tells whether calls of functions of an image are captured.
func hasIntercept(i *config.Image) bool {
	return slices.ContainsFunc(i.Functions, func(f *config.Function) bool { return f.Intercept != nil })
}

// newIntercepts makes the state of an image; nil if nothing is to be intercepted. isForked: it may be that of the process's creator.
func newIntercepts(ps *process, im *image, isForked bool) *intercepts {
	if !hasIntercepts(ps.opts.Config) || im.writer == nil || ps.opts.Only != OnlyAll {
		return nil
	}
	x := &intercepts{ps: ps, im: im, making: ps.madeOf(ps.opts), looked: make(map[*symbols.Loaded]bool),
		at: make(map[uint64]*intercepted), ifuncs: make(map[uint64]*ifunc), told: make(map[string]bool)}
	if isForked {
		x.inherit(ps.parent)
	}
	return x
}

// look finds functions in the images that were not looked at yet, and arms those that open windows ask for.
func (x *intercepts) look() {
	if x == nil {
		return
	}
	for _, l := range x.im.tables.Symbols.Images() {
		if x.looked[l] {
			continue
		}
		x.looked[l] = true
		for w := range x.ps.opts.Config.Windows {
			x.lookIn(l, w)
		}
	}
	x.lookAtSlots()
	x.ps.warn(x.armReplay())
	x.apply()
}

// lookIn finds what a window intercepts in an image.
func (x *intercepts) lookIn(l *symbols.Loaded, window int) {
	proc := x.ps.matched.Element(window)
	if proc == nil {
		return
	}
	key := x.im.tables.Key(l)
	for _, t := range proc.Threads {
		for _, i := range t.Images {
			if !i.Matches(key) {
				continue
			}
			for _, f := range i.Functions {
				if f.Intercept != nil {
					x.find(l, window, f)
				}
			}
		}
	}
}

// find adds the functions that an element means, unless a more specific one beside it means them.
func (x *intercepts) find(l *symbols.Loaded, window int, f *config.Function) {
	x.im.tables.Image(l) // searched: what it lacks is told at the end
	var found []*symbols.Function
	if f.Name == "" {
		all := l.Image.Functions()
		for i := range all {
			found = append(found, &all[i])
		}
	} else {
		find := l.Image.Find
		if ic := f.Intercept; ic.Auto && len(ic.Parameters) == 0 && ic.RetType.IsZero() && !ic.Changes() {
			find = l.Image.FindCopies // who says what parameters there are does not mean what a copy has left of them
		}
		found = find(f.Name, f.Decorated)
	}
	seen := false
	pattern := f.Name == "" || strings.Contains(f.Name, "*")
	for _, fn := range found {
		// What only .eh_frame bounds is named by nobody but by its offset: stubs of the PLT are among it.
		if fn.Kind == symbols.PLT || fn.Source == symbols.Unwind && pattern {
			continue
		}
		seen = true
		name := askedName(fn, f)
		if fn.Kind == symbols.IFunc {
			x.chosen(l, fn, window, name, !pattern)
			continue
		}
		x.add(l, fn, fn.Addr+l.Bias, name, window, plan.FuncKey(l.Image, fn))
		if !pattern {
			x.rename(x.at[fn.Addr+l.Bias], name, asked)
		}
	}
	if !seen && f.Name == "main" && l.Main {
		x.findMain(l, window)
	}
}

// askedName is what calls of a function are shown as that an element means: of a C function's names the one that the element has, or its pattern means, since
// who asks for strchr knows nothing of index.
func askedName(fn *symbols.Function, f *config.Function) string {
	name := fn.Name()
	isAsked := func(a symbols.Alias) bool { return a.Linked == f.Name }
	if name != fn.Linked() {
		return name
	}
	if slices.ContainsFunc(fn.Aliases, isAsked) {
		return f.Name
	}
	if p := symbols.NewPattern(f.Name); f.Name != "" && !p.Match(name) {
		for _, a := range fn.Aliases {
			if p.Match(a.Linked) {
				return a.Linked
			}
		}
	}
	return name
}

// findMain finds main of a Go program, which links it under another name, and of a stripped program.
func (x *intercepts) findMain(l *symbols.Loaded, window int) {
	key := config.FuncKey{Linked: "main", Demangled: "main"}
	if fns := l.Image.Find("main.main", true); len(fns) > 0 {
		x.add(l, fns[0], fns[0].Addr+l.Bias, "main.main", window, key)
		return
	}
	if m, err := l.Image.MainCall(); err == nil && m.Main != 0 {
		x.add(l, nil, m.Main+l.Bias, "main", window, key)
	}
}

// add enters a function, with the ways in which a window captures it for each kind of thread.
func (x *intercepts) add(l *symbols.Loaded, fn *symbols.Function, entry uint64, name string, window int, key config.FuncKey) {
	kinds := make(map[*config.Intercept][]int) // by what is captured: the plans of threads
	for plan := range x.ps.threads.kinds() {
		tm, _ := x.ps.matched.Thread(x.ps.threads.thread(plan), func(w int) bool { return w == window })
		for _, ic := range tm.Image(x.im.tables.Key(l)).Function(key).Intercepts() {
			kinds[ic] = append(kinds[ic], plan)
		}
	}
	if len(kinds) == 0 {
		return
	}
	f := x.at[entry]
	if f == nil {
		f = &intercepted{entry: entry, image: l, fn: fn, name: name}
		x.at[entry] = f
	}
	for ic, plans := range kinds {
		f.ways.Add(ic, window, x.threadsOf(plans))
	}
}

// threadsOf says which threads some plans are of.
func (x *intercepts) threadsOf(plans []int) (t ways.Threads) {
	if len(plans) == x.ps.threads.kinds() {
		return t
	}
	t.Except = slices.Contains(plans, 0)
	for plan := 1; plan < x.ps.threads.kinds(); plan++ {
		if slices.Contains(plans, plan) != t.Except {
			t.Of = append(t.Of, uint32(x.ps.threads.thread(plan)))
		}
	}
	return t
}

// apply arms what the open windows ask for, and disarms what none does any more.
func (x *intercepts) apply() {
	if x == nil || x.im.windows == nil {
		return
	}
	open := x.im.windows.Open()
	var arm []*intercepted
	for _, f := range x.at {
		w := f.ways.While(open)
		switch {
		case w == f.armed:
		case w != nil:
			f.armed = w
			arm = append(arm, f)
		default:
			f.armed = nil
			x.im.p.Unintercept(f.entry)
		}
	}
	if len(arm) > 0 && x.ps.run.debuggers.asks.Fills(x.im.p.PID()) {
		x.im.p.FollowByTracer()
	}
	// In the order of addresses, so that numbers do not depend on chance.
	slices.SortFunc(arm, func(a, b *intercepted) int {
		if a.entry < b.entry {
			return -1
		}
		return 1
	})
	if len(arm) < manyArmed {
		x.ps.warn(x.arm(arm))
		return
	}
	x.ps.garbage.grow(func() { x.ps.warn(x.arm(arm)) })
}

// manyArmed is from how many functions on what is made of them is a large part of the tracer's memory.
const manyArmed = 1000

// arm has functions captured. The profile hears of them first.
func (x *intercepts) arm(fns []*intercepted) error {
	if len(fns) == 0 {
		return nil
	}
	from := time.Now()
	var sigs []*calls.Signature
	var errs []error
	var left []string
	code := newCodeReader(x.im.p, len(fns))
	for _, f := range fns {
		w := f.armed
		if w.Number != 0 {
			continue
		}
		x.number++
		w.Number = x.number
		c, err := x.compile(f, w)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: calls of %s are not captured: %w", w.Intercept.Pos, f.name, err))
			continue
		}
		c.Program.Go = c.Program.Go || f.image.Image.Go()
		if len(c.Left) > 0 && !x.told["return of "+f.name] {
			x.told["return of "+f.name] = true
			left = append(left, strings.Join(c.Left, ", ")+" of "+f.name)
		}
		w.Capture = c
		sigs = append(sigs, x.signature(f, w, code))
	}
	if len(sigs) > 0 {
		t := x.compiler.Table
		errs = append(errs, x.im.writer.InterceptTypes(t, x.written+1, sigs))
		x.written = calls.TypeID(len(t.Types))
	}
	if len(left) > 0 {
		errs = append(errs, fmt.Errorf("not captured at return, since no more than %d words are kept until then: %s", capture.MaxSaves, some(left, 5)))
	}
	x.findErrno(fns)
	x.im.p.PlaceAhead(placesOf(fns))
	errs = append(errs, x.intercept(fns)...)
	x.ps.armed.took += time.Since(from)
	return errors.Join(errs...)
}

// intercept has the engine capture what was made for functions.
func (x *intercepts) intercept(fns []*intercepted) (errs []error) {
	for _, f := range fns {
		w := f.armed
		if w.Capture == nil {
			continue
		}
		err := x.im.p.Intercept(f.entry, w.Number, w.Capture.Program)
		if errors.Is(err, engine.ErrEnded) { // so would the others be
			break
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: calls of %s are not captured: %w", w.Intercept.Pos, f.name, err))
			continue
		}
		if f.fn != nil && f.fn.Addr+f.image.Bias == f.entry { // jumps from within to its start are no calls
			x.im.p.SetExtent(f.entry, extentOf(f.image, f.fn)...)
		}
		if !f.counted {
			f.counted = true
			x.ps.armed.functions++
		}
	}
	return errs
}

// placesOf is where natively something is going to lie for functions, as far as that is known: Go's are captured behind their first instructions.
func placesOf(fns []*intercepted) (entries []uint64) {
	for _, f := range fns {
		if c := f.armed.Capture; c != nil && !c.Program.Go {
			entries = append(entries, f.entry)
		}
	}
	return entries
}

// compile makes the capture of a function.
func (x *intercepts) compile(f *intercepted, w *ways.Way) (*interceptors.Capture, error) {
	if len(w.Parts) > 0 {
		p, _ := x.prototype(f, w.Parts[0].Intercept)
		for _, q := range w.Parts[1:] {
			other, _ := x.prototype(f, q.Intercept)
			x.compiler.Join(p, other)
		}
		return x.compiler.Compile(p)
	}
	ic := w.Intercept
	if c := x.same[ic]; c != nil && !interceptors.IsRust(f.linked()) {
		return c, nil
	}
	key := madeOf{image: f.image.Image, vaddr: f.entry - f.image.Bias, name: f.name, intercept: ic, system: f.image.System}
	if m, ok := x.made[key]; ok {
		x.noteUnknown(f, m.unknown)
		return m.capture, m.err
	}
	p, known := x.prototype(f, ic)
	c, err := x.compiler.Compile(p)
	if err == nil && !known && p.Rust == 0 && !ic.Auto && !x.asksKnown(ic) && !ic.Changes() {
		x.same[ic] = c
	}
	if p.Changes == nil {
		x.made[key] = madeCapture{capture: c, err: err, unknown: !known && ic.Auto}
	}
	return c, err
}

// prototype is what is known of a function and what an Intercept wants of it. isKnown tells whether more is known than the Intercept says.
func (x *intercepts) prototype(f *intercepted, ic *config.Intercept) (p *interceptors.Prototype, isKnown bool) {
	known := x.known(f, ic)
	x.noteUnknown(f, known == nil && ic.Auto)
	p = x.compiler.Configured(ic, known)
	// Without debug information: names that Go links have a package in front.
	p.Go = p.Go || known == nil && f.image.Image.Go() && strings.Contains(f.name, ".")
	if known == nil && interceptors.IsRust(f.linked()) {
		p.Rust = interceptors.NewestRust
	}
	if !x.ps.opts.AllowModify {
		p.Changes = nil
	}
	if p.Changes != nil {
		p.Changes.Name, p.Changes.Errno = f.linked(), x.errnoOf()
	}
	return p, known != nil
}

// noteUnknown notes a function of which auto has found nothing, if that is so.
func (x *intercepts) noteUnknown(f *intercepted, unknown bool) {
	if unknown && !x.told[f.name] {
		x.unknown, x.told[f.name] = append(x.unknown, f.name), true
	}
}

// linked is the name by which a function is linked, without its version.
func (f *intercepted) linked() string {
	name := f.one()
	if f.fn != nil {
		name = f.fn.Linked()
	}
	name, _, _ = strings.Cut(name, "@")
	return name
}

// errnoOf returns what finds a thread's errno: 0 where nobody knows.
func (x *intercepts) errnoOf() func(base uint64, m io.ReaderAt) uint64 {
	return func(base uint64, m io.ReaderAt) uint64 {
		if at, ok := x.errnoAt(base, m); ok && base != 0 {
			return at
		}
		return 0
	}
}

// errnoAt is where errno of the thread is that has a base of fs; false: nobody knows.
func (x *intercepts) errnoAt(base uint64, m io.ReaderAt) (uint64, bool) {
	for _, l := range x.im.tables.Symbols.Images() {
		for _, fn := range l.Image.Find("__errno_location", true) {
			if fn.Kind == symbols.PLT {
				continue
			}
			addr := fn.Addr + l.Bias
			code := make([]byte, 48)
			n, _ := m.ReadAt(code, int64(addr))
			if at, ok := interceptors.ErrnoAt(code[:n], addr, base, m); ok {
				return at, true
			}
		}
	}
	return 0, false
}

// findErrno has errno found as soon as a function is captured that has it: it lies in the same distance from the base of fs in all threads. The dynamic linker binds
// the library after it has told of it; until then the word that has the distance is empty.
func (x *intercepts) findErrno(fns []*intercepted) {
	if !x.errno && slices.ContainsFunc(fns, func(f *intercepted) bool {
		return f.armed.Capture != nil && f.armed.Capture.Program.Fails != capture.NeverFails
	}) {
		x.errno = true
		x.im.p.FindErrno(func() int64 {
			at, _ := x.errnoAt(0, x.im.p)
			return int64(at)
		})
	}
}

// asksKnown tells whether it matters what is known of the parameters that an Intercept leaves out: where it says all that
// is before those it captures, it does not.
func (x *intercepts) asksKnown(ic *config.Intercept) bool {
	given := make(map[int]bool)
	last := -1
	for _, p := range ic.Parameters {
		given[p.Index] = true
		last = max(last, p.Index)
	}
	return len(given) <= last || ic.RetType.IsZero()
}

// known is what debug information says of a function, or else the prototypes of the C library; nil: nothing.
func (x *intercepts) known(f *intercepted, ic *config.Intercept) *interceptors.Prototype {
	if !ic.Auto && !x.asksKnown(ic) && !f.image.Image.Go() && !interceptors.IsRust(f.linked()) {
		return nil
	}
	return x.compiler.Known(f.image.Image, f.image.System, f.fn, f.entry-f.image.Bias, f.one(), ic.Depth)
}

// mostCode bounds the bytes of a function that are kept.
const mostCode = 64 << 10

// signature describes a function to readers.
func (x *intercepts) signature(f *intercepted, w *ways.Way, code *codeReader) *calls.Signature {
	s := w.Capture.Signature
	s.Number, s.Name, s.Linked, s.Addr = w.Number, f.name, f.name, f.entry
	s.Image, s.Threads, s.Except = f.image.Path, w.Threads.Of, w.Threads.Except
	if f.fn != nil {
		s.Linked, s.Size = f.fn.Linked(), f.fn.Size
		// From the process: before it is armed, its code is what it executes.
		s.Code = code.read(f.entry, min(s.Size, mostCode))
	}
	return &s
}

// unloaded forgets an image's functions.
func (x *intercepts) unloaded(l *symbols.Loaded) {
	if x == nil {
		return
	}
	delete(x.looked, l)
	for entry, f := range x.at {
		if f.image != l {
			continue
		}
		if f.armed != nil {
			x.im.p.Unintercept(entry)
		}
		delete(x.at, entry)
	}
	for entry, f := range x.ifuncs {
		if f.image == l {
			x.im.p.Unintercept(entry)
			delete(x.ifuncs, entry)
		}
	}
}

// end says what auto has found nothing about, and enters all images into the profile.
func (x *intercepts) end() {
	if x == nil {
		return
	}
	if len(x.unknown) > 0 {
		x.ps.note(fmt.Sprintf("there is neither debug information nor a known prototype of %s: only the times of their calls were captured", some(x.unknown, 5)))
	}
	x.callers()
}

// some are the first of some names, and how many there are more.
func some(names []string, most int) string {
	text := strings.Join(names[:min(len(names), most)], ", ")
	if n := len(names) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// callers enters all images into the profile: a return address may lie in any.
func (x *intercepts) callers() {
	for _, l := range x.im.tables.Symbols.Images() {
		x.im.tables.Image(l)
	}
}

// recordsInstructions tells whether the windows that are open record more of the process than intercepted calls.
func (ps *process) recordsInstructions(open uint64) bool {
	for i := range ps.opts.Config.Windows {
		proc := ps.matched.Element(i)
		if open&(1<<i) == 0 || proc == nil {
			continue
		}
		for _, t := range proc.Threads {
			if t.Syscalls || t.Signals {
				return true
			}
			for _, im := range t.Images {
				for _, f := range im.Functions {
					if len(f.Instructions) > 0 {
						return true
					}
				}
			}
		}
	}
	return false
}
