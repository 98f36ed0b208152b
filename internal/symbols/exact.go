package symbols

import (
	"slices"
	"strings"
)

// maxScans is how many exact names are looked for in an image's symbols one by one before
// its table of functions is made after all: that costs as much as a few dozen such searches.
const maxScans = 16

// exact finds the functions that an exact name means without the table of functions, which
// takes tens of milliseconds for a compiler while its start waits for it. ok is false where
// only the table can tell; else the answer is the table's.
//
// The string tables are searched for the name's text, the symbols for those that are
// called so, and then once more for other names of the same addresses. The refused
// alternative, the hash tables of dynamic symbols, knows neither static functions nor names
// that are demangled, and finds no aliases.
func (im *Image) exact(m *matcher) (found []*Function, ok bool) {
	text := m.p.text
	if m.must == "" || strings.Contains(text, offsetMark) || strings.HasSuffix(text, stubMark) ||
		im.opts.WholeTables || im.made.Load() || im.scans.Add(1) > maxScans {
		return nil, false
	}
	tables, ok := im.keptTables()
	if !ok {
		return nil, false
	}
	var at []uint64 // of what the name may mean
	named := false  // main has a symbol, so that the start code is not asked
	for i := range tables {
		ok = ok && tables[i].called(m.must, func(s symbol) {
			f := Function{Aliases: []Alias{{Linked: s.name, Version: s.version, Default: s.isDefault}}, image: im}
			if m.matches(&f, nil, 0) {
				at = append(at, s.addr)
			}
			named = named || s.name == startName
		})
	}
	var extra []symbol
	if ok && text == startName && !named {
		if extra, ok = im.startSymbol(tables); ok && len(extra) > 0 {
			at = append(at, extra[0].addr)
		}
	}
	if !ok || len(at) == 0 {
		return nil, ok
	}
	slices.Sort(at)
	return im.functionsAt(slices.Compact(at), tables, extra, m)
}

// functionsAt makes the functions at these addresses, which are sorted, as merge would, and
// keeps those that match. ok is false where that takes the functions around them: a label
// counts only outside of functions, and a function without a size ends where the next begins.
func (im *Image) functionsAt(at []uint64, tables []nameTable, extra []symbol, m *matcher) (found []*Function, ok bool) {
	syms := extra
	for i := range tables {
		if !tables[i].at(at, func(s symbol) { syms = append(syms, s) }) {
			return nil, false
		}
	}
	slices.SortFunc(syms, compareSymbols)
	for len(syms) > 0 {
		n := 1
		for n < len(syms) && syms[n].addr == syms[0].addr {
			n++
		}
		var aliases []Alias
		f, _ := groupFunction(syms[:n], &aliases, 0)
		if f.Size == 0 && f.Source == StartCode {
			f.Size = im.unwindSize(f.Addr)
		}
		if syms[0].weakClaim || f.Size == 0 {
			return nil, false
		}
		f.image = im
		if (m.clones || f.Parent() == "") && m.matches(&f, nil, 0) {
			found = append(found, &f)
		}
		syms = syms[n:]
	}
	return found, true
}

// startSymbol is the name that appendMain would add; none where there is no main. ok is
// false where the symbols cannot be read.
func (im *Image) startSymbol(tables []nameTable) (main []symbol, ok bool) {
	if im.Entry == 0 {
		return nil, true
	}
	ok = true
	call, err := im.mainCall(func(addr uint64) (name string) {
		for i := range tables {
			ok = tables[i].at([]uint64{addr}, func(s symbol) {
				if name == "" || len(s.name) < len(name) {
					name = s.name
				}
			}) && ok
		}
		return name
	})
	if err == nil && call.Main != 0 {
		main = append(main, symbol{addr: call.Main, name: startName, source: StartCode, global: true})
	}
	return main, ok
}
