package against

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"alleria/config"
	"alleria/engine/x86"
	"alleria/internal/against/codec"
)

// fixture is the program that tests look at.
var fixture = codec.New("testdata/build.sh")

func TestMain(m *testing.M) {
	code := m.Run()
	fixture.Remove()
	os.Exit(code)
}

// windowFile writes a configuration of one window from what stands in the window
// before Profile and in its Thread.
func windowFile(t *testing.T, events, images string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "w.xml")
	text := `<AlleriaConfig version="1.0"><Window name="w">` + events + "\n<Profile><Process><Thread>\n" + images +
		"\n</Thread></Process></Profile></Window></AlleriaConfig>"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// anyOf selects all instructions of functions of the main executable.
func anyOf(functions ...string) string {
	s := `<Image main="true">`
	for _, f := range functions {
		s += `<Function name="` + f + `"><Instruction cat="any" timeStamp="true"/></Function>`
	}
	return s + `</Image>`
}

// compareWith loads a configuration and compares it with a program.
func compareWith(t *testing.T, program, file string) ([]config.Warning, *Estimate) {
	t.Helper()
	target, err := Open(program, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	c, _, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return target.Compare(c)
}

var objdumpLine = regexp.MustCompile(`^\s+[0-9a-f]+:\t`)

// objdumpCount counts a function's instructions with a disassembler that is not
// ours.
func objdumpCount(t *testing.T, program, symbol string) (n int) {
	t.Helper()
	out, err := exec.Command("objdump", "-d", "--no-show-raw-insn", "--disassemble="+symbol, program).Output()
	if err != nil {
		t.Skipf("objdump: %v", err)
	}
	for _, line := range strings.Split(string(out), "\n") {
		if objdumpLine.MatchString(line) {
			n++
		}
	}
	return n
}

func TestEstimateAgainstObjdump(t *testing.T) {
	program := fixture.Program(t)
	for name, c := range map[string]struct {
		functions []string
		symbols   []string
	}{
		"method with its overload": {[]string{"codec::Encoder::encode"}, []string{"_ZN5codec7Encoder6encodeEPKhm", "_ZN5codec7Encoder6encodeEi"}},
		"as linked":                {[]string{"_ZN5codec7Encoder6encodeEi"}, []string{"_ZN5codec7Encoder6encodeEi"}},
		"instances of a template":  {[]string{"codec::twice*"}, []string{"_ZN5codec5twiceIiEET_S1_", "_ZN5codec5twiceIlEET_S1_"}},
		"two functions":            {[]string{"main", "codec::Encoder::*"}, []string{"main", "_ZN5codec7Encoder6encodeEPKhm", "_ZN5codec7Encoder6encodeEi"}},
	} {
		t.Run(name, func(t *testing.T) {
			want := 0
			for _, s := range c.symbols {
				want += objdumpCount(t, program, s)
			}
			list, e := compareWith(t, program, windowFile(t, "", anyOf(c.functions...)))
			if len(list) > 0 {
				t.Errorf("warnings: %v", list)
			}
			s := e.Windows[0].Selections[0]
			if s.Total.Functions != len(c.symbols) || s.Total.Instructions != want || want == 0 || s.Fields["timeStamp"] != want {
				t.Errorf("%d functions, %d instructions, %v; want %d and %d", s.Total.Functions, s.Total.Instructions, s.Fields, len(c.symbols), want)
			}
			if s.Total.InstructionsOf != e.Instructions || s.Total.FunctionsOf != e.Functions || e.Images != len(s.Images) {
				t.Errorf("the whole is not the same everywhere: %+v", e)
			}
		})
	}
}

// TestEstimateOfWindows has selections that exclude each other.
func TestEstimateOfWindows(t *testing.T) {
	program := fixture.Program(t)
	file := windowFile(t, "", `<Image main="true"/><Image name="libhelper.so.1.2"><Function><Instruction cat="anyMem" accessValue="true"/></Function></Image>`+
		`<Image name="libc.so.6"><Function name="write"><Intercept retType="s8"/></Function></Image></Thread><Thread n="2"><Image/>`)
	list, e := compareWith(t, program, file)
	if len(list) > 0 {
		t.Errorf("%+v", list)
	}
	all, second := e.Windows[0].Selections[0], e.Windows[0].Selections[1]
	if second.Thread != 2 || second.Total.Functions != 0 {
		t.Errorf("thread 2: %+v", second)
	}
	if all.Images[0].Functions != 0 || all.Intercepted != 1 || all.Accesses < 3 || all.Total.Instructions < 3 ||
		all.Fields["accessValue"] != all.Total.Instructions || all.Fields["accessAddressAndSize"] != all.Total.Instructions {
		t.Errorf("thread 1: %+v", all)
	}
}

// TestNamesAgainst pairs each mistake in a name with the advice; none for what is
// right.
func TestNamesAgainst(t *testing.T) {
	program := fixture.Program(t)
	target, err := Open(program, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	on := func(event string) string { return windowFile(t, "<On>"+event+"</On>", anyOf("main")) }
	image := func(s string) string { return windowFile(t, "", s) }
	const ins = `<Instruction cat="any"/>`
	for name, c := range map[string]struct{ file, what, right string }{
		"right":                  {on(`<Call name="codec::Encoder::encode"/>`), "", ""},
		"right as linked":        {on(`<Return name="_ZN5codec7Encoder6encodeEi" decorated="true"/>`), "", ""},
		"right in a library":     {on(`<Call name="helper_sum" imageName="libhelper.so.1.2"/>`), "", ""},
		"right by path":          {on(`<Call name="helper_sum" imagePath="` + filepath.Dir(program) + `/libhelper.so.1.2"/>`), "", ""},
		"a letter is missing":    {on(`<Call name="codec::Encoder::encod"/>`), `no function "codec::Encoder::encod" in codec`, "codec::Encoder::encode"},
		"its namespace":          {on(`<Return name="encode"/>`), `no function "encode"`, "codec::Encoder::encode"},
		"of a library":           {on(`<Call name="helper_sum"/>`), `no function "helper_sum" in codec`, `libhelper.so.1.2 has it: add imageName="libhelper.so.1.2"`},
		"of a library, selected": {image(anyOf("helper_sum")), `no function "helper_sum" in codec`, `select it in an Image with name="libhelper.so.1.2"`},
		"a link":                 {image(`<Image name="libhelper.so.1"><Function>` + ins + `</Function></Image>`), "", ""},
		"a link's path":          {image(`<Image path="` + filepath.Dir(program) + `/libhelper.so.1"><Function>` + ins + `</Function></Image>`), "", ""},
		"a letter of an image":   {on(`<Load name="libhelpre.so.1.2"/>`), `does not map an image "libhelpre.so.1.2"`, `the nearest is "libhelper.so.1.2"`},
		"another image":          {on(`<Load name="plugin.so"/>`), `an image "plugin.so"`, "it maps codec, "},
		"an address that is far": {on(`<Address image="codec" offset="0x7000000"/>`), "codec has no code at 0x7000000", "its code is at 0x"},
		"no such class":          {image(`<Image main="true"><Function name="main"><Instruction class="MOVE"/></Function></Image>`), `class="MOVE"`, `"MOV`},
		"no such form":           {image(`<Image main="true"><Function><Instruction form="PUSH_GPR64"/></Function></Image>`), `form="PUSH_GPR64"`, `"PUSH_GPRv"`},
		"a category elsewhere":   {image(`<Image main="true"><Function name="main"><Instruction cat="AVX512"/></Function></Image>`), `cat="AVX512"`, "none is like it"},
	} {
		loaded, _, err := config.Load(c.file)
		if err != nil {
			t.Fatal(err)
		}
		warnings, _ := target.Compare(loaded)
		if c.what == "" {
			if len(warnings) > 0 {
				t.Errorf("%s: %+v", name, warnings)
			}
			continue
		}
		if len(warnings) != 1 || !strings.Contains(warnings[0].What, c.what) || !strings.Contains(warnings[0].Right, c.right) || warnings[0].Line == 0 {
			t.Errorf("%s: %+v, want %q and %q", name, warnings, c.what, c.right)
		}
	}
}

// TestAddressInsideInstruction finds an instruction of more than a byte in the
// fixture and names its second byte.
func TestAddressInsideInstruction(t *testing.T) {
	program := fixture.Program(t)
	target, err := Open(program, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	im := target.Program()
	f := im.Find("main", false)[0]
	var second x86.Insn
	walk(im.Image, f.Addr, f.Addr+f.Size, func(in *x86.Insn) bool {
		second = *in
		return in.Addr == f.Addr || in.Len == 1
	})
	for offset, want := range map[uint64]string{second.Addr: "", second.Addr + 1: "no instruction of codec begins at"} {
		c, _, err := config.OneOff(config.OneOffOptions{OnCall: "main"})
		if err != nil {
			t.Fatal(err)
		}
		c.Windows[0].On = &config.Event{Kind: config.EventAddress, Image: "codec", Offset: offset}
		got := target.CheckNames(c)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0].What, want)) {
			t.Errorf("%#x: %v, want %q", offset, got, want)
		}
	}
}

// TestFormsOfAProgramAreKnown holds the decoder's names of forms against the
// configuration's idea of them, which cannot import each other.
func TestFormsOfAProgramAreKnown(t *testing.T) {
	target, err := Open(codec.Installed(t, "/bin/gzip"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	var b strings.Builder
	for _, k := range target.takeInventory(true).kinds {
		b.WriteString(`<Function name="f` + k.key.Form + `"><Instruction form="` + k.key.Form + `"/></Function>`)
	}
	c, warnings, err := config.Parse("forms", []byte(`<AlleriaConfig version="1.0"><Window><Profile><Process><Thread><Image>`+dedupe(b.String())+
		`</Image></Thread></Process></Profile></Window></AlleriaConfig>`))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(c.Windows[0].Profile.Processes[0].Threads[0].Images[0].Functions); n < 300 || len(warnings) > 0 {
		t.Errorf("%d forms, %v", n, warnings)
	}
}

// dedupe leaves one of each Function: kinds differ in more than their form.
func dedupe(s string) string {
	seen := map[string]bool{}
	var out strings.Builder
	for _, f := range strings.SplitAfter(s, "</Function>") {
		if !seen[f] {
			seen[f] = true
			out.WriteString(f)
		}
	}
	return out.String()
}
