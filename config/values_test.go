package config

import (
	"math"
	"regexp"
	"testing"

	"alleria/config/vocab"
)

func TestParseNumbers(t *testing.T) {
	type result = number
	for _, c := range []struct {
		parse func(string) number
		in    string
		want  result
	}{
		{parseNumber, "0", result{0, true, false}},
		{parseNumber, "0010", result{10, true, false}},
		{parseNumber, "0x1F", result{31, true, false}},
		{parseNumber, "0Xff", result{255, true, false}},
		{parseNumber, "18446744073709551615", result{math.MaxUint64, true, false}},
		{parseNumber, "18446744073709551616", result{0, false, true}},
		{parseNumber, "0x10000000000000000", result{0, false, true}},
		{parseNumber, "", result{}}, {parseNumber, "0x", result{}}, {parseNumber, "+1", result{}}, {parseNumber, "-1", result{}},
		{parseNumber, "1_000", result{}}, {parseNumber, "0b1", result{}}, {parseNumber, "0x-1", result{}}, {parseNumber, "1e3", result{}},
		{parseCount, "5k", result{5e3, true, false}},
		{parseCount, "5M", result{5e6, true, false}},
		{parseCount, " 2G\n", result{2e9, true, false}},
		{parseCount, "0x10", result{16, true, false}},
		{parseCount, "18446744073G", result{18446744073e9, true, false}},
		{parseCount, "18446744074G", result{0, false, true}},
		{parseCount, "k", result{}}, {parseCount, "5K", result{}}, {parseCount, "0x5k", result{}}, {parseCount, "5 k", result{}}, {parseCount, "5kk", result{}},
		{parseTime, "3", result{3e6, true, false}},
		{parseTime, "3ms", result{3e6, true, false}},
		{parseTime, "3us", result{3e3, true, false}},
		{parseTime, "3s", result{3e9, true, false}},
		{parseTime, "0x3", result{3e6, true, false}},
		{parseTime, "9223372037s", result{0, false, true}},
		{parseTime, "3m", result{}}, {parseTime, "s", result{}}, {parseTime, "0x3s", result{}},
		{parseSample, "1/100", result{100, true, false}},
		{parseSample, "1/2k", result{2000, true, false}},
		{parseSample, "1/3000000000", result{0, false, true}},
		{parseSample, "1/0", result{}}, {parseSample, "2/3", result{}}, {parseSample, "1/", result{}}, {parseSample, "1/ 5", result{}}, {parseSample, "1/0x5", result{}},
	} {
		got := c.parse(c.in)
		if got.ok != c.want.ok || got.big != c.want.big || got.ok && got.val != c.want.val {
			t.Errorf("%q: %+v, want %+v", c.in, got, c.want)
		}
	}
}

func TestParseDepth(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Depth
		big  bool
	}{
		{"0", Depth{true, 0, 0}, false}, {" 2 ", Depth{true, 2, 2}, false}, {"1..3", Depth{true, 1, 3}, false}, {"03..1", Depth{true, 3, 1}, false},
		{"", Depth{}, false}, {"..", Depth{}, false}, {"1..", Depth{}, false}, {"..1", Depth{}, false}, {"1...2", Depth{}, false}, {"1..2..3", Depth{}, false},
		{"1 ..2", Depth{}, false}, {"0x1", Depth{}, false}, {"-1", Depth{}, false}, {"1.2", Depth{}, false},
		{"0..2147483648", Depth{}, true}, {"99999999999999999999", Depth{}, true},
	} {
		got, n := parseDepth(c.in)
		if got != c.want || n.ok != c.want.Given || n.big != c.big {
			t.Errorf("%q: %+v %+v, want %+v", c.in, got, n, c.want)
		}
	}
}

func TestCountTextReadsBack(t *testing.T) {
	for _, v := range []uint64{0, 1, 999, 1000, 1001, 5e6, 5e9, 18446744073e9, math.MaxUint64} {
		if got := parseCount(countText(v)); !got.ok || got.val != v {
			t.Errorf("%d is written %s and read %+v", v, countText(v), got)
		}
	}
}

// TestPatterns holds the schema's patterns against the parsing functions, on
// every string of up to four characters of those that matter.
func TestPatterns(t *testing.T) {
	const alphabet = "019xakMus-/."
	var try func(s string)
	patterns := map[valueKind]*regexp.Regexp{}
	for k := textValue; k < enumValue; k++ {
		if spellings[k].pattern != "" {
			patterns[k] = regexp.MustCompile("^(?:" + spellings[k].pattern + ")$")
		}
	}
	n := 0
	try = func(s string) {
		n++
		for k, re := range patterns {
			f := &faults{}
			checkValue(f, &attribute{name: "a", kind: k}, &attr{name: "a", value: s})
			if parsed := len(f.errs) == 0; parsed != re.MatchString(s) {
				t.Fatalf("%q as %s: the parser says %t, the pattern %t", s, spellings[k].right, parsed, !parsed)
			}
		}
		if len(s) < 4 {
			for i := range alphabet {
				try(s + alphabet[i:i+1])
			}
		}
	}
	try("")
	t.Logf("%d strings, %d patterns", n, len(patterns))
}

func TestNearest(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"timestamp", "timeStamp"}, {"routineID", "routineId"}, {"acessValue", "accessValue"}, {"catg", "cat"},
		{"regsiters", "registers"}, {"accessAddress", "accessAddressAndSize"},
	} {
		if got, _ := vocab.Closest(c.name, elementNamed("Instruction").attrNames()); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if best, distance := vocab.Closest("x", nil); best != "" || distance != -1 {
		t.Errorf("nearest of nothing: %q, %d", best, distance)
	}
}
