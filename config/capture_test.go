package config

import (
	"math"
	"testing"
)

func typesText(types string) string {
	return `<AlleriaConfig version="1.0"><Types>` + types + `</Types><Window><Profile><Process/></Profile></Window></AlleriaConfig>`
}

// TestLayout compares with what a C compiler makes of the same records.
func TestLayout(t *testing.T) {
	c := mustParse(t, typesText(`
		<Type name="mixed"><Field name="a" type="u1"/><Field name="b" type="u8"/><Field name="c" type="u2"/><Field name="d" type="f4"/></Type>
		<Type name="packed" packed="true"><Field name="a" type="u1"/><Field name="b" type="u8"/><Field name="c" type="u2"/></Type>
		<Type name="odd"><Field name="a" type="u3"/><Field name="b" type="u2"/></Type>
		<Type name="long"><Field name="a" type="bool"/><Field name="b" type="f10"/></Type>
		<Type name="outer"><Field name="a" type="ascii"/><Field name="in" type="sized"/><Field name="p" type="self"/></Type>
		<Type name="sized" size="20"><Field name="a" type="u4"/></Type>
		<Type name="union"><Field name="a" type="u4" offset="0"/><Field name="b" type="f8" offset="0"/></Type>
		<Pointer name="self" elementType="outer" count="1"/>`))
	want := map[string]struct {
		size, align uint64
		offsets     []uint64
	}{
		"mixed":  {24, 8, []uint64{0, 8, 16, 20}},
		"packed": {11, 1, []uint64{0, 1, 9}},
		"odd":    {6, 2, []uint64{0, 4}},
		"long":   {32, 16, []uint64{0, 16}},
		"outer":  {32, 8, []uint64{0, 4, 24}},
		"sized":  {20, 4, []uint64{0}},
		"union":  {8, 8, []uint64{0, 0}},
	}
	for _, r := range c.Types.Types {
		w := want[r.Name]
		if r.Size != w.size || r.Align != w.align {
			t.Errorf("%s: size %d, alignment %d; want %d, %d", r.Name, r.Size, r.Align, w.size, w.align)
		}
		for i, f := range r.Fields {
			if f.Offset != w.offsets[i] {
				t.Errorf("%s.%s at %d, want %d", r.Name, f.Name, f.Offset, w.offsets[i])
			}
		}
	}
}

func TestLayoutCycles(t *testing.T) {
	for _, text := range []string{
		`<Type name="a"><Field name="x" type="a"/></Type>`,
		`<Type name="a"><Field name="x" type="b"/></Type><Type name="b"><Field name="y" type="c"/></Type><Type name="c"><Field name="z" type="a"/></Type>`,
	} {
		if _, _, err := Parse("f", []byte(typesText(text))); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
	mustParse(t, typesText(`<Type name="a"><Field name="x" type="p"/></Type><Pointer name="p" elementType="a" count="1"/>`))
	mustParse(t, typesText(`<Pointer name="p" elementType="q" count="1"/><Pointer name="q" elementType="p" count="1"/>`))
}

func TestSentinelBits(t *testing.T) {
	for _, c := range []struct {
		b    Builtin
		text string
		bits uint64
		fits bool
	}{
		{U1, "255", 255, true}, {U1, "256", 0, false}, {S1, "-1", 255, true}, {S1, "-128", 128, true}, {S1, "-129", 0, false},
		{U4, "0xffffffff", math.MaxUint32, true}, {S8, "-1", math.MaxUint64, true}, {U8, "-9223372036854775808", 1 << 63, true},
		{ASCII, "0", 0, true}, {Unicode, "0xffff", 0xffff, true}, {Unicode, "0x10000", 0, false},
		{U3, "0xffffff", 0xffffff, true}, {U3, "0x1000000", 0, false},
		{F8, "-1", math.Float64bits(-1), true}, {F4, "2", uint64(math.Float32bits(2)), true}, {F4, "16777217", 0, false},
		{Bool, "1", 1, true}, {Ptr, "0", 0, true},
	} {
		v, negative, n := parseSigned(c.text)
		if !n.ok {
			t.Errorf("%s is not read", c.text)
			continue
		}
		if bits, fits := sentinelBits(c.b, v, negative); fits != c.fits || fits && bits != c.bits {
			t.Errorf("%s as %v: %#x, %t; want %#x, %t", c.text, c.b, bits, fits, c.bits, c.fits)
		}
	}
}

// TestVariables tries each way for a length to hang on a parameter.
func TestVariables(t *testing.T) {
	const types = `<Pointer name="counted" elementType="u4" direction="inc" countVariable="n"/>
		<Pointer name="ended" elementType="u4" endVariable="n" endValid="true"/>
		<Pointer name="started" elementType="u4" startVariable="p" endValid="true"/>
		<Pointer name="startedOpen" elementType="u4" startVariable="p" endValid="false"/>
		<Pointer name="one" elementType="s8" count="1"/><Pointer name="two" elementType="s8" direction="inc" count="2"/>
		<Pointer name="oneFloat" elementType="f8" count="1"/><Pointer name="oneInt" elementType="u4" count="1"/>`
	for _, c := range []struct {
		use, variable string
		want          bool
	}{
		{"counted", "s4", true}, {"counted", "u3", true}, {"counted", "one", true}, {"counted", "two", false}, {"counted", "oneFloat", false},
		{"counted", "f8", false}, {"counted", "bool", false}, {"counted", "ascii", false}, {"counted", "ptr", false},
		{"ended", "oneInt", true}, {"ended", "ptr", true}, {"ended", "started", true}, {"ended", "startedOpen", false}, {"ended", "one", false},
		{"ended", "u8", false}, {"ended", "ended", false},
	} {
		text := `<AlleriaConfig version="1.0"><Types>` + types + `</Types><Window><Profile><Process><Thread><Image><Function><Intercept>
			<Parameter name="p" index="0" type="` + c.use + `" in="1"/><Parameter name="n" index="1" type="` + c.variable + `" in="1"/>
			</Intercept></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`
		if _, _, err := Parse("f", []byte(text)); (err == nil) != c.want {
			t.Errorf("%s by %s: %v", c.use, c.variable, err)
		}
	}
}

func TestArgumentBothWays(t *testing.T) {
	text := func(second string) string {
		return profileText(`<Process><Thread><Image><Function><Intercept><Parameter index="0" type="u8" in="1"/>` + second + `</Intercept></Function></Image></Thread></Process>`)
	}
	mustParse(t, text(`<Parameter index="0" type="ptr" out="1"/>`))
	if _, _, err := Parse("f", []byte(text(`<Parameter index="0" type="ptr" in="1" out="1"/>`))); err == nil {
		t.Error("one argument is captured twice at entry")
	}
}
