package session

import (
	"crypto/sha256"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"alleria/config"
	"alleria/engine"
	"alleria/internal/records"
	"alleria/internal/session/plan"
)

// RecordsLike is engine.Planner's.
//
// What the first plan records is decided by the elements of the windows that are open, and by names of images and functions. Elements are told by their places in the
// configuration, and that in its canonical form, so that it is the same text in another run.
func (ps *process) RecordsLike() string {
	im := ps.image
	if im == nil || len(im.plans.sets) != 1 || ps.threads.kinds() != 1 || ps.opts.Sites != nil || ps.opts.sampledLines(ps.samples()) > 0 || im.capture != nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %x", ps.opts.Only, im.plans.sets[0])
	for i, w := range ps.opts.Config.Windows {
		fmt.Fprintf(&b, " %d", slices.Index(w.Profile.Processes, ps.matched.Element(i)))
	}
	return b.String() + " " + ps.selected.config
}

// askedAtOnce says what is recorded from a program's beginning on, in words; empty where nothing is translated then.
func askedAtOnce(o *Options) string {
	atOnce := func(w *config.Window) bool { return w.On == nil }
	if o.Only != OnlyTranslate && o.Only != OnlyCount && !slices.ContainsFunc(o.Config.Windows, atOnce) {
		return ""
	}
	return fmt.Sprintf("%s %t %t %x", o.Only, o.CountCalls, o.CountEdges, sha256.Sum256(o.Config.XML()))
}

// NamesOf is engine.Client's.
func (r *run) NamesOf(words []byte, high records.Highest) engine.Names {
	if n := plan.NamesOf(words, high); n != nil {
		return n
	}
	return nil
}

// openAhead opens the images beside the program's first instructions that its last run had, and reads their sums, for which a library's mapping would wait each time; and it makes the table of the program's own
// functions, where that is kept: a start has some code that is new, and the first block of it would wait for the table.
//
// Refused: to begin with it before the program may run, which then waits longer: both need memory that is not there yet. And tables of libraries, of which most starts need none.
func (ps *process) openAhead() {
	im := ps.image
	if im.took == nil || im.opened == im.took || runtime.GOMAXPROCS(0) == 1 || slices.Contains(ps.opts.Engine, namesLater) {
		return
	}
	im.opened = im.took
	paths, main := im.took.Paths()
	ps.background.Go(func() {
		for _, path := range paths {
			image, err := ps.cache.Open(path)
			if err != nil { // whoever maps it finds that out
				continue
			}
			if image.Sum(); path == main {
				image.TakeKept()
			}
		}
	})
}

// Names is engine.Planner's.
func (ps *process) Names() engine.Names {
	if ps.image == nil {
		return nil
	}
	if n := ps.image.tables.Names(); n != nil {
		return n
	}
	return nil
}

// TakeNames is engine.Planner's.
func (ps *process) TakeNames(from engine.Names, at uint64) bool {
	n, ok := from.(*plan.Names)
	if !ok || ps.image == nil {
		return false
	}
	t := ps.image.tables
	ps.image.took = n
	if at != 0 {
		l, _ := t.Symbols.ByAddr(at)
		return l != nil && t.Take(n, l)
	}
	return t.TakeAll(n)
}
