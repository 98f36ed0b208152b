package session

import (
	"errors"
	"fmt"

	"alleria/config"
	"alleria/engine"
	"alleria/internal/symbols"
	"alleria/window"
)

// events turns the events of windows into addresses that the engine reports,
// and reports back into events.
//
// An event on a function is watched at its entry, where the engine puts a probe or ends a
// block, see Process.Notify. A Return needs the entry as well: only there is the return
// address known, and only the stack pointer tells which of several entries of a recursion
// it belongs to. Watching `ret` instructions instead was refused: tail calls leave a
// function by another's.
type events struct {
	run     *run
	im      *image
	calls   map[uint64][]*window.Leaf // by entry address: Call events
	returns map[uint64][]*window.Leaf // by entry address: Return events
	frames  map[*engine.Thread][]frame
	sites   map[uint64]int  // awaited return addresses, and by how many frames
	starts  map[uint64]bool // call sites in start code, where rdi is main
	linkers map[uint64]bool // where dynamic linkers say that they have mapped something
	// which events have a function, for missing
	found map[*window.Leaf]bool
	// images that were searched
	done map[*symbols.Loaded]bool
	// disarmed for good
	off bool
}

// frame is one entry of a function whose return is awaited.
type frame struct {
	sp     uint64 // of the return address
	site   uint64 // the return address
	leaves []*window.Leaf
}

// newEvents makes the state of a program image's events; arm fills it.
func newEvents(r *run, im *image) *events {
	return &events{run: r, im: im, calls: make(map[uint64][]*window.Leaf), returns: make(map[uint64][]*window.Leaf),
		frames: make(map[*engine.Thread][]frame), sites: make(map[uint64]int), starts: make(map[uint64]bool), linkers: make(map[uint64]bool),
		found: make(map[*window.Leaf]bool), done: make(map[*symbols.Loaded]bool)}
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
	leaves := e.im.windows.Leaves()
	for _, leaf := range leaves {
		if ev := leaf.Event; ev.Kind == config.EventAddress && ev.HasValue && !e.found[leaf] {
			errs = append(errs, e.watch(leaf, ev.Value))
		}
	}
	for _, l := range e.im.tables.symbols.Images() {
		if e.done[l] {
			continue
		}
		e.done[l] = true
		errs = append(errs, e.watchLinker(l))
		for _, leaf := range leaves {
			if ev := leaf.Event; ev.Kind == config.EventAddress && !ev.HasValue && ev.MatchesImage(e.im.tables.key(l)) {
				errs = append(errs, e.watch(leaf, ev.Offset+l.Bias))
			}
			if ev := leaf.Event; (ev.Kind == config.EventCall || ev.Kind == config.EventReturn) && ev.MatchesImage(e.im.tables.key(l)) {
				errs = append(errs, e.resolve(leaf, l))
			}
		}
	}
	return errors.Join(errs...)
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
func (e *events) watchLinker(l *symbols.Loaded) error {
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
		errs = append(errs, e.watch(leaf, fn.Addr+l.Bias))
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
		return e.watch(leaf, fns[0].Addr+l.Bias)
	}
	m, err := l.Image.MainCall()
	if err != nil {
		return nil
	}
	e.found[leaf] = true
	if m.Main != 0 {
		return e.watch(leaf, m.Main+l.Bias)
	}
	site := m.Call + l.Bias
	e.starts[site] = true
	e.calls[site] = append(e.calls[site], leaf)
	return e.im.p.Notify(site)
}

// watch asks to be notified of a function's entry for a leaf.
// Several events may be on one address; the engine is asked for it once or often,
// which is the same.
func (e *events) watch(leaf *window.Leaf, entry uint64) error {
	e.found[leaf] = true
	if leaf.Event.Kind == config.EventReturn {
		e.returns[entry] = append(e.returns[entry], leaf)
	} else {
		e.calls[entry] = append(e.calls[entry], leaf)
	}
	if err := e.im.p.Notify(entry); err != nil {
		return fmt.Errorf("%s: watching %s %s: %w", leaf.Event.Pos, leaf.Event.Kind, leaf.Event.Name, err)
	}
	return nil
}

// at tells which events a thread's arrival at an address is.
//
// Returns come before calls: where an address is both, what ends
// precedes what begins.
func (e *events) at(t *engine.Thread, addr uint64, regs engine.NotifiedRegs) []*window.Leaf {
	if e.off {
		return nil
	}
	var fired []*window.Leaf
	if e.linkers[addr] {
		e.run.ImagesChanged(e.im.p)
	}
	if e.sites[addr] > 0 {
		fired = e.returned(t, addr, regs.SP)
	}
	if e.starts[addr] {
		e.startCode(addr, regs.DI)
		return fired
	}
	if leaves := e.returns[addr]; len(leaves) > 0 {
		e.entered(t, regs.SP, leaves)
	}
	return append(fired, e.calls[addr]...)
}

// startCode learns main's address at its call in the start code.
func (e *events) startCode(site, mainAddr uint64) {
	leaves := e.calls[site]
	delete(e.calls, site)
	delete(e.starts, site)
	e.im.p.Unnotify(site)
	for _, l := range leaves {
		e.run.warn(e.watch(l, mainAddr))
	}
}

// entered notes a frame of a function whose return is awaited.
//
// The return address lies at the stack pointer, as the notification comes before the
// function's first instruction. Memory that cannot be read means a target that is being
// killed.
func (e *events) entered(t *engine.Thread, sp uint64, leaves []*window.Leaf) {
	e.unwind(t, sp)
	var b [8]byte
	if _, err := e.im.p.ReadAt(b[:], int64(sp)); err != nil {
		return
	}
	var site uint64
	for i := range b {
		site |= uint64(b[i]) << (8 * i)
	}
	e.frames[t] = append(e.frames[t], frame{sp, site, leaves})
	if _, watched := e.sites[site]; !watched {
		e.run.warn(e.im.p.Notify(site))
	}
	e.sites[site]++
}

// returned pops the frame that a thread returned from by reaching site: the
// one whose return address lay just below the stack pointer, or, for a return that
// pops arguments too, the innermost below it.
//
// `ret n` pops up to 64 KiB of arguments, hence the second bound. A frame whose address is
// not below the stack pointer has not returned: something else jumped to the site.
func (e *events) returned(t *engine.Thread, site, sp uint64) []*window.Leaf {
	fs := e.frames[t]
	at := -1
	for i := len(fs) - 1; i >= 0 && fs[i].sp < sp; i-- {
		if fs[i].site != site {
			continue
		}
		if fs[i].sp+8 == sp {
			at = i
			break
		}
		if at < 0 && sp-fs[i].sp <= 8+1<<16 {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	leaves := fs[at].leaves
	e.pop(t, at)
	return leaves
}

// unwind drops the frames that a longjmp or an exception left behind: those
// that a new entry's return address overwrites or lies above.
func (e *events) unwind(t *engine.Thread, sp uint64) {
	fs := e.frames[t]
	for i := range fs {
		if fs[i].sp <= sp {
			e.pop(t, i)
			return
		}
	}
}

// pop forgets frame i of a thread and those entered from it. Their return
// sites stay watched: the next call from there would have them translated
// anew.
func (e *events) pop(t *engine.Thread, i int) {
	fs := e.frames[t]
	for _, f := range fs[i:] {
		e.sites[f.site]--
	}
	e.frames[t] = fs[:i]
}

// forget drops what is known of a thread that ended.
func (e *events) forget(t *engine.Thread) {
	if len(e.frames[t]) > 0 {
		e.pop(t, 0)
	}
	delete(e.frames, t)
}

// disarm stops watching: no window can open or close any more.
func (e *events) disarm() {
	e.off = true
	for addr := range e.calls {
		e.im.p.Unnotify(addr)
	}
	for addr := range e.returns {
		e.im.p.Unnotify(addr)
	}
	for addr := range e.sites {
		e.im.p.Unnotify(addr)
	}
	for addr := range e.linkers {
		e.im.p.Unnotify(addr)
	}
}

// unloaded forgets the functions of an image that is gone: other code may come
// to lie there, and the image elsewhere.
func (e *events) unloaded(l *symbols.Loaded) {
	delete(e.done, l)
	forget := func(at uint64) bool {
		if at < l.Start || at >= l.End {
			return false
		}
		e.im.p.Unnotify(at)
		return true
	}
	for at := range e.calls {
		if forget(at) {
			delete(e.calls, at)
		}
	}
	for at := range e.returns {
		if forget(at) {
			delete(e.returns, at)
		}
	}
}
