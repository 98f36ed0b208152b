package interceptors

import (
	"encoding/binary"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"alleria/abp/calls"
	"alleria/config"
	"alleria/internal/capture"
)

// machine is a thread that is none: registers and memory by hand.
type machine struct {
	sources map[capture.Source][]byte
	saves   []capture.Source
	entry   map[capture.Source][]byte // for Saved
	base    uint64
	mem     []byte
}

func (m *machine) Value(src capture.Source, b []byte) bool {
	v := m.sources[src]
	if src.Kind == capture.Saved {
		v = m.entry[m.saves[src.N]]
	}
	copy(b, v)
	return v != nil
}

func (m *machine) ReadAt(b []byte, addr int64) (int, error) {
	at := uint64(addr) - m.base
	if at >= uint64(len(m.mem)) {
		return 0, io.EOF
	}
	n := copy(b, m.mem[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// put puts bytes into memory and returns where.
func (m *machine) put(b []byte) uint64 {
	for len(m.mem)%16 != 0 {
		m.mem = append(m.mem, 0xee)
	}
	at := m.base + uint64(len(m.mem))
	m.mem = append(m.mem, b...)
	return at
}

func words(v ...uint64) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b
}

func gpr(n uint32) capture.Source  { return capture.Source{Kind: capture.GPR, N: n} }
func xmm(n uint32) capture.Source  { return capture.Source{Kind: capture.Vector, N: n} }
func onst(n uint32) capture.Source { return capture.Source{Kind: capture.Stack, N: n} }

func newMachine() *machine {
	return &machine{sources: map[capture.Source][]byte{}, base: 0x10000}
}

// parse makes the Intercept of a configuration.
func parse(t *testing.T, types, intercept string) *config.Intercept {
	t.Helper()
	text := `<AlleriaConfig version="1.0"><Types>` + types + `</Types><Window><Profile><Process><Thread><Image><Function name="f">` + intercept + `</Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`
	if types == "" {
		text = strings.Replace(text, "<Types></Types>", "", 1)
	}
	c, _, err := config.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c.Windows[0].Profile.Processes[0].Threads[0].Images[0].Functions[0].Intercept
}

// both captures a call at entry with one state of the machine and at return with another, and returns its text.
func both(t *testing.T, c *Compiler, cap *Capture, entry, exit *machine) string {
	t.Helper()
	sig := cap.Signature
	sig.Number, sig.Name = 1, "f"
	p := calls.NewPairer(map[uint32]*calls.Signature{1: &sig}, 1)
	var text string
	p.Ended = func(call *calls.Call) error {
		text = string(calls.Format{}.AppendCall(nil, call, c.Table))
		return nil
	}
	in, cut := capture.Run(entry, cap.Program.Entry, cap.Program.MaxBytes, nil)
	add := func(r calls.Record) {
		if err := p.Add(&r); err != nil {
			t.Fatal(err)
		}
	}
	add(calls.Record{Func: 1, TSC: 1, SP: 100, Ret: 5, Words: in, Cut: cut})
	exit.saves, exit.entry = cap.Program.Saves, entry.sources
	out, cut := capture.Run(exit, cap.Program.Exit, cap.Program.MaxBytes, nil)
	add(calls.Record{Exit: true, Func: 1, TSC: 2, SP: 100, Ret: 5, Words: out, Cut: cut})
	return text
}

// compile is Compile of an Intercept.
func compile(t *testing.T, ic *config.Intercept) (*Compiler, *Capture) {
	t.Helper()
	c := NewCompiler()
	cap, err := c.Compile(c.Configured(ic, nil))
	if err != nil {
		t.Fatal(err)
	}
	return c, cap
}

// TestListing2 is main of the paper.
func TestListing2(t *testing.T) {
	ic := parse(t, `<Pointer name="string" elementType="ascii" direction="inc" sentinel="0"/><Pointer name="strings" elementType="string" direction="inc" countVariable="argc"/>`,
		`<Intercept retType="s4"><Parameter name="argc" index="0" type="s4" in="true"/><Parameter name="argv" index="1" type="strings" in="true"/></Intercept>`)
	c, cap := compile(t, ic)
	m := newMachine()
	a, b := m.put([]byte("a\x00")), m.put([]byte("b\"\n\x00"))
	m.sources[gpr(7)], m.sources[gpr(6)] = words(4), words(m.put(words(a, b, 0, a)))
	m.sources[gpr(0)] = words(0xffffffffffffffff)
	if got, want := both(t, c, cap, m, m), `f(argc=4, argv={"a","b\"\n",NULL,"a"}) = -1`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestLengths has all five ways of giving a length, in both directions.
func TestLengths(t *testing.T) {
	types := `<Pointer name="pair" elementType="u2" direction="inc" count="2"/><Pointer name="back" elementType="u2" direction="dec" count="2"/>
<Pointer name="zero" elementType="u2" direction="inc" sentinel="0"/><Pointer name="zeroBack" elementType="u2" direction="dec" sentinel="0"/>
<Pointer name="seven" elementType="u2" direction="inc" sentinel="7"/><Pointer name="cut" elementType="u2" direction="inc" sentinel="7" maxBytes="7"/>
<Pointer name="cutBack" elementType="u2" direction="dec" sentinel="7" maxBytes="6"/><Pointer name="cutCount" elementType="u2" direction="inc" countVariable="n" maxBytes="4"/>
<Pointer name="counted" elementType="u2" direction="inc" countVariable="n"/><Pointer name="countedBack" elementType="u2" direction="dec" countVariable="n"/>
<Pointer name="toEnd" elementType="u2" endVariable="end" endValid="false"/><Pointer name="toLast" elementType="u2" endVariable="end" endValid="true"/>
<Pointer name="fromStart" elementType="u2" startVariable="start" endValid="false"/><Pointer name="fromLast" elementType="u2" startVariable="start" endValid="true"/>`
	m := newMachine()
	at := m.put([]byte{9, 0, 0, 0, 1, 0, 2, 0, 3, 0, 0, 0, 7, 0})
	for typ, want := range map[string]struct {
		ptr   uint64
		other uint64
		text  string
	}{
		"pair": {4, 0, "{1,2}"}, "back": {6, 0, "{1,2}"}, "zero": {4, 0, "{1,2,3,0}"}, "zeroBack": {8, 0, "{0,1,2,3}"},
		"seven": {4, 0, "{1,2,3,0,7}"}, "cut": {4, 0, "{1,2,3}..."}, "cutBack": {10, 0, "{2,3,0}..."}, "cutCount": {4, 3, "{1,2}..."},
		"counted": {4, 3, "{1,2,3}"}, "countedBack": {8, 2, "{2,3}"}, "toEnd": {4, 8, "{1,2}"}, "toLast": {4, 8, "{1,2,3}"},
		"fromStart": {8, 4, "{1,2}"}, "fromLast": {8, 4, "{1,2,3}"},
	} {
		var used, other string
		for _, line := range strings.Split(types, "/>") {
			if strings.Contains(line, `name="`+typ+`"`) {
				used = line + "/>"
			}
		}
		switch {
		case strings.Contains(used, `"n"`):
			other = `<Parameter name="n" index="1" type="s4" in="true"/>`
		case strings.Contains(used, `"end"`):
			other = `<Parameter name="end" index="1" type="ptr" in="true"/>`
		case strings.Contains(used, `"start"`):
			other = `<Parameter name="start" index="1" type="ptr" in="true"/>`
		}
		ic := parse(t, used, `<Intercept><Parameter name="p" index="0" type="`+typ+`" in="true" out="true"/>`+other+`</Intercept>`)
		c, cap := compile(t, ic)
		m.sources[gpr(7)] = words(at + want.ptr)
		m.sources[gpr(6)] = words(want.other)
		if !strings.Contains(used, `"n"`) {
			m.sources[gpr(6)] = words(at + want.other)
		}
		exit := &machine{sources: map[capture.Source][]byte{}, base: m.base, mem: m.mem} // registers are gone by then
		got := both(t, c, cap, m, exit)
		if !strings.Contains(got, "f(p="+want.text) || !strings.HasSuffix(got, "returned") {
			t.Errorf("%s: %s", typ, got)
		}
		exit.mem = append([]byte(nil), m.mem...)
		exit.mem[6] = 5 // the element of 2
		if got, text := both(t, c, cap, m, exit), strings.Replace(want.text, "2", "5", 1); !strings.HasSuffix(got, "returned, p="+text) {
			t.Errorf("%s: %s", typ, got)
		}
	}
}

// TestPlaces has arguments in all kinds of places.
func TestPlaces(t *testing.T) {
	types := `<Type name="two"><Field name="a" type="u8"/><Field name="b" type="f8"/></Type>
<Type name="floats"><Field name="x" type="f4"/><Field name="y" type="f4"/><Field name="z" type="f4"/></Type>
<Type name="big"><Field name="a" type="u8"/><Field name="b" type="u8"/><Field name="c" type="u8"/></Type>`
	ic := parse(t, types, `<Intercept retType="big"><Parameter name="i" index="0" type="s4" in="1"/><Parameter name="d" index="1" type="f8" in="1"/><Parameter name="t" index="2" type="two" in="1"/>
<Parameter name="v" index="3" type="floats" in="1"/><Parameter name="b" index="4" type="big" in="1"/><Parameter name="l" index="5" type="f10" in="1"/><Parameter name="j" index="6" type="u1" in="1"/>
<Parameter name="k" index="7" type="u8" in="1"/><Parameter name="m" index="8" type="u8" in="1"/><Parameter name="w" index="9" type="two" in="1"/></Intercept>`)
	c, cap := compile(t, ic)
	m := newMachine()
	f8 := func(f float64) []byte { return words(math.Float64bits(f)) }
	f4 := func(f ...float32) (b []byte) {
		for _, x := range f {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		return b
	}
	m.sources = map[capture.Source][]byte{
		// rdi is the address of the result.
		gpr(6): words(0xfffffffe), xmm(0): f8(1.5), gpr(2): words(11), xmm(1): f8(2.5), xmm(2): f4(1, 2), xmm(3): f4(3),
		onst(0): words(1, 2, 3), onst(32): append(words(0xc000000000000000), 0xff, 0x3f), // 1.5
		gpr(1): words(0x1234), gpr(8): words(5), gpr(9): words(6), onst(48): words(21, math.Float64bits(0.25)),
		gpr(0): words(m.put(words(7, 8, 9))),
	}
	want := `f(i=-2, d=1.5, t={a=11, b=2.5}, v={x=1, y=2, z=3}, b={a=1, b=2, c=3}, l=1.5, j=52, k=5, m=6, w={a=21, b=0.25}) = {a=7, b=8, c=9}`
	if got := both(t, c, cap, m, m); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestList follows a list that leads back to itself, with counts in the records.
func TestList(t *testing.T) {
	types := `<Type name="node"><Field name="n" type="u4"/><Field name="data" type="bytes"/><Field name="next" type="nodes"/></Type>
<Pointer name="bytes" elementType="u1" direction="inc" countVariable="n"/><Pointer name="nodes" elementType="node" count="1"/>`
	ic := parse(t, types, `<Intercept><Parameter name="p" index="0" type="nodes" in="1"/></Intercept>`)
	c, cap := compile(t, ic)
	m := newMachine()
	bytes := m.put([]byte{1, 2, 3})
	first := m.base + 48 // behind the second
	second := m.put(words(2, bytes, first))
	if got := m.put(words(3, bytes, second)); got != first {
		t.Fatalf("%#x", got)
	}
	m.sources[gpr(7)] = words(first)
	want := "f(p=&{n=3, data={1,2,3}, next=&{n=2, data={1,2,3}, next=0x10030 (seen)}}) returned"
	got := both(t, c, cap, m, m)
	// What was captured before is shown as it was: of the same address as many as then.
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	m.sources[gpr(7)] = words(0x999)
	if got, want := both(t, c, cap, m, m), "f(p=0x999 (unreadable)) returned"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestAlike: functions of the same parameters share what is captured of them, and no others.
func TestAlike(t *testing.T) {
	c := NewCompiler()
	word := c.named("long", calls.Signed, 8)
	text := c.text(autoString)
	base := func() *Prototype {
		return &Prototype{Args: []calls.TypeID{word, text}, Result: word, CaptureResult: true,
			Captures: []Wanted{{Name: "n", Type: word, In: true}, {Name: "s", Index: 1, Type: text, In: true}}}
	}
	compile := func(p *Prototype) *Capture {
		t.Helper()
		out, err := c.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	first := compile(base())
	if compile(base()) != first {
		t.Error("two that are alike are made twice")
	}
	for name, change := range map[string]func(p *Prototype){
		"name":            func(p *Prototype) { p.Captures[1].Name = "t" },
		"type":            func(p *Prototype) { p.Captures[0].Type = c.named("int", calls.Signed, 4) },
		"kind of another": func(p *Prototype) { p.Args[0] = c.named("double", calls.Float, 8) },
		"direction":       func(p *Prototype) { p.Captures[1].Out = true },
		"result":          func(p *Prototype) { p.CaptureResult = false },
		"result's type":   func(p *Prototype) { p.Result = text },
		"convention":      func(p *Prototype) { p.Go = true },
		"Windows":         func(p *Prototype) { p.Windows = true },
		"Rust":            func(p *Prototype) { p.Rust = 95 },
		"failing":         func(p *Prototype) { p.Fails = capture.Zero },
		"unplaced":        func(p *Prototype) { p.Unplaced = true },
		"compiler":        func(p *Prototype) { p.Clang = 14 },
		"vectors":         func(p *Prototype) { p.Widest = 16 },
		"bound":           func(p *Prototype) { p.MaxBytes = 8192 },
		"parameters":      func(p *Prototype) { p.Captures = p.Captures[:1] },
		"format":          func(p *Prototype) { p.Variadic, p.Format = true, true },
		"scopes":          func(p *Prototype) { p.Scopes = []Scope{{}} },
	} {
		p := base()
		change(p)
		if compile(p) == first {
			t.Errorf("another %s makes no difference", name)
		}
	}
	if c.Alone = true; compile(base()) == first {
		t.Error("it is shared though that is switched off")
	}
}

// TestManySaves: of a function with more pointers than words are kept until the return, what fits is captured, and the others are named.
func TestManySaves(t *testing.T) {
	c := NewCompiler()
	n := c.named("int", calls.Signed, 4)
	one := c.one(n, "")
	list := c.Table.Add(calls.Type{Kind: calls.Pointer, Name: "int *", Size: 8, Align: 8, Elem: n, Extent: calls.ExtentVariable, Variable: "n"})
	p := &Prototype{Result: n, CaptureResult: true, Args: []calls.TypeID{n}, Captures: []Wanted{{Name: "n", Type: n, In: true}}}
	add := func(name string, typ calls.TypeID) {
		p.Captures = append(p.Captures, Wanted{Name: name, Index: len(p.Args), Type: typ, In: true, Out: true})
		p.Args = append(p.Args, typ)
	}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		add(name, one)
	}
	add("list", list) // it and its length take two words of which one is left
	add("", list)
	add("h", one)
	add("i", one)
	out, err := c.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"list", "#9", "i"}; !slices.Equal(out.Left, want) {
		t.Errorf("left out are %q, not %q", out.Left, want)
	}
	if in, exit := len(out.Program.Entry), len(out.Program.Exit); in != 12 || exit != 9 || len(out.Program.Saves) != capture.MaxSaves || !out.Program.Returns {
		t.Errorf("%d values at entry, %d at return, %d words kept", in, exit, len(out.Program.Saves))
	}
	if again, err := c.Compile(p); err != nil || again != out {
		t.Error("another like it is made anew", err)
	}
}
