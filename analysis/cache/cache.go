package cache

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Policy says which line of a set makes room.
type Policy uint8

// Policies.
const (
	LRU    Policy = iota // the one that was used longest ago
	FIFO                 // the one that has been there longest
	Random               // any, by a generator for each set that always begins alike
)

// Shape is the geometry of a cache.
type Shape struct {
	Size   uint64 // bytes
	Ways   int
	Line   uint64 // bytes, a power of two
	Policy Policy
}

// String gives a shape as ParseShape reads it.
func (s Shape) String() string {
	out := fmt.Sprintf("%d,%d,%d", s.Size, s.Ways, s.Line)
	return out + [...]string{LRU: "", FIFO: ",fifo", Random: ",random"}[s.Policy]
}

// ParseShape reads SIZE,WAYS,LINE[,POLICY], where a size may end in k, M or G.
func ParseShape(text string) (s Shape, err error) {
	f := strings.Split(text, ",")
	if len(f) != 3 && len(f) != 4 {
		return s, fmt.Errorf("%q is not SIZE,WAYS,LINE or SIZE,WAYS,LINE,POLICY, like 32k,8,64", text)
	}
	if s.Size, err = parseBytes(f[0]); err != nil {
		return s, err
	}
	if s.Ways, err = strconv.Atoi(f[1]); err != nil || s.Ways < 1 {
		return s, fmt.Errorf("%q is not a number of ways", f[1])
	}
	if s.Line, err = parseBytes(f[2]); err != nil {
		return s, err
	}
	if len(f) == 4 {
		switch strings.ToLower(f[3]) {
		case "lru":
		case "fifo":
			s.Policy = FIFO
		case "random":
			s.Policy = Random
		default:
			return s, fmt.Errorf("%q is not a policy: lru, fifo or random", f[3])
		}
	}
	return s, s.check()
}

// check says what is wrong with a shape.
func (s *Shape) check() error {
	switch {
	case s.Line < 8 || bits.OnesCount64(s.Line) != 1:
		return fmt.Errorf("a line of %d bytes is not a power of two from 8", s.Line)
	case s.Size > 1<<34:
		return fmt.Errorf("a cache of %d bytes is larger than 16 GiB", s.Size)
	case uint64(s.Ways) > s.Size/s.Line || s.Size%(s.Line*uint64(s.Ways)) != 0:
		return fmt.Errorf("%d bytes are not a number of sets of %d lines of %d bytes", s.Size, s.Ways, s.Line)
	case bits.OnesCount64(s.Size/s.Line/uint64(s.Ways)) != 1:
		return fmt.Errorf("the number of sets of %s, %d, is not a power of two", s, s.Size/s.Line/uint64(s.Ways))
	}
	return nil
}

// parseBytes reads a size.
func parseBytes(text string) (uint64, error) {
	shift := 0
	digits := strings.TrimRight(text, "kKmMgG")
	switch strings.ToLower(text[len(digits):]) {
	case "":
	case "k":
		shift = 10
	case "m":
		shift = 20
	case "g":
		shift = 30
	default:
		return 0, fmt.Errorf("%q is not a size like 32k", text)
	}
	n, err := strconv.ParseUint(digits, 10, 34)
	if err != nil {
		return 0, fmt.Errorf("%q is not a size like 32k", text)
	}
	return n << shift, nil
}

// Cache is one cache or buffer.
type Cache struct {
	tags []uint64 // ways of each set, the one that goes last first; line number + 1, 0: free
	// Instead of tags for LRU where lines of addresses that processors allow (48 bits, sign-extended) are told apart by
	// 32 bits above those of the set: half the memory.
	small  []uint32
	bits   uint // of the set
	ways   uint64
	mask   uint64 // of a set
	shift  uint
	policy Policy
	seeds  []uint64 // Random: of generators, by set
	next   []uint16 // FIFO: the way that goes next, by set
	latest *latest  // LRU with few sets; else nil
}

// addressBits is how many bits an address has that are not copies of the highest.
const addressBits = 48

// New returns an empty cache of a shape, which has been checked by ParseShape.
func New(s Shape) *Cache {
	sets := s.Size / s.Line / uint64(s.Ways)
	c := &Cache{ways: uint64(s.Ways), mask: sets - 1, shift: uint(bits.TrailingZeros64(s.Line)), policy: s.Policy,
		bits: uint(bits.TrailingZeros64(sets))}
	if c.policy == LRU && c.shift+c.bits > addressBits-32 {
		c.small = make([]uint32, sets*uint64(s.Ways))
	} else {
		c.tags = make([]uint64, sets*uint64(s.Ways))
	}
	switch {
	case s.Policy == FIFO:
		c.next = make([]uint16, sets)
	case s.Policy == Random:
		c.seeds = seedsOf(sets)
	case s.Policy == LRU && sets <= mostLatest:
		c.latest = &latest{mask: sets - 1}
	}
	return c
}

// Miss refers to all lines of an access and reports whether any was missing.
func (c *Cache) Miss(addr, size uint64) bool {
	first, last := addr>>c.shift, (addr+size-1)>>c.shift
	if first == last {
		return c.line(first)
	}
	miss := c.line(first)
	for l := first; l != last; {
		l++
		if c.line(l) {
			miss = true
		}
	}
	return miss
}

// line refers to one line.
func (c *Cache) line(l uint64) bool {
	tag := l + 1
	at := (l & c.mask) * c.ways
	if c.policy == LRU {
		if c.latest != nil {
			c.latest.tags[l&c.mask%mostLatest] = tag
		}
		if c.small != nil {
			return use(c.small[at:at+c.ways], uint32(l>>c.bits)+1)
		}
		return use(c.tags[at:at+c.ways], tag)
	}
	set := c.tags[at : at+c.ways]
	for _, t := range set {
		if t == tag {
			return false
		}
	}
	switch c.policy {
	case FIFO:
		n := &c.next[l&c.mask]
		set[*n] = tag
		*n = uint16((uint64(*n) + 1) % c.ways)
	default:
		replace(set, tag, &c.seeds[l&c.mask])
	}
	return true
}

// use refers to a line of a set with LRU: each moves back by one place until the line is found, or the last is out.
func use[T uint32 | uint64](set []T, tag T) (miss bool) {
	front := tag
	for i, t := range set {
		set[i] = front
		if t == tag {
			return false
		}
		front = t
	}
	return true
}

// replace takes a free way, or any.
func replace(set []uint64, tag uint64, seed *uint64) {
	for i, t := range set {
		if t == 0 {
			set[i] = tag
			return
		}
	}
	set[draw(seed)%uint64(len(set))] = tag
}

// seedsOf begins with a generator for each set: what one draws goes by what is referred to in its set alone, whoever simulates the others.
func seedsOf(sets uint64) []uint64 {
	seeds := make([]uint64, sets)
	for i := range seeds { // splitmix64
		z := uint64(i+1) * 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		seeds[i] = z ^ z>>31 | 1
	}
	return seeds
}

// draw draws a number (xorshift64, whose low bits are mixed with the high ones).
func draw(seed *uint64) uint64 {
	*seed ^= *seed << 13
	*seed ^= *seed >> 7
	*seed ^= *seed << 17
	return *seed >> 32
}
