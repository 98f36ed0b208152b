package calls

import (
	"slices"
	"testing"
)

// TestConversions has what formats take, also those that say which argument each conversion means.
func TestConversions(t *testing.T) {
	i, l, s, f, c, u := conversion{Signed, 4}, conversion{Signed, 8}, conversion{Pointer, 8}, conversion{Float, 8}, conversion{Char, 1}, conversion{Unsigned, 4}
	for format, want := range map[string][]conversion{
		"%d %s":            {i, s},
		"100%% %ld%c":      {l, c},
		"%-*.*f":           {i, i, f},
		"%2$s %1$d":        {i, s},
		"%2$*1$d":          {i, i},
		"%1$.*3$f %2$s":    {f, s, i},
		"%1$s %1$s %2$c":   {s, c},
		"%3$s":             {i, i, s}, // glibc takes the others as integers
		"%12$x":            append(slices.Repeat([]conversion{i}, 11), u),
		"%1$#-08lx%%":      {{Unsigned, 8}},
		"%d %2$s":          {i}, // a mixture is none
		"%1$s %d":          {s},
		"%1$*d":            nil,
		"%*1$d":            nil,
		"%0$d":             {i},
		"%65$d":            nil,
		"%9999$d":          nil,
		"%1$":              nil,
		"%1$Lf %2$d":       nil,
		"%d %Lf %s":        {i},
		"%":                nil,
		"%5m %d, %5d, %+i": {i, i, i},
	} {
		if got := conversions(format); !slices.Equal(got, want) {
			t.Errorf("%q takes %v, not %v", format, got, want)
		}
	}
}
