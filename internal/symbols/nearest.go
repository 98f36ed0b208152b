package symbols

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest gives up to n names of the image that resemble one which Find does
// not know, the nearest first: what an error message suggests.
func (im *Image) Nearest(name string, n int) []string {
	type candidate struct {
		name     string
		distance int
	}
	var best []candidate
	// A third of the letters wrong is a guess, more is noise.
	limit := max(len(name)/3, 1)
	want := strings.ToLower(name)
	im.eachName(func(linked string) {
		if !mayResemble(want, linked, limit) {
			return
		}
		d := demangleBoth(linked)
		if distance := nameDistance(want, d.short, limit); distance <= limit {
			best = append(best, candidate{d.full, distance})
		}
	})
	slices.SortFunc(best, func(x, y candidate) int {
		if c := cmp.Compare(x.distance, y.distance); c != 0 {
			return c
		}
		return strings.Compare(x.name, y.name)
	})
	best = slices.CompactFunc(best, func(x, y candidate) bool { return x.name == y.name })
	out := make([]string, 0, n)
	for _, c := range best[:min(n, len(best))] {
		out = append(out, c.name)
	}
	return out
}

// eachName calls f with the linked names of an image's functions, stubs left out: suggesting
// one would lead to a name that works and means something else. The table of functions
// is not made for it where the symbols have all names.
func (im *Image) eachName(f func(string)) {
	if tables, ok := im.keptTables(); ok {
		for i := range tables {
			tables[i].each(func(s symbol) { f(s.name) })
		}
		return
	}
	for _, fn := range im.Functions() {
		if len(fn.Aliases) > 0 && fn.Kind != PLT {
			f(fn.Linked())
		}
	}
}

// mayResemble tells whether it is worth while to demangle a linked name for comparing it
// with want, which is in lower case. Mangled names spell identifiers out, each behind
// its length: one of them has to be near the last part of what is wanted. Demangling all
// names took longer than everything else.
func mayResemble(want, linked string, limit int) bool {
	if !mangled(linked) {
		return true
	}
	last := want[strings.LastIndex(want, "::")+1:]
	last, _, _ = strings.Cut(strings.TrimPrefix(last, ":"), "<")
	if strings.HasPrefix(last, "operator") {
		return true
	}
	for at := 0; at < len(linked); {
		n, digits := 0, at
		for ; at < len(linked) && linked[at] >= '0' && linked[at] <= '9' && n < len(linked); at++ {
			n = n*10 + int(linked[at]-'0')
		}
		if at == digits {
			at++
			continue
		}
		if n == 0 || n > len(linked)-at {
			continue
		}
		if n <= len(last)+limit && editDistance(last, strings.ToLower(linked[at:at+n]), limit) <= limit {
			return true
		}
		at += n
	}
	return false
}

// nameDistance compares a wanted name (in lower case) with one of the table:
// as a whole, or, where the namespace was forgotten, with its last part.
func nameDistance(want, name string, limit int) int {
	name = strings.ToLower(name)
	if name == want {
		return 0
	}
	d := editDistance(want, name, limit)
	if at := strings.LastIndex(name, "::"); at >= 0 && !strings.Contains(want, "::") {
		// One behind a whole match, for a tie would be unfair to that.
		d = min(d, editDistance(want, name[at+2:], limit)+1)
	}
	return d
}

// editDistance counts insertions, deletions, replacements and swaps of
// neighbours between two names, or gives more than limit as soon as it is sure.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	// Three rows of the table of distances suffice; the third is for swaps.
	// Names are short: the rows are hardly ever allocated.
	var rows [3][96]int
	before, prev, row := rows[0][:], rows[1][:], rows[2][:]
	if len(b) >= len(row) {
		before, prev, row = make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	}
	for j := range len(b) + 1 {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		low := i
		for j := 1; j <= len(b); j++ {
			cost := b2i(a[i-1] != b[j-1])
			d := min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			row[j] = d
			low = min(low, d)
		}
		if low > limit {
			return limit + 1
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}
