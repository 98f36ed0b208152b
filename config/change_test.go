package config

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// TestConstant reads constants of all kinds.
func TestConstant(t *testing.T) {
	for _, c := range []struct {
		text  string
		kind  ConstantKind
		bytes int
		want  uint64
		fails bool
	}{
		{"0", SignedConstant, 4, 0, false}, {"-1", SignedConstant, 4, math.MaxUint64, false}, {"-0x80", SignedConstant, 1, math.MaxUint64 - 127, false},
		{"-129", SignedConstant, 1, 0, true}, {"255", UnsignedConstant, 1, 255, false}, {"256", UnsignedConstant, 1, 0, true}, {"-1", UnsignedConstant, 4, math.MaxUint64, false},
		{"0xffffffffffffffff", UnsignedConstant, 8, math.MaxUint64, false}, {"18446744073709551616", UnsignedConstant, 8, 0, true},
		{"NULL", AddressConstant, 8, 0, false}, {"NULL", SignedConstant, 4, 0, true}, {"0x10", AddressConstant, 8, 16, false},
		{"true", BoolConstant, 1, 1, false}, {"2", BoolConstant, 1, 0, true}, {"1.5", FloatConstant, 8, math.Float64bits(1.5), false},
		{"-inf", FloatConstant, 8, math.Float64bits(math.Inf(-1)), false}, {"1.5", FloatConstant, 4, uint64(math.Float32bits(1.5)), false}, {"one", FloatConstant, 8, 0, true},
		{"1.5", UnsignedConstant, 4, 0, true}, {"1.5", AnyConstant, 0, 0, false}, {"x", AnyConstant, 0, 0, true}, {"", SignedConstant, 4, 0, true},
	} {
		got, err := Constant(c.text, c.kind, c.bytes)
		if (err != nil) != c.fails || got != c.want {
			t.Errorf("%q of kind %d in %d bytes: %#x, %v; want %#x", c.text, c.kind, c.bytes, got, err, c.want)
		}
	}
}

// TestChanges reads what may be changed, says it in words, and refuses what makes no sense.
func TestChanges(t *testing.T) {
	types := `<Types><Type name="pair"><Field name="a" type="s4"/></Type><Pointer name="text" elementType="ascii" direction="inc" sentinel="0"/></Types>`
	file := func(intercept string) string {
		return `<AlleriaConfig version="1.0">` + types + `<Window><Profile><Process><Thread><Image><Function name="f">` + intercept + `</Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`
	}
	c, warnings, err := Parse("f", []byte(file(`<Intercept retType="s4" fail="ENOMEM" probability="1/100" seed="7"><Parameter index="0" type="u1" in="1" set="1, 2" probability="5%"/>`+
		`<Parameter index="1" type="text" out="1" set="bitflip"/><Result set="-1"/></Intercept>`)))
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	ic := c.Windows[0].Profile.Processes[0].Threads[0].Images[0].Functions[0].Intercept
	p := ic.Parameters[0].Set
	if !c.Changes() || ic.Fail != "ENOMEM" || ic.FailProbability.Part != 0.01 || ic.Seed != 7 || !slices.Equal(p.Values, []string{"1", "2"}) || p.Probability.Part != 0.05 ||
		ic.Parameters[1].Set.Kind != ChangeBitflip || ic.Result.Values[0] != "-1" {
		t.Errorf("%+v %+v", ic, p)
	}
	var text strings.Builder
	if err := c.Explain(&text); err != nil {
		t.Fatal(err)
	}
	words := strings.Join(strings.Fields(text.String()), " ")
	for _, want := range []string{"it becomes one of 1, 2 in 5 % of the calls, at random", "one of its bits is flipped", "the result is changed: it becomes -1", "calls fail with ENOMEM instead of being executed in 1 % of the calls"} {
		if !strings.Contains(words, want) {
			t.Errorf("%q is not in %s", want, words)
		}
	}
	roundTrip(t, c)
	for intercept, want := range map[string]string{
		`<Intercept fail="ENOMEN"/>`:                                                       "ENOMEM",
		`<Intercept probability="1/2"/>`:                                                   "probability has no effect without a change",
		`<Intercept seed="1"/>`:                                                            "seed has no effect without a change",
		`<Intercept fail="EIO" probability="auto"/>`:                                       "cannot be auto",
		`<Intercept><Result set="1"/></Intercept>`:                                         "the type of the result is not known",
		`<Intercept retType="pair"><Result set="random"/></Intercept>`:                     "a record cannot be changed",
		`<Intercept retType="f10"><Result set="1"/></Intercept>`:                           "cannot be set",
		`<Intercept><Parameter index="0" type="u1" in="1" set="256"/></Intercept>`:         "does not fit into 8 bits",
		`<Intercept><Parameter index="0" type="u1" in="1" set="1,,2"/></Intercept>`:        "is no number",
		`<Intercept><Parameter index="0" type="u1" out="1" set="1"/></Intercept>`:          "when the function is entered",
		`<Intercept><Parameter index="0" type="u1" in="1" probability="1/2"/></Intercept>`: "add set",
	} {
		if _, _, err := Parse("f", []byte(file(intercept))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", intercept, err, want)
		}
	}
}
