package symbols

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"
)

// Functions gives every function of the image by address. The table is made on
// the first call; it must not be changed.
// Addresses in it are the file's. It is never nil for lack of names: unwind tables
// have every function of a stripped program.
func (im *Image) Functions() []Function {
	im.fnOnce.Do(im.makeFunctions)
	return im.fns
}

// Prepare has the table of functions made meanwhile, for whoever asks for it next. It does not wait. One that an earlier run has
// made is read, and no more: whoever goes on with that run's translations may need none of the functions.
func (im *Image) Prepare() {
	if im.made.Load() {
		return
	}
	go func() {
		if im.keptTable() == nil {
			im.Functions()
		}
	}()
}

// TakeKept makes the table of what an earlier run has left; it does nothing where that has left none.
func (im *Image) TakeKept() {
	if im.keptTable() != nil {
		im.Functions()
	}
}

// makeFunctions makes the table, or takes the one of an earlier run.
func (im *Image) makeFunctions() {
	defer im.made.Store(true)
	if !im.takeKept() {
		im.mergeFunctions()
	}
	// Functions may nest, so that the nearest start before an address need not be
	// the one that covers it; how far back one has to look is known from here.
	im.maxEnd = make([]uint64, len(im.fns))
	end := uint64(0)
	for i := range im.fns {
		end = max(end, im.fns[i].Addr+im.fns[i].Size)
		im.maxEnd[i] = end
	}
}

// mergeFunctions collects names and bounds and merges them.
func (im *Image) mergeFunctions() {
	// Order matters: stubs take names from the symbols (of IFUNC resolvers), and
	// main is looked for in the start code only when no table names it.
	syms := im.collect()
	bounds, err := im.unwindBounds()
	im.note(err)
	syms = im.appendStubs(syms)
	syms = im.appendMain(syms)
	im.fns = im.merge(syms, bounds)
}

// collect reads every symbol table that there is. A .symtab has all names, so
// that nothing is searched for outside of an image that kept it; dynamic symbols
// are read in any case, since they alone tell versions reliably.
// Errors of one table are noted, and the others read all the same.
func (im *Image) collect() []symbol {
	var syms []symbol
	add := func(s []symbol, err error) int {
		im.note(err)
		if syms == nil {
			syms = s
		} else {
			syms = append(slices.Grow(syms, len(s)), s...)
		}
		return len(s)
	}
	n := add(im.symbolsOf(im, ".symtab", SymbolTable))
	add(im.symbolsOf(im, ".dynsym", DynamicTable))
	if n > 0 {
		return syms
	}
	add(im.goTable())
	add(im.miniDebug())
	if debug, err := im.debugImage(); err != nil {
		im.note(err)
	} else if debug != nil {
		add(im.symbolsOf(debug, ".symtab", DebugFile))
		debug.Close()
	}
	return syms
}

// startName is what the start code's function is called.
const startName = "main"

// appendMain names main where no symbol does.
// It is only worth the search where nothing calls it by name: stripped programs.
func (im *Image) appendMain(syms []symbol) []symbol {
	if im.Entry == 0 || slices.ContainsFunc(syms, func(s symbol) bool { return s.name == startName }) {
		return syms
	}
	if at, err := im.mainCall(symbolNames(syms)); err == nil && at.Main != 0 {
		syms = append(syms, symbol{addr: at.Main, name: startName, source: StartCode, global: true})
	}
	return syms
}

// merge makes the table: one function for each address that has a symbol, and
// one for each unwind record that begins outside of all sized symbols.
//
// Symbols win over unwind records where both know an address: records have no names, and
// assemblers cut them at will.
func (im *Image) merge(syms []symbol, bounds []bound) []Function {
	slices.SortFunc(syms, compareSymbols)
	aliases := make([]Alias, 0, len(syms))
	fns := make([]Function, 0, countAddresses(syms, bounds))
	covered := uint64(0) // the end of the sized functions so far
	next := 0            // the first bound not before the current symbol
	for i := 0; i < len(syms); {
		group := i + 1
		for group < len(syms) && syms[group].addr == syms[i].addr {
			group++
		}
		// Both lists are sorted, so one pass does; next never goes back.
		// Records before this symbol that nothing covers.
		for ; next < len(bounds) && bounds[next].addr < syms[i].addr; next++ {
			// The record of a signal trampoline begins one byte before it, for
			// unwinders that look up the byte before a return address.
			if b := bounds[next]; b.addr+1 != syms[i].addr || b.end() <= syms[i].addr {
				fns = im.appendNameless(fns, b, covered)
			}
		}
		if f, ok := groupFunction(syms[i:group], &aliases, covered); ok {
			f.image = im
			if next < len(bounds) && bounds[next].addr == f.Addr {
				if f.Size == 0 {
					f.Size = bounds[next].size
				}
			}
			covered = max(covered, f.Addr+f.Size)
			fns = append(fns, f)
		}
		if next < len(bounds) && bounds[next].addr == syms[i].addr {
			next++
		}
		i = group
	}
	for ; next < len(bounds); next++ {
		fns = im.appendNameless(fns, bounds[next], covered)
	}
	im.fillSizes(fns, bounds)
	return fns
}

// countAddresses is at how many addresses there is a symbol or a record, both in order.
func countAddresses(syms []symbol, bounds []bound) (n int) {
	for i, j := 0, 0; i < len(syms) || j < len(bounds); n++ {
		at := uint64(math.MaxUint64)
		if i < len(syms) {
			at = syms[i].addr
		}
		if j < len(bounds) {
			at = min(at, bounds[j].addr)
		}
		for i < len(syms) && syms[i].addr == at {
			i++
		}
		for j < len(bounds) && bounds[j].addr == at {
			j++
		}
	}
	return n
}

// compareSymbols orders by address, then by how good a name is to show: the
// best first.
func compareSymbols(x, y symbol) int {
	if c := cmp.Compare(x.addr, y.addr); c != 0 {
		return c
	}
	if x.weakClaim != y.weakClaim {
		return cmp.Compare(b2i(x.weakClaim), b2i(y.weakClaim))
	}
	if x.global != y.global {
		return cmp.Compare(b2i(y.global), b2i(x.global))
	}
	// malloc rather than __libc_malloc, and memcpy rather than memcpy_sse2.
	if c := cmp.Compare(underscores(x.name), underscores(y.name)); c != 0 {
		return c
	}
	if c := cmp.Compare(len(x.name), len(y.name)); c != 0 {
		return c
	}
	if c := strings.Compare(x.name, y.name); c != 0 {
		return c
	}
	// From here on only for a fixed order: output must not depend on the sort.
	if c := cmp.Compare(x.source, y.source); c != 0 {
		return c
	}
	return strings.Compare(x.version, y.version)
}

// b2i orders false before true.
func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// underscores counts those that a name begins with, except for mangled names,
// where they say nothing.
func underscores(name string) int {
	if strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") {
		return 0
	}
	return len(name) - len(strings.TrimLeft(name, "_"))
}

// groupFunction makes one function of all symbols of an address. It reports
// false for labels inside of a function.
// group is not empty and sorted by compareSymbols: the first is the name to show.
func groupFunction(group []symbol, aliases *[]Alias, covered uint64) (Function, bool) {
	first := group[0]
	if first.weakClaim && first.addr < covered {
		return Function{}, false
	}
	f := Function{Addr: first.addr, Source: first.source, Kind: first.kind}
	// All functions' aliases share one array: a slice for each would be the
	// largest cost of the table, as most have one name.
	start := len(*aliases)
	for _, s := range group {
		if s.weakClaim && !first.weakClaim {
			continue // a label on a function's first instruction
		}
		f.Source = min(f.Source, s.source)
		f.Size = max(f.Size, s.size)
		if s.kind == IFunc {
			f.Kind = IFunc
		}
		a := Alias{Linked: s.name, Version: s.version, Default: s.isDefault && s.version != ""}
		if last := len(*aliases) - 1; last >= start && (*aliases)[last].Linked == a.Linked {
			// The same name from two tables, of which one knows no version.
			if (*aliases)[last].Version == "" || a.Version == "" {
				if a.Version != "" {
					(*aliases)[last] = a
				}
				continue
			}
			if (*aliases)[last].Version == a.Version {
				(*aliases)[last].Default = (*aliases)[last].Default || a.Default
				continue
			}
		}
		*aliases = append(*aliases, a)
	}
	f.Aliases = (*aliases)[start:len(*aliases):len(*aliases)]
	return f, true
}

// appendNameless adds a function that only the unwind table knows. A record
// inside of a function describes a part of that.
func (im *Image) appendNameless(fns []Function, b bound, covered uint64) []Function {
	// Also the second record of a function whose code is described in pieces.
	if b.addr < covered {
		return fns
	}
	return append(fns, Function{Addr: b.addr, Size: b.size, Source: Unwind, image: im})
}

// fillSizes bounds functions whose symbol has no size, and cuts nameless ones
// off where the next function begins: one record may span several functions of
// an assembler file, and all of the PLT.
// A size that is stated is believed, also where functions overlap by it.
func (im *Image) fillSizes(fns []Function, bounds []bound) {
	for i := range fns {
		f := &fns[i]
		if f.Size != 0 && f.Source != Unwind {
			continue
		}
		end := f.Addr + f.Size
		// Hand-written code without .size: it ends where the unwind record around
		// it does, at the latest where the next function begins.
		if f.Size == 0 {
			end = im.codeEnd(f.Addr)
			at := sort.Search(len(bounds), func(i int) bool { return bounds[i].addr > f.Addr })
			if at > 0 && f.Addr < bounds[at-1].end() {
				end = min(end, bounds[at-1].end())
			}
		}
		if i+1 < len(fns) {
			end = min(end, fns[i+1].Addr)
		}
		f.Size = end - f.Addr
	}
}

// codeEnd is where the section of an address ends, or else its segment.
func (im *Image) codeEnd(vaddr uint64) uint64 {
	for i := range im.sections {
		if s := &im.sections[i]; s.vaddr != 0 && s.flags&shfExec != 0 && vaddr-s.vaddr < s.size {
			return s.vaddr + s.size
		}
	}
	s, _ := im.segment(vaddr)
	return s.Vaddr + s.MemSize
}

// shfExec is SHF_EXECINSTR.
const shfExec = 4

// symbolNames indexes names by address, for finding out what a relocation or a
// call leads to while there is no table yet.
// Of several names the shortest is kept: aliases with a version or a suffix are
// longer.
func symbolNames(syms []symbol) func(uint64) string {
	// Made at the first question: a program with a main symbol asks none.
	var index map[uint64]string
	return func(addr uint64) string {
		if index == nil {
			index = make(map[uint64]string, len(syms))
			for _, s := range syms {
				if old, ok := index[s.addr]; !ok || len(s.name) < len(old) {
					index[s.addr] = s.name
				}
			}
		}
		return index[addr]
	}
}
