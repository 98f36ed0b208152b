package config

import (
	"slices"
	"strings"
	"testing"
)

// record is what an Instruction looks like that is told apart by its facts.
const (
	recordTime  = `<Instruction cat="any" timeStamp="1"/>`
	recordFunc  = `<Instruction cat="any" routineId="1"/>`
	recordAddr  = `<Instruction cat="any" accessAddressAndSize="1"/>`
	recordPlain = `<Instruction cat="any"/>`
)

// one returns the matcher of the thread 1 of process 1 for what stands in Thread.
func one(t *testing.T, inner string) *ThreadMatcher {
	t.Helper()
	th, _ := mustParse(t, profileText(`<Process><Thread>`+inner+`</Thread></Process>`)).Matcher().Match(1, 1)
	return th
}

func TestMatchProcessesAndThreads(t *testing.T) {
	image := `<Image><Function>` + recordPlain + `</Function></Image>`
	for _, c := range []struct {
		profile         string
		process, thread int
		want            Status
	}{
		{`<Process n="2"><Thread>` + image + `</Thread></Process>`, 1, 1, NotFollowed},
		{`<Process n="2"><Thread>` + image + `</Thread></Process>`, 2, 5, Records},
		{`<Process/><Process n="2"><Thread>` + image + `</Thread></Process>`, 1, 1, RecordsNothing},
		{`<Process><Thread>` + image + `</Thread></Process><Process n="2"/>`, 2, 1, RecordsNothing},
		{`<Process><Thread>` + image + `</Thread></Process><Process n="2"/>`, 3, 1, Records},
		{`<Process><Thread n="2">` + image + `</Thread></Process>`, 1, 1, RecordsNothing},
		{`<Process><Thread n="2">` + image + `</Thread></Process>`, 1, 2, Records},
		{`<Process><Thread n="2"><Image/></Thread><Thread>` + image + `</Thread></Process>`, 1, 2, RecordsNothing},
		{`<Process><Thread n="2"><Image/></Thread><Thread>` + image + `</Thread></Process>`, 1, 3, Records},
		{`<Process><Thread><Image/></Thread></Process>`, 1, 1, RecordsNothing},
		{`<Process><Thread syscalls="1"><Image/></Thread></Process>`, 1, 1, Records},
	} {
		m := mustParse(t, profileText(c.profile)).Matcher()
		th, got := m.Match(c.process, c.thread)
		if got != c.want || (th != nil) != (got == Records) || m.Follows(c.process) != (got != NotFollowed) {
			t.Errorf("%s\nprocess %d, thread %d: %v, want %v", c.profile, c.process, c.thread, got, c.want)
		}
	}
}

func TestMatchImages(t *testing.T) {
	fn := func(attrs, ins string) string {
		return `<Image ` + attrs + `><Function>` + ins + `</Function></Image>`
	}
	all := one(t, fn(``, recordPlain)+fn(`anyButSys="1"`, recordAddr)+fn(`main="1"`, recordFunc)+fn(`name="prog"`, recordTime)+`<Image path="/opt/prog"/>`)
	noAny := one(t, fn(`anyButSys="true"`, recordAddr))
	for _, c := range []struct {
		name string
		th   *ThreadMatcher
		key  ImageKey
		want Fields
	}{
		{"path excludes", all, ImageKey{Path: "/opt/prog", Name: "prog", Main: true}, 0},
		{"name before main", all, ImageKey{Path: "/bin/prog", Name: "prog", Main: true}, Recorded | TimeStamp},
		{"name from path", all, ImageKey{Path: "/bin/prog"}, Recorded | TimeStamp},
		{"main before anyButSys", all, ImageKey{Path: "/bin/other", Main: true}, Recorded | RoutineID},
		{"anyButSys before any", all, ImageKey{Path: "/opt/lib.so", Name: "lib.so"}, Recorded | AccessAddressAndSize},
		{"any takes the system's", all, ImageKey{Path: "/lib/libc.so.6", System: true}, Recorded},
		{"a system image by name", all, ImageKey{Path: "/usr/lib/prog", System: true}, Recorded | TimeStamp},
		{"any takes code in no image", all, ImageKey{}, Recorded},
		{"anyButSys does not", noAny, ImageKey{}, 0},
		{"nor the system's", noAny, ImageKey{Name: "[vdso]", System: true}, 0},
		{"names are compared exactly", one(t, fn(`name="Prog"`, recordPlain)), ImageKey{Path: "/bin/prog"}, 0},
	} {
		if got := c.th.Image(c.key).Function(FuncKey{}).Instruction(InsKey{}).Fields; got != c.want {
			t.Errorf("%s: %b, want %b", c.name, got, c.want)
		}
	}
}

// TestMatchFunctions gives each Function a register to be told apart by.
func TestMatchFunctions(t *testing.T) {
	fn := func(attrs, register string) string {
		return `<Function ` + attrs + `><Instruction cat="any" registers="` + register + `"/></Function>`
	}
	all := `<Image>` + fn(``, "rax") + fn(`name="ns::*"`, "rbx") + fn(`name="ns::f*"`, "rcx") + fn(`name="ns::foo"`, "rdx") +
		fn(`name="_Z*" decorated="1"`, "rsi") + fn(`name="_ZN2ns3fooEv" decorated="1"`, "rdi") + fn(`name="foo"`, "r8") +
		fn(`name="*oo"`, "r9") + fn(`name="gzip+0X01A0"`, "r10") + fn(`name="memcpy"`, "r11") + fn(`name="bar.cold"`, "r12") +
		fn(`name="bar"`, "r13") + `</Image>`
	plain := `<Image>` + fn(`name="ns::foo"`, "rax") + fn(`name="_ZN2ns3barEv"`, "rbx") + `</Image>`
	typed := `<Image>` + fn(`type="struct a *"`, "rax") + fn(`name="f" type="struct a  *"`, "rbx") + fn(`name="f"`, "rcx") + fn(`name="f*" type="int"`, "rdx") + fn(`name="fo*"`, "rsi") + `</Image>`
	has := func(types ...string) func(string) bool {
		return func(typ string) bool { return slices.Contains(types, typ) }
	}
	order := `<Image>` + fn(`name="a*"`, "rax") + fn(`name="*b"`, "rbx") + fn(`name="a**"`, "rcx") + `</Image>`
	for _, c := range []struct {
		image string
		key   FuncKey
		want  string
	}{
		{all, FuncKey{}, "rax"},
		{all, FuncKey{Linked: "other"}, "rax"},
		{all, FuncKey{Linked: "_ZN2ns3fooEv", Demangled: "ns::foo"}, "rdi"},
		{all, FuncKey{Linked: "_ZN2ns3fooEi", Demangled: "ns::foo"}, "rsi"},
		{all, FuncKey{Linked: "x", Demangled: "ns::foo"}, "rdx"},
		{all, FuncKey{Linked: "x", Demangled: "ns::fee"}, "rcx"},
		{all, FuncKey{Linked: "x", Demangled: "ns::goo"}, "rbx"},
		{all, FuncKey{Linked: "foo"}, "r8"},
		{all, FuncKey{Linked: "zoo"}, "r9"},
		{all, FuncKey{Linked: "gzip+0x1a0"}, "r10"},
		{all, FuncKey{Linked: "memcpy@@GLIBC_2.14"}, "r11"},
		{all, FuncKey{Linked: "memcpy@GLIBC_2.2.5"}, "r11"},
		{all, FuncKey{Linked: "memmove", Aliases: []FuncKey{{Linked: "memcpy"}}}, "r11"},
		{all, FuncKey{Linked: "memmove", Aliases: []FuncKey{{Linked: "_Zx"}, {Linked: "memcpy"}}}, "rsi"},
		{all, FuncKey{Linked: "foo.cold"}, "r8"},
		{all, FuncKey{Linked: "foo.part.0"}, "r8"},
		{all, FuncKey{Linked: "foo.constprop.12"}, "r8"},
		{all, FuncKey{Linked: "foo.isra.0.cold"}, "r8"},
		{all, FuncKey{Linked: "foo.isra.0.part.1"}, "r8"},
		{all, FuncKey{Linked: "foo.cold.3"}, "r8"},
		{all, FuncKey{Linked: "foo.part"}, "rax"},
		{all, FuncKey{Linked: "foo.bar"}, "rax"},
		{all, FuncKey{Linked: "bar.cold"}, "r12"},
		{all, FuncKey{Linked: "bar.part.0"}, "r13"},
		{all, FuncKey{Linked: "_ZN2ns3fooEv.cold", Demangled: "ns::foo [clone .cold]"}, "rdi"},
		{plain, FuncKey{Linked: "x", Demangled: "ns::foo [clone .isra.0] [clone .cold]"}, "rax"},
		{plain, FuncKey{Linked: "x", Demangled: "ns::foo [clone .other]"}, ""},
		{plain, FuncKey{Linked: "_ZN2ns3barEv", Demangled: "ns::bar"}, "rbx"},
		{plain, FuncKey{Linked: "_ZN2ns3fooEv", Demangled: "ns::quux"}, ""},
		{plain, FuncKey{}, ""},
		{typed, FuncKey{Linked: "f", HasParam: has("struct a *")}, "rbx"},
		{typed, FuncKey{Linked: "g", HasParam: has("struct a *")}, "rax"},
		{typed, FuncKey{Linked: "f", HasParam: has("int")}, "rcx"},
		{typed, FuncKey{Linked: "foo", HasParam: has("int")}, "rdx"},
		{typed, FuncKey{Linked: "foo", HasParam: has("char")}, "rsi"},
		{typed, FuncKey{Linked: "f"}, "rcx"},
		{typed, FuncKey{Linked: "g"}, ""},
		{typed, FuncKey{}, ""},
		{order, FuncKey{Linked: "ab"}, "rax"},
		{order, FuncKey{Linked: "bb"}, "rbx"},
	} {
		got := one(t, c.image).Image(ImageKey{}).Function(c.key).Instruction(InsKey{}).Registers
		if strings.Join(got, ",") != c.want {
			t.Errorf("%+v: %v, want %q", c.key, got, c.want)
		}
	}
}

func TestMatchFunctionExclusion(t *testing.T) {
	im := one(t, `<Image><Function>`+recordPlain+`</Function><Function name="f"/></Image>`).Image(ImageKey{})
	if im.Function(FuncKey{Linked: "f"}) != nil {
		t.Error("a Function without Instruction and Intercept does not exclude")
	}
	if im.Function(FuncKey{Linked: "g"}) == nil {
		t.Error("another function is excluded")
	}
	if _, ok := im.Uniform(); ok {
		t.Error("functions differ, yet the image is uniform")
	}
	if f, ok := one(t, `<Image><Function>`+recordPlain+`</Function></Image>`).Image(ImageKey{}).Uniform(); !ok || f == nil {
		t.Error("all functions are alike, yet the image is not uniform")
	}
}

func TestMatchInstructions(t *testing.T) {
	ins := func(sel, register string) string { return `<Instruction ` + sel + ` registers="` + register + `"/>` }
	f := one(t, `<Image><Function>`+ins(`cat="any"`, "rax")+ins(`cat="anyMem"`, "rbx")+ins(`cat="LOGICAL"`, "rcx")+
		ins(`ext="SSE2"`, "rdx")+ins(`isa="SSE2MMX"`, "rsi")+ins(`class="PXOR"`, "rdi")+ins(`form="PXOR_XMMdq_MEMdq"`, "r8")+
		`</Function></Image>`).Image(ImageKey{}).Function(FuncKey{})
	key := InsKey{"PXOR_XMMdq_MEMdq", "PXOR", "SSE2MMX", "SSE2", "LOGICAL", true}
	// Take the most specific away, one after the other.
	for _, c := range []struct {
		forget func()
		want   string
	}{
		{func() {}, "r8"},
		{func() { key.Form = "" }, "rdi"},
		{func() { key.Class = "POR" }, "rsi"},
		{func() { key.ISA = "SSE2" }, "rdx"},
		{func() { key.Ext = "AVX" }, "rcx"},
		{func() { key.Cat = "BINARY" }, "rbx"},
		{func() { key.Memory = false }, "rax"},
	} {
		c.forget()
		if got := f.Instruction(key); strings.Join(got.Registers, ",") != c.want || got.Fields != Recorded {
			t.Errorf("%+v: %+v, want %s", key, got, c.want)
		}
	}
}

func TestMatchUnion(t *testing.T) {
	window := func(process, ins string) string {
		return `<Window><Profile><Process` + process + `><Thread><Image><Function>` + ins + `</Function></Image></Thread></Process></Profile></Window>`
	}
	c := mustParse(t, `<AlleriaConfig version="1.0">`+
		window(``, `<Instruction cat="anyMem" timeStamp="1" registers="rax,rbx" sample="1/10"/>`)+
		window(``, `<Instruction cat="any" branch="1" registers="rbx,rcx" sample="1/4"/>`)+
		window(` n="2"`, `<Instruction cat="any" accessValue="1"/>`)+`</AlleriaConfig>`)
	ask := func(process int, memory bool) Selection {
		th, _ := c.Matcher().Match(process, 1)
		return th.Image(ImageKey{}).Function(FuncKey{}).Instruction(InsKey{Memory: memory})
	}
	if got := ask(1, true); got.Fields != Recorded|TimeStamp|Branch || got.Sample != 4 || !slices.Equal(got.Registers, []string{"rax", "rbx", "rcx"}) {
		t.Errorf("two windows: %+v", got)
	}
	if got := ask(1, false); got.Fields != Recorded|Branch || got.Sample != 4 {
		t.Errorf("one of two windows: %+v", got)
	}
	if got := ask(2, true); got.Fields != Recorded|TimeStamp|Branch|AccessAddressAndSize|AccessValue || got.Sample != 0 {
		t.Errorf("three windows, one of which keeps all: %+v", got)
	}
	// Asking must not have changed what the first window is compiled to.
	if got := ask(1, true).Registers; len(got) != 3 {
		t.Errorf("the union stuck: %v", got)
	}
}

func TestEventMatching(t *testing.T) {
	event := func(text string) *Event {
		return mustParse(t, windowText("", `<On>`+text+`</On>`)).Windows[0].On
	}
	call := event(`<Call name="foo" imageName="libx.so"/>`)
	for _, c := range []struct {
		key  FuncKey
		want bool
	}{
		{FuncKey{Linked: "foo"}, true},
		{FuncKey{Linked: "foo@@V1"}, true},
		{FuncKey{Linked: "_Z3foov", Demangled: "foo"}, true},
		{FuncKey{Linked: "bar", Aliases: []FuncKey{{Linked: "foo"}}}, true},
		{FuncKey{Linked: "foo.cold"}, false},
		{FuncKey{Linked: "food"}, false},
		{FuncKey{}, false},
	} {
		if got := call.MatchesFunction(c.key); got != c.want {
			t.Errorf("%+v: %t", c.key, got)
		}
	}
	if !event(`<Return name="_Z3foov"/>`).MatchesFunction(FuncKey{Linked: "_Z3foov", Demangled: "foo"}) {
		t.Error("a plain name that equals the symbol as linked does not match")
	}
	if event(`<Return name="foo" decorated="1"/>`).MatchesFunction(FuncKey{Linked: "_Z3foov", Demangled: "foo"}) {
		t.Error("a decorated name matches the demangled one")
	}
	if !event(`<Call name="gzip+0x0A0"/>`).MatchesFunction(FuncKey{Linked: "gzip+0xa0"}) {
		t.Error("an offset is compared as text")
	}
	if !event(`<Call name="f*"/>`).MatchesFunction(FuncKey{Linked: "foo"}) {
		t.Error("a wildcard does not match")
	}
	lib, main := ImageKey{Path: "/opt/libx.so"}, ImageKey{Path: "/bin/prog", Main: true}
	if !call.MatchesImage(lib) || call.MatchesImage(main) {
		t.Error("imageName")
	}
	if e := event(`<Load path="/opt/libx.so"/>`); !e.MatchesImage(lib) || e.MatchesImage(ImageKey{Path: "/usr/libx.so"}) || e.MatchesImage(ImageKey{}) {
		t.Error("path")
	}
	if e := event(`<Address image="prog" offset="0"/>`); !e.MatchesImage(main) || e.MatchesImage(lib) {
		t.Error("image of an address")
	}
	if event(`<Time threshold="1"/>`).MatchesImage(main) || event(`<Time threshold="1"/>`).MatchesFunction(FuncKey{Linked: "foo"}) {
		t.Error("a time matches an image")
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"*", "", true}, {"*", "x", true}, {"a*", "a", true}, {"a*b", "ab", true}, {"a*b", "axxb", true}, {"a*b", "axbc", false},
		{"*a*b*", "xaybz", true}, {"*a*b*", "ba", false}, {"a", "a", true}, {"a", "b", false}, {"", "", true}, {"", "a", false},
		{"operator*", "operator*", true}, {"*aab", "aaab", true}, {"a*a*a*a*b", strings.Repeat("a", 2000), false},
	} {
		if got := globMatch(c.pattern, c.s); got != c.want {
			t.Errorf("%q, %.20q: %t", c.pattern, c.s, got)
		}
	}
}

// TestNilMatchers asks what was answered with nothing.
func TestNilMatchers(t *testing.T) {
	var th *ThreadMatcher
	f := th.Image(ImageKey{}).Function(FuncKey{})
	if f.Instruction(InsKey{}).Fields != 0 || f.Intercepts() != nil || f.Instructions() {
		t.Error("nothing records something")
	}
	if got, status := NewMatcher().Match(1, 1); got != nil || status != NotFollowed {
		t.Errorf("a matcher of no profiles: %v", status)
	}
}

// TestMatchAllocatesNothing holds for one open window, the usual case.
func TestMatchAllocatesNothing(t *testing.T) {
	m := mustParse(t, profileText(`<Process><Thread><Image main="1"><Function name="x*"/><Function name="f"><Instruction class="MOV"/>`+
		`<Instruction cat="anyMem"/></Function></Image></Thread></Process>`)).Matcher()
	p := m.Genesis(&ProcessFacts{Number: 1})
	n := testing.AllocsPerRun(100, func() {
		th, _ := p.Thread(1, nil)
		f := th.Image(ImageKey{Path: "/bin/p", Main: true}).Function(FuncKey{Linked: "f.cold"})
		if f.Instruction(InsKey{Class: "MOV"}).Fields != Recorded {
			t.Fatal("not recorded")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkInstruction(b *testing.B) {
	th, _ := mustParse(b, profileText(`<Process><Thread><Image><Function><Instruction class="MOV"/><Instruction cat="anyMem"/>`+
		`</Function></Image></Thread></Process>`)).Matcher().Match(1, 1)
	f := th.Image(ImageKey{}).Function(FuncKey{})
	for b.Loop() {
		f.Instruction(InsKey{Class: "ADD", Memory: true})
	}
}

// TestMatchByMemory compares matchers that say that memory alone decides with what they say of instructions that differ in everything else.
func TestMatchByMemory(t *testing.T) {
	for inner, want := range map[string]bool{
		`<Instruction cat="anyMem"/>`: true,
		`<Instruction cat="any"/>`:    true,
		`<Instruction cat="any"/><Instruction cat="anyMem" timeStamp="true"/>`: true,
		`<Instruction class="MOV"/><Instruction cat="anyMem"/>`:                false,
		`<Instruction isa="SSE2"/>`:                                            false,
	} {
		th, _ := mustParse(t, profileText(`<Process><Thread><Image><Function>`+inner+`</Function></Image></Thread></Process>`)).Matcher().Match(1, 1)
		f := th.Image(ImageKey{}).Function(FuncKey{})
		if f.ByMemory() != want {
			t.Errorf("%s: %v", inner, !want)
		}
		for _, mem := range []bool{false, true} {
			one := f.Instruction(InsKey{Memory: mem})
			other := f.Instruction(InsKey{Form: "MOV_GPRv_MEMv", Class: "MOV", ISA: "SSE2", Ext: "SSE2", Cat: "DATAXFER", Memory: mem})
			if want && (one.Fields != other.Fields || one.Sample != other.Sample) {
				t.Errorf("%s, memory %v: %+v and %+v", inner, mem, one, other)
			}
		}
	}
	if !(*FunctionMatcher)(nil).ByMemory() {
		t.Error("nothing is selected, by whatever")
	}
}
