package session

import (
	"debug/elf"
	"slices"

	"alleria/engine"
	"alleria/internal/session/asks"
)

// debuggers knows what traces others.
//
// A process has one tracer. What a debugger or strace traces has to be theirs, and is detached when they ask for it: by their calls in the code cache, and where they run
// natively by breakpoints at what calls ptrace (package asks). Where nothing is to lie in a program's code, what it creates runs untraced from its creation if
// its executable imports ptrace.
type debuggers struct {
	asks  asks.Finder
	known map[string]bool // by path
}

// is tells whether the program at a path traces others. What cannot be read does not.
func (d *debuggers) is(path string) bool {
	known, ok := d.known[path]
	if !ok {
		known = importsPtrace(path)
		if d.known == nil {
			d.known = make(map[string]bool)
		}
		d.known[path] = known
	}
	return known
}

func importsPtrace(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	names, err := f.ImportedSymbols()
	return err == nil && slices.ContainsFunc(names, func(s elf.ImportedSymbol) bool { return s.Name == "ptrace" })
}

// CallSites is engine.Client's.
func (r *run) CallSites(pid int) []engine.CallSite {
	if r.opts.Unpatched {
		return nil
	}
	return r.debuggers.asks.Sites(pid)
}

// FollowedSites is engine.Client's.
func (r *run) FollowedSites(pid int) []engine.CallSite {
	switch {
	case r.opts.Unpatched:
		return nil
	case slices.Contains(r.opts.Engine, allSites):
		return r.debuggers.asks.Sites(pid)
	}
	return r.debuggers.asks.Followed(pid)
}

// LibrarySites is engine.Client's.
func (r *run) LibrarySites(pid int) []engine.CallSite {
	if r.opts.Unpatched {
		return nil
	}
	return r.debuggers.asks.Library(pid)
}
