package symbols

import "strings"

// indexAfter is after how many look-ups of exact names in an image's table of functions an index
// of its names is made: that takes as long as a few hundred of them, as all names are demangled.
const indexAfter = 64

// indexed returns the functions that an exact name may mean, by their places in the table. ok is
// false where it is not worth while, or the index cannot tell.
//
// It is for configurations that were generated, with thousands of names.
func (im *Image) indexed(m *matcher) (at []int32, ok bool) {
	if !m.p.Exact() || strings.ContainsRune(m.p.text, '@') || im.lookups.Add(1) <= indexAfter {
		return nil, false
	}
	im.indexOnce.Do(im.makeIndex)
	return im.byName[m.p.text], true
}

// makeIndex enters each function under all names that a matcher compares with.
func (im *Image) makeIndex() {
	fns, names := im.Functions(), im.demangledNames()
	im.byName = make(map[string][]int32, 2*len(fns))
	for i := range fns {
		enter := func(name string) {
			for _, n := range [...]string{name, cutRename(name)} {
				list := im.byName[n]
				if len(list) == 0 || list[len(list)-1] != int32(i) {
					im.byName[n] = append(list, int32(i))
				}
			}
		}
		both := func(name string) {
			enter(name)
			if base, suffix := cutClone(name); suffix != "" {
				enter(base)
			}
		}
		for k, a := range fns[i].Aliases {
			both(a.Linked)
			if !mangled(a.Linked) {
				continue
			}
			d := names[i]
			if k > 0 && a.Linked != fns[i].Aliases[0].Linked {
				d = demangleBoth(a.Linked)
			}
			both(d.full)
			both(d.short)
		}
	}
}
