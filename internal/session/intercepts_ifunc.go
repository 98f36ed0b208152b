package session

import (
	"encoding/binary"
	"slices"

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
		f.name = name
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
	renamed := x.rename(x.at[addr], f.name)
	fn := l.Image.Lookup(addr - l.Bias)
	if fn != nil && fn.Addr != addr-l.Bias {
		fn = nil // no symbol begins there
	}
	for _, w := range f.windows {
		x.add(l, fn, addr, f.name, w, plan.FuncKey(f.image.Image, f.fn))
	}
	if at := x.at[addr]; at != nil {
		at.named = true
	}
	if renamed || len(x.at) != before {
		x.apply()
	}
}

// rename gives a function that a pattern has found by a name of its own ("__strlen_evex") the one that it was chosen for, by which its
// parameters are known, and has it captured anew. False: nothing is to be done.
func (x *intercepts) rename(at *intercepted, name string) bool {
	if at == nil || at.named || at.name == name {
		return false
	}
	at.name, at.armed, at.joined = name, nil, nil
	for i := range at.ways {
		at.ways[i].capture, at.ways[i].number = nil, 0
	}
	return true
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
