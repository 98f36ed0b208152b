package symbols

import "strings"

// Pattern is a name in which * stands for anything, also for nothing and for
// "::". It is exported so that what selects images by name can match alike.
type Pattern struct {
	text  string
	parts []string // what lies between the stars
}

// NewPattern prepares a pattern for matching.
func NewPattern(text string) Pattern {
	return Pattern{text: text, parts: strings.Split(text, "*")}
}

// Exact reports whether the pattern has no wildcard.
func (p Pattern) Exact() bool { return len(p.parts) == 1 }

// Literal is how many characters the pattern states: of two wildcards that
// match, the one with more is the more specific.
func (p Pattern) Literal() int { return len(p.text) - len(p.parts) + 1 }

// Match compares a whole name. Each part is found at its first place behind the
// one before, which for patterns with nothing but stars is always right, so
// that no pattern takes more than one pass over the name.
func (p Pattern) Match(name string) bool {
	if p.Exact() {
		return name == p.text
	}
	first, last := p.parts[0], p.parts[len(p.parts)-1]
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range p.parts[1 : len(p.parts)-1] {
		at := strings.Index(name, part)
		if at < 0 {
			return false
		}
		name = name[at+len(part):]
	}
	return true
}
