package session

import (
	"encoding/binary"
	"slices"
	"strings"

	"alleria/abp/calls"
	"alleria/internal/capture"
	"alleria/internal/session/plan"
	"alleria/internal/symbols"
)

// A name may stand for a function that is chosen when it is first needed (IFUNC): a resolver's result is what is called then. It is
// caught as the resolver returns, before anybody can call what it has chosen. Resolvers that ran before their image was looked
// at have left their results where the loader puts addresses.

// ifunc is a resolver.
type ifunc struct {
	image   *symbols.Loaded
	fn      *symbols.Function
	name    string
	isAsked bool  // an element asks for it by that name
	windows []int // that intercept what it chooses
}

// chosen has what a resolver chooses intercepted. isAsked: an element asks for it by this name.
func (x *intercepts) chosen(l *symbols.Loaded, fn *symbols.Function, window int, name string, isAsked bool) {
	entry := fn.Addr + l.Bias
	f := x.ifuncs[entry]
	if f == nil {
		f = &ifunc{image: l, fn: fn, name: name}
		x.catch(entry, f)
	}
	if isAsked {
		f.name, f.isAsked = name, true
	}
	if !slices.Contains(f.windows, window) {
		f.windows = append(f.windows, window)
	}
}

// catch has a resolver's results told.
func (x *intercepts) catch(entry uint64, f *ifunc) {
	x.ifuncs[entry] = f
	prog := &capture.Program{Returns: true, Tell: func(result uint64) { x.resolved(f, result) }}
	x.ps.warn(x.im.p.Intercept(entry, 0, prog))
}

// resolved takes what a resolver has chosen.
func (x *intercepts) resolved(f *ifunc, addr uint64) {
	l, _ := x.im.tables.Symbols.ByAddr(addr)
	if l == nil || addr == f.fn.Addr+f.image.Bias {
		return
	}
	before := len(x.at)
	by := chosen
	if f.isAsked {
		by = asked
	}
	renamed := x.rename(x.at[addr], f.name, by)
	fn := l.Image.Lookup(addr - l.Bias)
	if fn != nil && fn.Addr != addr-l.Bias {
		fn = nil // no symbol begins there
	}
	for _, w := range f.windows {
		x.add(l, fn, addr, f.name, w, plan.FuncKey(f.image.Image, f.fn))
	}
	if !renamed {
		x.rename(x.at[addr], f.name, by) // of one that was added just now
	}
	if renamed || len(x.at) != before {
		x.apply()
	}
}

// naming is who has given a captured function its name, the worst first.
type naming uint8

const (
	found  naming = iota // a pattern has found it, by whatever name it has
	chosen               // a resolver that a pattern has found
	asked                // an element, or a resolver that one asks for
)

// rename gives a function that a pattern has found by a name of its own ("__strlen_evex") the one that it was chosen for, by which its
// parameters are known, and has it captured anew. What is chosen for several names has all of them, of those that are asked for where any is ("memcpy|memmove", which are
// one function on many processors): by which it was called nobody can tell. False: nothing is to be done.
func (x *intercepts) rename(at *intercepted, name string, by naming) bool {
	if at == nil || by < at.naming || slices.Contains(at.names, name) && by == at.naming {
		return false
	}
	if by > at.naming {
		at.naming, at.names = by, nil
	}
	at.names = append(at.names, name)
	slices.Sort(at.names)
	shown := strings.Join(at.names, calls.NameOr)
	if shown == at.name {
		return false
	}
	at.name, at.armed = shown, nil
	at.ways.Forget()
	return true
}

// one is one of a function's names.
func (f *intercepted) one() string {
	if len(f.names) > 0 {
		return f.names[0]
	}
	return f.name
}

// lookAtSlots finds what resolvers have chosen so far.
func (x *intercepts) lookAtSlots() {
	for _, f := range x.ifuncs {
		for _, l := range x.im.tables.Symbols.Images() {
			for _, alias := range f.fn.Aliases {
				for _, at := range l.Image.Slots(alias.Linked) {
					var b [8]byte
					if _, err := x.im.p.ReadAt(b[:], int64(at+l.Bias)); err != nil {
						continue
					}
					addr := binary.LittleEndian.Uint64(b[:])
					// A slot that is not bound yet leads to its own image's stub.
					if in, _ := x.im.tables.Symbols.ByAddr(addr); in == f.image {
						x.resolved(f, addr)
					}
				}
			}
		}
	}
}
