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
// Default has them, and off leaves one out. The values of inclusion and shared-ll say how levels belong together, that of processors how many simulate. Buffers for translations are ENTRIES,WAYS,PAGE.
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
	if text := value("inclusion"); text != "" {
		if o.Inclusion, err = ParseInclusion(text); err != nil {
			return o, fmt.Errorf("inclusion: %w", err)
		}
	}
	switch value("shared-ll") {
	case "", "no":
	case "yes":
		o.SharedLL = true
	default:
		return o, fmt.Errorf("shared-ll: %q is not yes or no", value("shared-ll"))
	}
	if text := value("processors"); text != "" {
		if o.Processors, err = strconv.Atoi(text); err != nil || o.Processors < 1 || o.Processors > 64 {
			return o, fmt.Errorf("processors is a number from 1 to 64, not %s", text)
		}
	}
	return o, o.check()
}

// check says what does not go together.
func (o *Options) check() error {
	if o.SharedLL && o.LL.Ways == 0 {
		return fmt.Errorf("shared-ll needs ll")
	}
	if o.Inclusion == Neither {
		return nil
	}
	line := uint64(0)
	for _, s := range []Shape{o.L1I, o.L1D, o.L2, o.LL} {
		if s.Ways == 0 {
			continue
		}
		if line != 0 && s.Line != line {
			return fmt.Errorf("inclusion: levels with lines of %d and %d bytes cannot be %s", line, s.Line, o.Inclusion)
		}
		line = s.Line
	}
	return nil
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
