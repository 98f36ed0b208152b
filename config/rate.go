package config

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Rate is which part of all instructions is recorded, in bursts. The zero value is all of them.
type Rate struct {
	Part float64 // above 0 and at most 1, where something was said and Auto is false
	Auto bool    // as much as the processing threads keep up with
	Text string  // as it was written
}

// ratePattern is the spelling of a rate as XML schema has it: a fraction, a percentage, a number below one, or auto.
const ratePattern = `1/(0*[1-9][0-9]*[kMG]?)|(0*[1-9][0-9]*(\.[0-9]+)?|0+\.0*[1-9][0-9]*)%|0+\.0*[1-9][0-9]*|auto`

const rateRight = "1/N, a percentage, a number between 0 and 1, or auto: 1/20, 5%, 0.05"

// All tells whether everything is recorded.
func (r Rate) All() bool { return !r.Auto && (r.Part == 0 || r.Part >= 1) }

// String words the rate.
func (r Rate) String() string {
	switch {
	case r.Auto:
		return "as much as the processing threads keep up with"
	case r.All():
		return "all"
	}
	return strconv.FormatFloat(math.Round(r.Part*1e8)/1e6, 'f', -1, 64) + " %"
}

// ParseRate reads a rate; the error says what one looks like.
func ParseRate(v string) (Rate, error) {
	r, n := parseRate(v)
	switch {
	case n.ok:
		return r, nil
	case n.big:
		return Rate{}, fmt.Errorf("%q is too large: it must %s", short(v), limitOf(rateValue))
	}
	return Rate{}, fmt.Errorf("%q is not understood: it takes %s", short(v), rateRight)
}

// parseRate reads a rate; of the number only ok and big mean something.
func parseRate(v string) (Rate, number) {
	v = trim(v)
	r := Rate{Text: v}
	if v == "auto" {
		r.Auto = true
		return r, number{ok: true}
	}
	if !regexp.MustCompile(`^(?:` + ratePattern + `)$`).MatchString(v) {
		return Rate{}, number{}
	}
	if strings.HasPrefix(v, "1/") {
		n := parseSample(v)
		r.Part = 1 / float64(max(n.val, 1))
		return r, n
	}
	digits, percent := strings.CutSuffix(v, "%")
	x, err := strconv.ParseFloat(digits, 64)
	if percent {
		x /= 100
	}
	if r.Part = x; err != nil || x > 1 {
		return Rate{}, number{big: true}
	}
	return r, number{ok: x > 0}
}

// SampleRate is the rate at which a run is recorded: that of all windows, which decoding has seen to.
func (c *Config) SampleRate() Rate {
	if len(c.Windows) == 0 || c.Windows[0].Profile == nil {
		return Rate{}
	}
	return c.Windows[0].Profile.SampleRate
}

// SetSampleRate has all windows recorded at a rate.
func (c *Config) SetSampleRate(r Rate) {
	for _, w := range c.Windows {
		if w.Profile != nil {
			w.Profile.SampleRate = r
		}
	}
}

// oneRate refuses windows that differ in their rates: a thread is within a burst or not, whichever windows are open.
func (d *decoder) oneRate(c *Config) {
	for _, w := range c.Windows[min(len(c.Windows), 1):] {
		first, p := c.Windows[0].Profile, w.Profile
		if first != nil && p != nil && (first.SampleRate.Part != p.SampleRate.Part || first.SampleRate.Auto != p.SampleRate.Auto) {
			d.rule(p.Pos, fmt.Sprintf("the sampleRate of this Profile (%s) is not that of the first window's (%s)", p.SampleRate, first.SampleRate),
				"a thread is recorded or skipped for all windows at once: give all of them the same sampleRate")
		}
	}
}
