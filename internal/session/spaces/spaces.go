// Package spaces follows what lies where in a process's address space, for the profile's snapshots of it (LLW).
//
// A Space is told of looks at all mappings and of single calls that map, and answers with the regions that are news: nearly always
// none, since a program that maps and unmaps gets the same addresses for the same purpose again and again. What is unmapped stays
// what it was until something else is there, as nothing can be accessed meanwhile. That makes the rows of a program that maps a million times
// those of one that maps once, and still tells of each access what memory it went to.
//
// Refused: a row a call, which is as many as the program pleases; a look at the whole address space a call, which takes longer
// than the call.
//
// Package session calls it, on the goroutine of Record. It asks no kernel and writes nothing.
package spaces

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	"alleria/abp"
	"alleria/internal/sys"
)

// Space is what is known of one address space. The zero value knows nothing.
type Space struct {
	regions []abp.Region // by address, not overlapping
	heap    uint64       // where the heap begins, 0: not known
}

// Look is told of all mappings, but for the tracer's own, and returns the regions that are news.
func (s *Space) Look(maps []sys.Mapping) []abp.Region {
	images := make(map[string]bool)
	for i := range maps {
		if m := &maps[i]; m.Exec() && m.Inode != 0 {
			images[m.Path] = true
		}
	}
	var news []abp.Region
	for i := range maps {
		r := RegionOf(&maps[i])
		if r.Kind == abp.RegionFile && images[r.Label] {
			r.Kind = abp.RegionImage
		}
		if r.Kind == abp.RegionHeap {
			s.heap = r.Start
		}
		news = append(news, s.Put(r)...)
	}
	return news
}

// Put is told of one mapping.
func (s *Space) Put(r abp.Region) []abp.Region {
	if r.Start >= r.End || s.knows(&r) {
		return nil
	}
	at := s.cut(r.Start, r.End)
	s.regions = slices.Insert(s.regions, at, r)
	s.join(at)
	return []abp.Region{r}
}

// Moved is told that mremap has moved a mapping, or changed its length.
func (s *Space) Moved(from, length, to, grown uint64) []abp.Region {
	i := s.find(from)
	if i == len(s.regions) || s.regions[i].Start > from {
		return nil
	}
	r := s.regions[i]
	if r.Inode != 0 {
		r.Offset += from - r.Start
	}
	r.Start, r.End = to, to+grown
	return s.Put(r)
}

// Break is told where the heap ends now: it has begun there where nothing was known of one.
func (s *Space) Break(end uint64) []abp.Region {
	if s.heap == 0 {
		s.heap = end
	}
	return s.Put(abp.Region{Start: s.heap, End: end, Prot: protRead | protWrite, Kind: abp.RegionHeap, Label: heapLabel})
}

// find returns the first region that ends behind an address.
func (s *Space) find(addr uint64) int {
	return sort.Search(len(s.regions), func(i int) bool { return s.regions[i].End > addr })
}

// knows tells whether all of a region is what it was.
func (s *Space) knows(r *abp.Region) bool {
	at := r.Start
	for i := s.find(at); i < len(s.regions) && at < r.End; i++ {
		o := &s.regions[i]
		if o.Start > at || !same(o, r) {
			return false
		}
		at = o.End
	}
	return at >= r.End
}

// cut takes a stretch out of what is known and returns where a region for it belongs.
func (s *Space) cut(start, end uint64) int {
	i := s.find(start)
	k := i
	for k < len(s.regions) && s.regions[k].Start < end {
		k++
	}
	var rest []abp.Region
	at := i
	if i < k && s.regions[i].Start < start {
		rest = append(rest, clip(s.regions[i], s.regions[i].Start, start))
		at++
	}
	if i < k && s.regions[k-1].End > end {
		rest = append(rest, clip(s.regions[k-1], end, s.regions[k-1].End))
	}
	s.regions = slices.Replace(s.regions, i, k, rest...)
	return at
}

// join makes one region of those beside each other that are parts of one.
func (s *Space) join(at int) {
	for _, i := range [...]int{at + 1, at} {
		if i > 0 && i < len(s.regions) && s.regions[i-1].End == s.regions[i].Start && s.regions[i-1].By == s.regions[i].By && same(&s.regions[i-1], &s.regions[i]) {
			s.regions[i-1].End = s.regions[i].End
			s.regions = slices.Delete(s.regions, i, i+1)
		}
	}
}

// clip returns a part of a region.
func clip(r abp.Region, start, end uint64) abp.Region {
	if r.Inode != 0 {
		r.Offset += start - r.Start
	}
	r.Start, r.End = start, end
	return r
}

// same tells whether two regions are the same memory where they overlap, or parts of the same where they touch. What may be done with it may
// change, and does so often. Who has asked for it may be somebody else the next time, and stays who it was the first time.
func same(a, b *abp.Region) bool {
	if a.Label != b.Label || a.Device != b.Device || a.Inode != b.Inode || a.Shared != b.Shared {
		return false
	}
	return a.Inode == 0 || a.Offset-a.Start == b.Offset-b.Start
}

const (
	protRead, protWrite, protExec = 1, 2, 4

	heapLabel = "[heap]"
)

// Anonymous is a private mapping of memory that has no name, which was asked for by what returns to an address, or lies there.
func Anonymous(start, end uint64, prot uint32, by uint64) abp.Region {
	return abp.Region{Start: start, End: end, Prot: prot, Kind: abp.RegionAnonymous, By: by}
}

// RegionOf says of a mapping what a profile does.
func RegionOf(m *sys.Mapping) abp.Region {
	r := abp.Region{Start: m.Start, End: m.End, Offset: m.Offset, Label: m.Path, Inode: m.Inode, Device: device(m.Dev), Shared: m.Shared(), Kind: kindOf(m)}
	for i, bit := range [...]uint32{protRead, protWrite, protExec} {
		if len(m.Prot) > i && m.Prot[i] != '-' {
			r.Prot |= bit
		}
	}
	return r
}

// kindOf sorts a mapping by its name.
func kindOf(m *sys.Mapping) uint8 {
	switch {
	case m.Path == heapLabel:
		return abp.RegionHeap
	case strings.HasPrefix(m.Path, "[stack"):
		return abp.RegionStack
	case m.Inode != 0 && m.Exec():
		return abp.RegionImage
	case m.Inode != 0:
		return abp.RegionFile
	case m.Path == "" || strings.HasPrefix(m.Path, "[anon"):
		return abp.RegionAnonymous
	case strings.HasPrefix(m.Path, "[v"): // vdso, vvar, vvar_vclock, vsyscall
		return abp.RegionKernel
	}
	return abp.RegionOther
}

// device takes "major:minor", both hexadecimal, for the number that a profile has.
func device(text string) uint64 {
	major, minor, _ := strings.Cut(text, ":")
	hi, err1 := strconv.ParseUint(major, 16, 32)
	lo, err2 := strconv.ParseUint(minor, 16, 32)
	if err1 != nil || err2 != nil {
		return 0
	}
	return hi<<32 | lo
}
