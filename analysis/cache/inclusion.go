package cache

import (
	"fmt"
	"slices"
)

// Inclusion says what the contents of a level have to do with those of the levels in front of it.
type Inclusion uint8

// Inclusions.
const (
	Neither   Inclusion = iota // nothing: cachegrind's
	Inclusive                  // what is in front is behind as well: what goes behind goes in front
	Exclusive                  // what is in front is not behind: levels behind have what others let go
)

// String names it as ParseInclusion reads it.
func (n Inclusion) String() string {
	return [...]string{Neither: "neither", Inclusive: "inclusive", Exclusive: "exclusive"}[n]
}

// ParseInclusion reads a name.
func ParseInclusion(text string) (Inclusion, error) {
	for _, n := range []Inclusion{Neither, Inclusive, Exclusive} {
		if text == n.String() {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%q is not neither, inclusive or exclusive", text)
}

// Lines is the lines that a cache has, for who says himself what brings them in and takes them out. Lines are numbers, addresses without the bits within one.
type Lines struct {
	tags   []uint64 // ways of each set, the one that goes last first; line number + 1, 0: free, behind all others
	ways   uint64
	mask   uint64 // of a set
	policy Policy
	seeds  []uint64 // Random: of generators, by set
}

// NewLines makes an empty cache of a shape, which has been checked by ParseShape.
func NewLines(s Shape) *Lines {
	sets := s.Size / s.Line / uint64(s.Ways)
	c := &Lines{tags: make([]uint64, sets*uint64(s.Ways)), ways: uint64(s.Ways), mask: sets - 1, policy: s.Policy}
	if s.Policy == Random {
		c.seeds = seedsOf(sets)
	}
	return c
}

// set is the ways that a line may be in.
func (c *Lines) set(line uint64) []uint64 {
	at := (line & c.mask) * c.ways
	return c.tags[at : at+c.ways]
}

// Has tells whether a line is there.
func (c *Lines) Has(line uint64) bool { return slices.Contains(c.set(line), line+1) }

// Room makes room for a line that is not there, and returns the one that has gone for it, if a way was not free.
func (c *Lines) Room(line uint64) (out uint64, evicted bool) {
	victim := c.room(line)
	return victim - 1, victim != 0
}

// Put brings a line in for which there is room.
func (c *Lines) Put(line uint64) { put(c.set(line), line+1) }

// level is a cache of which lines are taken out: by a level behind that includes it, or by one in front that excludes it.
// What happens to a line is known before the next line is referred to, so that nothing is put off here.
type level struct {
	*Lines
	inclusion Inclusion
	behind    *level   // nil: memory
	front     []*level // who has it behind
}

// newLevel makes an empty one in front of another, nil for memory.
func newLevel(s Shape, n Inclusion, behind *level) *level {
	l := &level{Lines: NewLines(s), inclusion: n, behind: behind}
	if behind != nil {
		behind.front = append(behind.front, l)
	}
	return l
}

// refer brings a line into a first level and returns how many levels missed it.
func (c *level) refer(line uint64) (missed int) {
	if c.Use(line) {
		return 0
	}
	// Who makes room is known before the levels behind are asked: what those take away from here leaves a way free.
	victim := c.room(line)
	missed = 1
	if c.behind != nil {
		if c.inclusion == Exclusive {
			missed += c.behind.yield(line)
		} else {
			missed += c.behind.refer(line)
		}
	}
	c.evicted(victim)
	put(c.set(line), line+1)
	return missed
}

// yield takes a line out for a level in front and returns how many levels did not have it.
func (c *level) yield(line uint64) (missed int) {
	for ; c != nil; c = c.behind {
		if c.Drop(line) {
			return missed
		}
		missed++
	}
	return missed
}

// take keeps a line that a level in front has let go.
func (c *level) take(line uint64) {
	if c.Use(line) {
		return // another one in front has let it go as well
	}
	c.evicted(c.room(line))
	put(c.set(line), line+1)
}

// evicted tells other levels of a line that has gone, unless it is none. Of inclusive levels those in front lose it as well.
func (c *level) evicted(tag uint64) {
	switch {
	case tag == 0:
	case c.inclusion == Inclusive:
		c.lose(tag - 1)
	case c.inclusion == Exclusive && c.behind != nil:
		c.behind.take(tag - 1)
	}
}

// lose takes a line out of all levels in front.
func (c *level) lose(line uint64) {
	for _, f := range c.front {
		f.Drop(line)
		f.lose(line)
	}
}

// Use tells whether a line is there, and uses it.
func (c *Lines) Use(line uint64) bool {
	set := c.set(line)
	for i, t := range set {
		if t != line+1 {
			continue
		}
		if c.policy == LRU {
			copy(set[1:i+1], set[:i])
			set[0] = t
		}
		return true
	}
	return false
}

// Drop takes a line out and tells whether it was there.
func (c *Lines) Drop(line uint64) bool {
	set := c.set(line)
	for i, t := range set {
		if t == line+1 {
			copy(set[i:], set[i+1:])
			set[len(set)-1] = 0
			return true
		}
	}
	return false
}

// room makes room in the set of a line that is to come and returns what has gone, 0 if a way was free.
func (c *Lines) room(line uint64) (victim uint64) {
	set := c.set(line)
	last := len(set) - 1
	if set[last] == 0 {
		return 0
	}
	if c.policy == Random {
		last = int(draw(&c.seeds[line&c.mask]) % c.ways)
	}
	victim = set[last]
	copy(set[last:], set[last+1:])
	set[len(set)-1] = 0
	return victim
}

// put puts a tag in front of a set that has room.
func put(set []uint64, tag uint64) {
	copy(set[1:], set)
	set[0] = tag
}

// access refers to all lines of an access and returns how many levels missed one of them.
func (c *level) access(addr, size uint64, shift uint) (missed int) {
	for l, last := addr>>shift, (addr+size-1)>>shift; ; l++ {
		missed = max(missed, c.refer(l))
		if l == last {
			return missed
		}
	}
}

// levels are the caches of a hierarchy that is inclusive or exclusive.
type levels struct{ code, data *level }
