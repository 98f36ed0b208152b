package abp

import "testing"

func TestWantsFunction(t *testing.T) {
	f := &Function{Name: "_ZN1a1bEv", Demangled: "a::b::operator*"}
	for pattern, want := range map[string]bool{
		"_ZN1a1bEv": true, "a::b::operator*": true, "a::*": true, "*": true, "*::operator*": true, "_ZN*Ev": true,
		"a::b*b::operator*": false, // parts do not overlap
		"a::b":              false, "": false, "*x*": false, "b::*": false, "a::*x": false,
	} {
		q := Query{Functions: []string{pattern}}
		if q.WantsFunction(f) != want {
			t.Errorf("%q: %v", pattern, !want)
		}
	}
}
