package analysis

import (
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"alleria/abp"
)

// anonymous is what private memory without a name is called: mappings that allocators and programs make for themselves.
const anonymous = "[anonymous]"

// Regions returns the named regions of a process's address space, for labels, by address and not overlapping: those of its
// snapshots and their changes; without one, those that can be told from the images and the usual layout.
//
// Where different things lay at one address the last one counts. What an image has beyond its file (.bss) is anonymous to the kernel, and the image's here.
func Regions(p *abp.Process) []Region { return RegionsBy(p, nil) }

// RegionsBy is Regions, with memory without a name called by who has asked for it, as far as the profile tells: function is the name of the one that an address
// lies in; "" where that is not known, and nil to leave it out.
func RegionsBy(p *abp.Process, function func(addr uint64) string) []Region {
	var c layers
	snaps := p.Snapshots()
	if len(snaps) == 0 {
		for _, r := range slices.Backward(layoutRegions(p)) { // the first ones are known, the last guessed
			c.paint(r)
		}
		return c.grow(0)
	}
	for _, s := range snaps {
		for i := range s.Regions {
			r := &s.Regions[i]
			name := RegionName(r)
			if name == anonymous && r.By != 0 && function != nil {
				if by := function(r.By); by != "" {
					name += " of " + by
				}
			}
			c.paint(Region{r.Start, r.End, name})
		}
	}
	for _, img := range imagesOf(p) {
		for _, s := range img.Segments {
			c.paintOver(Region{s.Start, s.End, imageName(img)}, anonymous)
		}
	}
	return c.grow(stackMost)
}

// RegionAt returns the name of the region that an address lies in, of regions by address and not overlapping; "" if none.
func RegionAt(regions []Region, addr uint64) string {
	i := sort.Search(len(regions), func(i int) bool { return regions[i].Hi > addr })
	if i == len(regions) || regions[i].Lo > addr {
		return ""
	}
	return regions[i].Name
}

// RegionName is what a region is called: the file's name, without what the kernel says of one that was deleted.
func RegionName(r *abp.Region) string {
	name := strings.TrimSuffix(r.Label, " (deleted)")
	switch {
	case name == "" && r.Inode == 0:
		return anonymous
	case name == "/dev/zero" && r.Shared:
		return "[shared]"
	}
	return filepath.Base(name)
}

// layers is regions by address, not overlapping, where what comes later lies above.
type layers struct{ regions []Region }

// paint lays a region above the others.
func (c *layers) paint(r Region) {
	if r.Lo >= r.Hi {
		return
	}
	i := sort.Search(len(c.regions), func(i int) bool { return c.regions[i].Hi > r.Lo })
	k := i
	for k < len(c.regions) && c.regions[k].Lo < r.Hi {
		k++
	}
	put := []Region{r}
	if i < k {
		if first := c.regions[i]; first.Lo < r.Lo {
			put = []Region{{first.Lo, r.Lo, first.Name}, r}
		}
		if last := c.regions[k-1]; last.Hi > r.Hi {
			put = append(put, Region{r.Hi, last.Hi, last.Name})
		}
	}
	c.regions = slices.Replace(c.regions, i, k, put...)
}

// paintOver is paint, but only where nothing is, or something whose name begins so.
func (c *layers) paintOver(r Region, name string) {
	var parts []Region
	at := r.Lo
	for i := sort.Search(len(c.regions), func(i int) bool { return c.regions[i].Hi > r.Lo }); i < len(c.regions) && c.regions[i].Lo < r.Hi; i++ {
		if o := c.regions[i]; !strings.HasPrefix(o.Name, name) {
			parts = append(parts, Region{at, max(o.Lo, at), r.Name})
			at = o.Hi
		}
	}
	for _, p := range append(parts, Region{at, r.Hi, r.Name}) {
		c.paint(p)
	}
}

// stackMost is how far below its first page a stack is looked for.
const stackMost = 1 << 30

// grow returns the regions, those beside each other of one name as one. A stack has all that is free below it, since it grows without
// a call.
func (c *layers) grow(most uint64) []Region {
	var out []Region
	for _, r := range c.regions {
		if r.Name == "[stack]" {
			floor := r.Lo - min(most, r.Lo)
			if len(out) > 0 {
				floor = max(floor, out[len(out)-1].Hi)
			}
			r.Lo = floor
		}
		if n := len(out); n > 0 && out[n-1].Hi == r.Lo && out[n-1].Name == r.Name {
			out[n-1].Hi = r.Hi
			continue
		}
		out = append(out, r)
	}
	return out
}

// Where Linux puts things in a 47-bit address space: the stack within 16 GiB of
// the top, the heap within 64 GiB of the executable's end, and all other
// mappings below the stack's part.
const (
	stackFloor = 0x7ffc_0000_0000
	userTop    = 0x7fff_ffff_f000
	heapReach  = 64 << 30
)

// layoutRegions names regions without a snapshot: the images by their segments,
// and heap and stack by where they lie. Without randomisation the loader's
// mappings lie in the stack's part as well, but below the stack.
// The result is a guess, good enough for a label and for nothing else; it is only
// made when the run took no snapshots.
func layoutRegions(p *abp.Process) []Region {
	var out []Region
	var heap uint64
	stack := uint64(stackFloor)
	for _, img := range imagesOf(p) {
		for _, s := range img.Segments {
			out = append(out, Region{s.Start, s.End, imageName(img)})
			if img.Main {
				heap = max(heap, s.End)
			}
			if s.End < userTop && imageName(img) != "[vdso]" {
				stack = max(stack, s.End)
			}
		}
	}
	if heap > 0 {
		end := heap + heapReach
		for _, r := range out {
			if r.Lo >= heap {
				end = min(end, r.Lo)
			}
		}
		out = append(out, Region{heap, min(end, stack), "[heap]"})
	}
	if len(out) > 0 {
		out = append(out, Region{stack, userTop, "[stack]"})
	}
	return out
}
