// Package sharedmem finds the memory that processes of a run share, files and anonymous memory mapped with MAP_SHARED, and adds up what all of them
// access there, wherever each has it.
//
// A profile's snapshots (LLW) say what lay where, by device and inode: names are no help, as all anonymous shared memory has the same. Accesses
// are counted by page, for each process as for a map of its own, and then moved to where the page is in what is shared. Where an address was something else at
// another time, the last counts, and Object.Reused says so where it was accessed. Refused: counting each access by its time, which frames do not have for each.
//
// The command's heatmap calls it. Private mappings of a file share its pages too, until they are written to; they are left out.
package sharedmem

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"alleria/abp"
	"alleria/analysis"
)

// Object is memory that is shared: a file, or anonymous.
type Object struct {
	Device, Inode uint64
	Path          string // as the kernel has it
	Name          string // for people, of its own among those of a run
	Size          uint64 // up to the end of what was mapped
	Base          uint64 // where Lay has put it
	Reused        bool   // some of the addresses that were accessed were other memory at another time
	Users         []User // by process
}

// User is a process that has mapped an object.
type User struct {
	Process *abp.Process
	analysis.Traffic
	spans  []span
	reused []span // of these, where something else was at another time
}

// span is a stretch of an address space.
type span struct {
	lo, hi uint64
	offset uint64  // of lo in the object
	object *Object // nil: something that is not shared
}

// key is what an object is known by. Inode numbers are given anew once what had them is gone; within a run that is rare.
type key struct{ device, inode uint64 }

// Objects returns what the processes of a run have mapped shared, by device and inode.
func Objects(procs []*abp.Process) []*Object {
	found := map[key]*Object{}
	for _, p := range procs {
		spans, reused := layout(p, found)
		for _, o := range found {
			not := func(s span) bool { return s.object != o }
			u := User{Process: p, spans: slices.DeleteFunc(slices.Clone(spans), not), reused: slices.DeleteFunc(slices.Clone(reused), not)}
			if len(u.spans)+len(u.reused) > 0 {
				o.Users = append(o.Users, u)
			}
		}
	}
	var out []*Object
	for _, o := range found {
		if len(o.Users) > 0 {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *Object) int { return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Inode, b.Inode)) })
	name(out)
	return out
}

// layout is what lay where in a process at last, by address, and where what is shared has been before something else or behind it.
func layout(p *abp.Process, found map[key]*Object) (spans, reused []span) {
	for _, s := range p.Snapshots() {
		for i := range s.Regions {
			r := &s.Regions[i]
			n := span{lo: r.Start, hi: r.End}
			if r.Shared && r.Inode != 0 {
				k := key{r.Device, r.Inode}
				if found[k] == nil {
					found[k] = &Object{Device: r.Device, Inode: r.Inode, Path: r.Label}
				}
				n.object, n.offset = found[k], r.Offset
				n.object.Size = max(n.object.Size, r.Offset+r.End-r.Start)
			}
			var under []span
			spans, under = lay(spans, n)
			reused = append(reused, under...)
		}
	}
	return spans, reused
}

// lay puts a stretch above the others. under is where it changes what something shared is known to be, for both.
func lay(spans []span, n span) (all, under []span) {
	if n.lo >= n.hi {
		return spans, nil
	}
	i := sort.Search(len(spans), func(i int) bool { return spans[i].hi > n.lo })
	k := i
	var front, back []span
	for ; k < len(spans) && spans[k].lo < n.hi; k++ {
		o := spans[k]
		if o.object != n.object || o.object != nil && o.offset-o.lo != n.offset-n.lo {
			for _, is := range []*Object{o.object, n.object} {
				if is != nil {
					under = append(under, span{lo: max(o.lo, n.lo), hi: min(o.hi, n.hi), object: is})
				}
			}
		}
		if o.lo < n.lo {
			front = append(front, span{o.lo, n.lo, o.offset, o.object})
		}
		if o.hi > n.hi {
			back = append(back, span{n.hi, o.hi, o.offset + n.hi - o.lo, o.object})
		}
	}
	return slices.Replace(spans, i, k, append(append(front, n), back...)...), under
}

// name gives objects their names: the file's, with the inode where there are several of it.
func name(all []*Object) {
	count := map[string]int{}
	for _, o := range all {
		r := abp.Region{Label: o.Path, Inode: o.Inode, Shared: true}
		o.Name = analysis.RegionName(&r)
		count[o.Name]++
	}
	for _, o := range all {
		if count[o.Name] > 1 {
			o.Name += " " + strconv.FormatUint(o.Inode, 10)
		}
	}
}

// Anonymous tells whether there is no file behind an object: shared mappings without one, memfd, segments of System V.
func (o *Object) Anonymous() bool {
	return o.Path == "/dev/zero (deleted)" || strings.HasPrefix(o.Path, "/memfd:") || strings.HasPrefix(o.Path, "/SYSV")
}

// Matches tells whether a user means the object by a word: its name, its path, its inode, "anonymous", or nothing.
func (o *Object) Matches(word string) bool {
	path := strings.TrimSuffix(o.Path, " (deleted)")
	switch word {
	case "", o.Name, o.Path, path, filepath.Base(path), strconv.FormatUint(o.Inode, 10):
		return true
	case "anonymous":
		return o.Anonymous()
	}
	return false
}

// Lay puts objects one behind the other, each at the beginning of a line of so many bytes, and returns the names of where they are.
func Lay(all []*Object, line uint64) []analysis.Region {
	var out []analysis.Region
	at := uint64(0)
	for _, o := range all {
		o.Base = at
		out = append(out, analysis.Region{Lo: at, Hi: at + o.Size, Name: o.Label()})
		at += (o.Size + line - 1) / line * line
	}
	return out
}

// labelled is how many processes are named beside an object.
const labelled = 6

// Label is the object's name with its processes.
func (o *Object) Label() string {
	var users []string
	for _, u := range o.Users {
		if n := "p" + u.Process.Name(); !slices.Contains(users, n) {
			users = append(users, n)
		}
	}
	if n := len(users); n > labelled {
		users = append(users[:labelled-1], fmt.Sprintf("%d more", n-labelled+1))
	}
	return fmt.Sprintf("%s (%s)", o.Name, strings.Join(users, ", "))
}

// Heat adds up what was accessed of objects that Lay has put somewhere. count counts the accesses of one process by address, all of them with
// one grain, which is a page or less.
func Heat(all []*Object, block uint64, count func(*abp.Process) (*analysis.Heat, error)) (*analysis.Heat, error) {
	var procs []*abp.Process
	for _, o := range all {
		for _, u := range o.Users {
			if !slices.Contains(procs, u.Process) {
				procs = append(procs, u.Process)
			}
		}
	}
	slices.SortFunc(procs, func(a, b *abp.Process) int {
		return cmp.Or(cmp.Compare(a.Number(), b.Number()), cmp.Compare(a.Generation(), b.Generation()))
	})
	sum := analysis.NewHeat(block)
	for _, p := range procs {
		h, err := count(p)
		if err != nil {
			return nil, err
		}
		cells := h.Cells(h.Grain())
		for _, o := range all {
			for i := range o.Users {
				if o.Users[i].Process == p {
					o.Users[i].add(o, cells, sum)
				}
			}
		}
	}
	return sum, nil
}

// add moves what a process has accessed to where the object is. cells are by address.
func (u *User) add(o *Object, cells []analysis.Cell, sum *analysis.Heat) {
	for _, s := range u.spans {
		from := sort.Search(len(cells), func(i int) bool { return cells[i].Addr >= s.lo })
		for _, c := range cells[from:] {
			if c.Addr >= s.hi {
				break
			}
			at := o.Base + s.offset + c.Addr - s.lo
			sum.Add(at, false, c.Reads)
			sum.Add(at, true, c.Writes)
			u.Reads += c.Reads
			u.Writes += c.Writes
		}
	}
	for _, s := range u.reused {
		from := sort.Search(len(cells), func(i int) bool { return cells[i].Addr >= s.lo })
		o.Reused = o.Reused || from < len(cells) && cells[from].Addr < s.hi
	}
}
