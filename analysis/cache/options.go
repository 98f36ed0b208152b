package cache

import (
	"fmt"
	"strconv"
	"strings"
)

// Default is the cache of a name (l1i, l1d, l2, ll, itlb, dtlb) that is simulated unless another is asked for.
func Default(name string) string {
	switch name {
	case "l1i", "l1d":
		return "32k,8,64"
	case "ll":
		return "8M,16,64"
	}
	return "off"
}

// ParseOptions reads the shapes of the caches, by their names; value returns the empty string for those that are as
// Default has them, and off leaves one out. Buffers for translations are ENTRIES,WAYS,PAGE.
func ParseOptions(value func(name string) string) (o Options, err error) {
	for _, c := range []struct {
		name string
		to   *Shape
		tlb  bool
	}{
		{"l1i", &o.L1I, false}, {"l1d", &o.L1D, false}, {"l2", &o.L2, false}, {"ll", &o.LL, false},
		{"itlb", &o.ITLB, true}, {"dtlb", &o.DTLB, true},
	} {
		text := value(c.name)
		if text == "" {
			text = Default(c.name)
		}
		if text == "off" {
			continue
		}
		if c.tlb {
			*c.to, err = parseTLB(text)
		} else {
			*c.to, err = ParseShape(text)
		}
		if err != nil {
			return o, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	if o.L1I.Ways == 0 && o.ITLB.Ways > 0 {
		return o, fmt.Errorf("itlb needs l1i")
	}
	return o, nil
}

// parseTLB reads ENTRIES,WAYS,PAGE: a cache whose lines are pages.
func parseTLB(text string) (s Shape, err error) {
	f := strings.Split(text, ",")
	bad := fmt.Errorf("%q is not ENTRIES,WAYS,PAGE like 64,4,4k", text)
	if len(f) < 3 {
		return s, bad
	}
	n, err := strconv.ParseUint(f[0], 10, 20)
	size, err2 := ParseBytes(f[2])
	if err != nil || err2 != nil || size > 1<<30 {
		return s, bad
	}
	return ParseShape(fmt.Sprintf("%d,%s,%s", n*size, f[1], strings.Join(f[2:], ",")))
}

// ParseBytes reads a size, which may end in k, M or G.
func ParseBytes(text string) (uint64, error) { return parseBytes(text) }
