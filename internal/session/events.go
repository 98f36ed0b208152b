package session

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"alleria/config"
	"alleria/engine"
	"alleria/engine/x86"
	"alleria/internal/symbols"
	"alleria/window"
)

// events turns the events of windows into places whose entries the engine counts,
// and what it reports back into events.
//
// A Return needs the function's entry as well: only there is the return address
// known, and only the stack pointer tells which of several entries of a recursion
// it belongs to. Watching `ret` instructions instead was refused: tail calls leave a
// function by another's.
type events struct {
	run     *process
	im      *image
	places  map[counter]*watched
	starts  map[uint64][]*window.Leaf // call sites in start code, where rdi is main
	linkers map[uint64]bool           // where dynamic linkers say that they have mapped something
	found   map[*window.Leaf]bool
	done    map[armed]bool
	near    map[suggestion]func() []string
	off     bool
	toggles window.Switch      // what the engine opens and closes by itself, if anything
	gone    map[goneKey]uint64 // what Gone said when the window opened or closed last
}

// goneKey is a place and a window whose Till awaits it.
type goneKey struct {
	place  counter
	window int
}

// watched is who waits for a place.
//
// A place has one count for all who wait: it is set to the smallest number of entries
// that can make any of them fire, and what it has counted is shared out when it is taken.
type watched struct {
	leaves   []*window.Leaf
	counting []*window.Leaf // those that the place's count is for
}

// newEvents makes the state of a program image's events; arm fills it.
func newEvents(r *process, im *image) *events {
	e := &events{run: r, im: im, places: make(map[counter]*watched),
		starts: make(map[uint64][]*window.Leaf), linkers: make(map[uint64]bool),
		found: make(map[*window.Leaf]bool), done: make(map[armed]bool), gone: make(map[goneKey]uint64),
		near: make(map[suggestion]func() []string)}
	if anyEvent(r.opts.Config, func(ev *config.Event) bool { return ev.Kind == config.EventReturn && r.feeds(ev) }) {
		im.p.AwaitReturns()
	}
	return e
}

// armed is an event that was looked for in an image; the nil leaf is the image's own linker hook.
type armed struct {
	leaf  *window.Leaf
	image *symbols.Loaded
}

// arm resolves the events' functions in the images that were not looked at yet.
//
// It is called when the program starts and whenever images have come. Errors of single
// events are joined: the others are watched all the same.
func (e *events) arm() error {
	if e.off {
		return nil
	}
	var errs []error
	leaves := e.run.leaves()
	for _, leaf := range leaves {
		if ev := leaf.Event; ev.Kind == config.EventAddress && ev.HasValue && !e.found[leaf] {
			// An absolute address needs no image: it is watched even where nothing
			// is mapped yet.
			errs = append(errs, e.watchPlace(leaf, ev.Value))
		}
	}
	for _, l := range e.im.tables.Symbols.Images() {
		if !e.done[armed{nil, l}] {
			e.done[armed{nil, l}] = true
			errs = append(errs, e.watchLinker(l))
		}
		for _, leaf := range leaves {
			// Also where something fails below: a second attempt would fail in the same
			// way.
			if k := (armed{leaf, l}); !e.done[k] {
				e.done[k] = true
				errs = append(errs, e.armIn(leaf, l))
			}
		}
	}
	return errors.Join(errs...)
}

// armIn resolves an event's function or offset in an image, if it is about that image.
func (e *events) armIn(leaf *window.Leaf, l *symbols.Loaded) error {
	if arm := findingOf(leaf.Event.Kind).arm; arm != nil && leaf.Event.MatchesImage(e.im.tables.Key(l)) {
		return arm(e, leaf, l)
	}
	return nil
}

// armAddress watches an instruction by its offset in an image.
func (e *events) armAddress(leaf *window.Leaf, l *symbols.Loaded) error {
	if leaf.Event.HasValue {
		return nil
	}
	return e.watchPlace(leaf, leaf.Event.Offset+l.Bias)
}

// watchPlace watches an address that somebody has written down. Natively that takes a byte of the program's: where it is not known for certain that an instruction begins there,
// which may be data, or nothing yet, the process stays in the cache, which changes nothing.
func (e *events) watchPlace(leaf *window.Leaf, addr uint64) error {
	if !e.begins(addr) {
		e.im.p.KeepTranslated()
	}
	return e.watch(leaf, addr)
}

// begins tells whether an instruction of a function of an image begins at an address, by decoding the function up to there.
func (e *events) begins(addr uint64) bool {
	for _, l := range e.im.tables.Symbols.Images() {
		at := addr - l.Bias
		if !slices.ContainsFunc(l.Image.Segments, func(s symbols.Segment) bool {
			return s.Prot&symbols.Exec != 0 && s.Prot&symbols.Write == 0 && at-s.Vaddr < s.MemSize
		}) {
			continue
		}
		f := l.Image.Lookup(at)
		if f == nil || at-f.Addr > mostDecoded {
			return false
		}
		code := make([]byte, at-f.Addr+longestInsn)
		n, _ := l.Image.ReadVaddr(code, f.Addr)
		var one [1]x86.Insn
		for code, from := code[:n], f.Addr; from <= at; {
			if from == at {
				return true
			}
			k, _ := x86.Decode(code, from, one[:])
			if k == 0 || int(one[0].Len) > len(code) {
				return false
			}
			code, from = code[one[0].Len:], one[0].Next()
		}
		return false
	}
	return false
}

const (
	mostDecoded = 1 << 20 // bytes of a function
	longestInsn = 15
)

// armFunction watches a function by its name in an image.
func (e *events) armFunction(leaf *window.Leaf, l *symbols.Loaded) error {
	err := e.resolve(leaf, l)
	if l.Main && !e.found[leaf] {
		e.suggest(l.Image, leaf.Event.Name)
	}
	return err
}

// linkerHook is the function that a dynamic linker calls, for debuggers, when it
// has mapped or is about to unmap images; glibc and musl both export it.
// It is what r_brk of the linker's r_debug points to (<link.h>), which needs a look
// into memory that is not there yet when the program starts.
const linkerHook = "_dl_debug_state"

// watchLinker has an image's linker hook reported, if it has one: a process that
// runs natively tells of no mmap, and what dlopen brings may hold a function that
// an event waits for. The refused alternative, a stop at every system call, costs
// programs that make many a multiple of their time.
//
// Reading an image's symbols costs start-up time, so only a linker's are read, which
// is known by its file's name, and only for events that another image may have.
func (e *events) watchLinker(l *symbols.Loaded) error {
	linker := strings.HasPrefix(l.Name, "ld-") || l.Name == "libc.so" // musl's is its C library
	if !linker || e.im.capture == nil && !slices.ContainsFunc(e.run.leaves(), func(l *window.Leaf) bool { return l.Event.OtherImage() }) {
		return nil
	}
	for _, fn := range l.Image.Find(linkerHook, true) {
		if fn.Kind == symbols.PLT {
			continue
		}
		e.linkers[fn.Addr+l.Bias] = true
		if err := e.im.p.Notify(fn.Addr + l.Bias); err != nil {
			return fmt.Errorf("watching the dynamic linker %s: %w", l.Path, err)
		}
	}
	return nil
}

// resolve finds a leaf's function in an image and watches its entry.
//
// A name may mean several functions (overloads, static ones of several files); all are
// watched. Stubs of the PLT are not: they are not the function, which is entered behind
// them.
func (e *events) resolve(leaf *window.Leaf, l *symbols.Loaded) error {
	ev := leaf.Event
	found := l.Image.Find(ev.Name, ev.Decorated)
	var errs []error
	for _, fn := range found {
		if fn.Kind == symbols.PLT {
			continue
		}
		e.found[leaf] = true
		errs = append(errs, e.watchFunction(leaf, l, fn))
	}
	if !e.found[leaf] && ev.Name == "main" && l.Main {
		errs = append(errs, e.resolveMain(leaf, l))
	}
	return errors.Join(errs...)
}

// resolveMain finds main of a Go program, which links it under another name,
// and of a stripped program, by its start code. A program that has none leaves
// the event without a function, which the user is told of at the end: it runs on.
func (e *events) resolveMain(leaf *window.Leaf, l *symbols.Loaded) error {
	if fns := l.Image.Find("main.main", true); len(fns) > 0 {
		e.found[leaf] = true
		return e.watchFunction(leaf, l, fns[0])
	}
	// The argument of __libc_start_main in start code: a constant, or what rdi
	// holds when the call is reached.
	m, err := l.Image.MainCall()
	if err != nil {
		return nil
	}
	e.found[leaf] = true
	if m.Main != 0 {
		return e.watch(leaf, m.Main+l.Bias)
	}
	// Main lies in a shared library: its address is known when the call is reached.
	site := m.Call + l.Bias
	e.starts[site] = append(e.starts[site], leaf)
	return e.im.p.Notify(site)
}

// watchFunction is watch for a function: jumps from within it to its entry are no
// calls, and others can be counted natively.
//
// The part that is seldom executed, which compilers put elsewhere, belongs to it.
func (e *events) watchFunction(leaf *window.Leaf, l *symbols.Loaded, fn *symbols.Function) error {
	entry := fn.Addr + l.Bias
	if l.Image.Go() && strings.Contains(fn.Linked(), ".") { // C's and assembly's have no package in their names
		e.im.p.InGo(entry)
	}
	if err := e.watch(leaf, entry); err != nil {
		return err
	}
	e.im.p.SetExtent(entry, extentOf(l, fn)...)
	return e.watchWithin(entry)
}

// extentOf is which code is a function's own.
func extentOf(l *symbols.Loaded, fn *symbols.Function) []engine.Extent {
	entry := fn.Addr + l.Bias
	code := []engine.Extent{{Start: entry, End: entry + fn.Size}}
	if len(fn.Aliases) > 0 && fn.Size > 0 {
		for _, part := range l.Image.Find(fn.Linked()+".cold", true) {
			code = append(code, engine.Extent{Start: part.Addr + l.Bias, End: part.Addr + part.Size + l.Bias})
		}
	}
	return code
}

// watchWithin has the events on the address of a function's first instruction, which any
// entry there is one of, hear of those that are no calls.
func (e *events) watchWithin(entry uint64) error {
	if !e.im.p.HasExtent(entry) {
		return nil
	}
	var any []*window.Leaf
	for pl, w := range e.places {
		for _, l := range w.leaves {
			if pl.Addr() == entry && l.Event.Kind == config.EventAddress && !slices.Contains(any, l) {
				any = append(any, l)
			}
		}
	}
	var errs []error
	for _, l := range any {
		errs = append(errs, e.waitAt(l, entry, e.im.p.Within))
	}
	return errors.Join(errs...)
}

// watch has a function's entries or returns counted for a leaf.
func (e *events) watch(leaf *window.Leaf, entry uint64) error {
	e.found[leaf] = true
	place := e.im.p.Entries
	if leaf.Event.Kind == config.EventReturn {
		place = e.im.p.Returns
	}
	if err := e.waitAt(leaf, entry, place); err != nil || leaf.Event.Kind != config.EventAddress {
		return err
	}
	return e.watchWithin(entry)
}

// waitAt has a leaf wait for what is counted at an address.
func (e *events) waitAt(leaf *window.Leaf, addr uint64, place func(uint64) (counter, error)) error {
	pl, err := place(addr)
	if err != nil {
		return fmt.Errorf("%s: watching %s %s: %w", leaf.Event.Pos, leaf.Event.Kind, leaf.Event.Name, err)
	}
	w := e.places[pl]
	if w == nil {
		w = &watched{}
		e.places[pl] = w
	}
	if !slices.Contains(w.leaves, leaf) { // two names may be one function
		w.leaves = append(w.leaves, leaf)
	}
	e.count()
	return nil
}

// at takes a thread's entry at an address that was asked to be notified of.
// It is for what is no event of a window itself but helps to find some.
func (e *events) at(addr uint64, regs engine.NotifiedRegs) {
	if e.off {
		return
	}
	if e.linkers[addr] {
		e.run.ImagesChanged()
	}
	if leaves := e.starts[addr]; leaves != nil { // main's address is known now
		delete(e.starts, addr)
		e.im.p.Unnotify(addr)
		for _, l := range leaves {
			e.run.warn(e.watch(l, regs.DI))
		}
	}
}

// reached returns the events that an entry at a place is one more occurrence of,
// after it has added those before.
// An event that names another thread does not fire, but the entry is used up.
func (e *events) reached(t thread, pl counter) (fired []*window.Leaf) {
	w := e.places[pl]
	if w == nil {
		return nil
	}
	// The last entry is the one that fires: Happen counts it itself.
	if n := pl.Take(); n > 1 {
		credit(w.counting, n-1)
	}
	w.counting = nil
	for _, l := range w.leaves {
		if n := l.Event.Thread; n == 0 || n == t.Num() {
			fired = append(fired, l)
		}
	}
	return fired
}

// countGone fills in how often the functions whose return a window awaits were left
// otherwise since it opened.
func (e *events) countGone(c *window.Change) {
	if e == nil {
		return
	}
	for pl, w := range e.places {
		for _, l := range w.leaves {
			if l.Window != c.Index || !l.Till || l.Event.Kind != config.EventReturn {
				continue
			}
			n, key := pl.Gone(), goneKey{pl, c.Index}
			if !c.Opened {
				c.Gone += n - e.gone[key]
			}
			e.gone[key] = n
		}
	}
}

// credit adds occurrences that made none of the leaves fire.
// Credits are how thresholds are counted without a stop for each occurrence.
func credit(leaves []*window.Leaf, n uint64) {
	for _, l := range leaves {
		l.Credit(n)
	}
}

// count has each place counted down to the next entry that can make an event
// fire. It is called whenever windows may have opened or closed.
//
// A leaf that waits at several places (functions of one name, an address that is a function's)
// may have happened as often as it has to once it has happened so many times, divided by their
// number, at one of them: then its count is dealt out anew.
//
// Taking and arming are two steps, between which threads may arrive: the count goes on, so that
// none is lost.
func (e *events) count() {
	if e.off {
		return
	}
	waits := make(map[*window.Leaf]uint64)
	for pl, w := range e.places {
		if n := pl.Take(); n > 0 {
			credit(w.counting, n)
		}
		for _, l := range w.leaves {
			waits[l]++
		}
	}
	for pl, w := range e.places {
		w.counting = nil
		// Armed or not: an event whose turn may still come keeps its place, which
		// counts to Never meanwhile.
		left, live := uint64(engine.Never), false
		for _, l := range w.leaves {
			live = live || l.Live()
			n := l.Left()
			if n == 0 {
				continue
			}
			w.counting = append(w.counting, l)
			if l.Event.Thread != 0 { // others arrive here, too
				n = 1
			}
			left = min(left, max(n/waits[l], 1))
		}
		if !live {
			pl.Disarm()
			e.drop(pl)
			continue
		}
		pl.Arm(left)
	}
	e.im.p.SetToggle(e.toggle())
}

// drop stops watching a place that no event waits for any more.
func (e *events) drop(pl counter) {
	delete(e.places, pl)
	for other := range e.places { // its entry may be watched as well as its returns
		if other.Addr() == pl.Addr() {
			return
		}
	}
	e.im.p.Unwatch(pl.Addr())
}

// toggle returns what the engine may open and close by itself, nil if there is
// nothing.
//
// It must be certain that nothing but these two events can change the set of windows without
// asking: one window that is open or may open next, one place for each of its ends with nobody
// else waiting there, no count of instructions, and the window's blocks planned already.
func (e *events) toggle() *toggle {
	im := e.im
	if !im.plans.any() || im.budget != nil && im.budget.sampler != nil && im.budget.sampler.away {
		return nil
	}
	sw, ok := im.windows.Switch(im.plans.open())
	if !ok || im.plans.open() != 1<<sw.Index || im.budget != nil && im.budget.waiting() || e.recordsBesides(sw.Index) {
		return nil
	}
	// One place for both ends would open and close at one entry: the order is
	// window's to decide, not code's.
	on, till := e.only(sw.On), e.only(sw.Till)
	if on == nil || till == nil || on == till || !sw.On.Countable() || !sw.Till.Countable() {
		return nil
	}
	e.toggles = sw
	return &toggle{open: on, close: till, openAfter: sw.On.Event.Occurrence(), closeAfter: sw.Till.Event.Occurrence(),
		openMark: 1 << sw.Index}
}

// recordsBesides tells whether a window has system calls, signals or calls of functions recorded. The tracer is
// told of those only while it knows that the window is open: code that opens it has to ask.
//
// Refused: to be told of them all the time, a stop for each while the window is closed.
func (e *events) recordsBesides(index int) bool {
	for _, p := range e.run.opts.Config.Windows[index].Profile.Processes {
		for _, t := range p.Threads {
			if t.Syscalls || t.Signals || slices.ContainsFunc(t.Images, hasIntercept) {
				return true
			}
		}
	}
	return false
}

// toggled notes for which event each place counts since code has opened or closed the
// window: what it has counted from then until the tracer heard of it is that event's.
func (e *events) toggled(sw window.Switch, open bool) {
	for leaf, counts := range map[*window.Leaf]bool{sw.On: !open, sw.Till: open} {
		pl := e.only(leaf)
		if pl == nil {
			continue
		}
		w := e.places[pl]
		w.counting = nil
		if counts {
			w.counting = append(w.counting, leaf)
		}
	}
}

// only returns the one place that a leaf waits for, if no other waits there; nil
// if that is not so.
func (e *events) only(leaf *window.Leaf) (place counter) {
	for pl, w := range e.places {
		if !slices.Contains(w.leaves, leaf) {
			continue
		}
		if place != nil || len(w.leaves) > 1 {
			return nil
		}
		place = pl
	}
	return place
}

// disarm stops watching: no window can open or close any more.
// It is for good, in this program image.
func (e *events) disarm() {
	// Code stops toggling before its places go.
	e.im.p.SetToggle(nil)
	e.im.p.Settle()
	e.off = true
	for pl := range e.places {
		e.im.p.Unwatch(pl.Addr())
	}
	for addr := range e.starts {
		e.im.p.Unnotify(addr)
	}
	for addr := range e.linkers {
		e.im.p.Unnotify(addr)
	}
}

// unloaded forgets the functions of an image that is gone: other code may come
// to lie there, and the image elsewhere.
// What was counted there is kept: the function may come back with the image.
func (e *events) unloaded(l *symbols.Loaded) {
	maps.DeleteFunc(e.done, func(k armed, _ bool) bool { return k.image == l })
	for pl, w := range e.places {
		if at := pl.Addr(); at >= l.Start && at < l.End {
			credit(w.counting, pl.Take())
			delete(e.places, pl)
			e.im.p.Unwatch(at)
		}
	}
	e.count()
}

// collect adds what was counted in the program, which ends.
// Thresholds go on counting in the program that is executed next.
func (e *events) collect() {
	for pl, w := range e.places {
		credit(w.counting, pl.Take())
	}
}
