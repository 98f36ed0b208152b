package config

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// mustParse parses a text that is right, warnings or not.
func mustParse(t testing.TB, text string) *Config {
	t.Helper()
	c, _, err := Parse("f", []byte(text))
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	return c
}

// profileText wraps what stands in a Profile.
func profileText(inner string) string {
	return `<AlleriaConfig version="1.0"><Window><Profile>` + inner + `</Profile></Window></AlleriaConfig>`
}

// windowText wraps events in a window that records nothing.
func windowText(attrs, events string) string {
	return `<AlleriaConfig version="1.0"><Window ` + attrs + `>` + events + `<Profile><Process/></Profile></Window></AlleriaConfig>`
}

func TestExamplesLoad(t *testing.T) {
	for _, file := range exampleFiles(t) {
		c, warns, err := Load(file)
		if err != nil || len(warns) > 0 {
			t.Errorf("%s: %v %v", file, err, warns)
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(data, []byte("<!-- ")) {
			t.Errorf("%s does not begin by saying what it shows", file)
		}
		if len(c.Windows) == 0 {
			t.Errorf("%s has no window", file)
		}
	}
}

// TestListing1 holds the paper's first listing against what its text says of it.
func TestListing1(t *testing.T) {
	c, _, err := Load("../examples/listing1.xml")
	if err != nil {
		t.Fatal(err)
	}
	w := c.Windows[0]
	if w.On.Kind != EventCall || w.On.Name != "main" || w.Till.Kind != EventReturn || w.Till.Name != "main" {
		t.Errorf("events: %+v, %+v", w.On, w.Till)
	}
	main := ImageKey{Path: "/bin/prog", Name: "prog", Main: true}
	if !w.On.MatchesImage(main) || w.On.MatchesImage(ImageKey{Path: "/lib/libc.so.6", Name: "libc.so.6", System: true}) {
		t.Error("without an image, the main executable is meant")
	}
	for _, process := range []int{1, 7} {
		th, status := c.Matcher().Match(process, 3)
		if status != Records {
			t.Fatalf("process %d: %v", process, status)
		}
		f := th.Image(main).Function(FuncKey{Linked: "helper"})
		want := Recorded | RoutineID | TimeStamp | AccessAddressAndSize | AccessValue
		if got := f.Instruction(InsKey{Class: "MOV", Cat: "DATAXFER", Memory: true}).Fields; got != want {
			t.Errorf("an access is recorded with %b, not %b", got, want)
		}
		if got := f.Instruction(InsKey{Class: "ADD", Cat: "BINARY"}).Fields; got != 0 {
			t.Errorf("an addition of registers is recorded with %b", got)
		}
		if th.Image(ImageKey{Path: "/lib/libc.so.6", System: true}) != nil {
			t.Error("code outside the main executable is recorded")
		}
	}
}

// TestListing2 holds the second listing against what its text says.
func TestListing2(t *testing.T) {
	c, _, err := Load("../examples/listing2.xml")
	if err != nil {
		t.Fatal(err)
	}
	th, _ := c.Matcher().Match(1, 1)
	f := th.Image(ImageKey{Path: "/bin/prog", Main: true}).Function(FuncKey{Linked: "main"})
	if f.Instructions() || f.Instruction(InsKey{Memory: true}).Fields != 0 {
		t.Error("instructions are recorded")
	}
	if len(f.Intercepts()) != 1 {
		t.Fatalf("%d interceptors", len(f.Intercepts()))
	}
	ic := f.Intercepts()[0]
	if ic.RetType.Builtin != S4 || len(ic.Parameters) != 2 {
		t.Fatalf("%+v", ic)
	}
	argc, argv := ic.Parameters[0], ic.Parameters[1]
	if argc.Name != "argc" || argc.Index != 0 || argc.Type.Builtin != S4 || !argc.In || argc.Out {
		t.Errorf("argc: %+v", argc)
	}
	p := argv.Type.Pointer
	if argv.Index != 1 || p == nil || p.Length != LengthVariable || p.Variable != "argc" || p.Dec {
		t.Fatalf("argv: %+v", argv)
	}
	if s := p.Element.Pointer; s == nil || s.Length != LengthSentinel || s.Sentinel != 0 || s.Element.Builtin != ASCII {
		t.Errorf("a string: %+v", p.Element.Pointer)
	}
}

func TestDefaultRecordsEveryAccess(t *testing.T) {
	th, status := Default().Matcher().Match(9, 9)
	if status != Records {
		t.Fatal(status)
	}
	got := th.Image(ImageKey{}).Function(FuncKey{}).Instruction(InsKey{Memory: true}).Fields
	if want := Recorded | TimeStamp | RoutineID | AccessAddressAndSize | AccessValue; got != want {
		t.Errorf("%b, want %b", got, want)
	}
	if th.Image(ImageKey{}).Function(FuncKey{}).Instruction(InsKey{}).Fields != 0 {
		t.Error("an instruction without access is recorded")
	}
	if len(Default().Unsupported()) > 0 {
		t.Errorf("record refuses the default: %v", Default().Unsupported())
	}
}

func TestEventAttributes(t *testing.T) {
	base := mustParse(t, readBase(t)).Windows[0].On
	want := []Event{
		{Kind: EventCreation, Process: 1, Thread: 2},
		{Kind: EventTermination, Process: 1},
		{Kind: EventOne},
		{Kind: EventCall, Name: "main", Threshold: 3, ImageName: "prog"},
		{Kind: EventThreads, SmallerEqual: 4, LargerEqual: 2},
		{Kind: EventAccesses, AccessBounds: AccessBounds{Reads: 10_000, Writes: 5}},
		{Kind: EventInstructions, Threshold: 1e9, AnyThread: true},
		{Kind: EventTime, After: 250 * time.Microsecond},
		{Kind: EventSyscall, Name: "openat", Threshold: 2},
		{Kind: EventAddress, Image: "prog", Offset: 0x1040},
		{Kind: EventSignal, Number: 10},
		{Kind: EventExec, Number: 2},
		{Kind: EventFork},
	}
	if len(base.Children) != len(want) {
		t.Fatalf("%d events", len(base.Children))
	}
	for i, e := range base.Children {
		got := *e
		if got.Line != 20+i && i < 2 {
			t.Errorf("%v stands in line %d", e.Kind, got.Line)
		}
		got.Pos, got.Children = Pos{}, nil
		if !reflect.DeepEqual(got, want[i]) {
			t.Errorf("event %d:\ngot  %+v\nwant %+v", i, got, want[i])
		}
	}
	one := base.Children[2]
	if len(one.Children) != 2 || one.Children[0].Path != "/usr/lib/libz.so.1" || one.Children[1].Name != "libz.so.1" {
		t.Errorf("One: %+v", one.Children)
	}
	n := 0
	base.Walk(func(*Event) { n++ })
	if n != 16 {
		t.Errorf("Walk met %d events", n)
	}
}

// TestOldFiles loads what the published profiler accepts and this language
// might be thought not to.
func TestOldFiles(t *testing.T) {
	for name, text := range map[string]string{
		"zero means any":               windowText("", `<On><Call name="f" process="0" thread="0" threshold="0"/></On>`),
		"zero bounds":                  windowText("", `<On><Accesses total="0" reads="5" writes="0"/></On>`),
		"thread n=0":                   profileText(`<Process n="0"><Thread n="0"><Image/></Thread></Process>`),
		"false selectors":              profileText(`<Process><Thread><Image name="a" main="false" anyButSys="0"/><Image main="false"/></Thread></Process>`),
		"Intercept before Instruction": profileText(`<Process><Thread><Image><Function><Intercept/><Instruction cat="any"/></Function></Image></Thread></Process>`),
		"white space in values":        windowText(`reopenable=" true "`, `<On><Instructions threshold=" 5"/></On><Till><Time threshold="5 "/></Till>`),
		"empty Types":                  `<AlleriaConfig version="1.0"><Types/><Window><Profile><Process/></Profile></Window></AlleriaConfig>`,
		"a byte order mark":            "\xef\xbb\xbf" + profileText(`<Process/>`),
		"another encoding, all ASCII":  `<?xml version="1.0" encoding="ISO-8859-1"?>` + profileText(`<Process/>`),
		"line ends of Windows":         strings.ReplaceAll(profileText("\n<Process/>\n"), "\n", "\r\n"),
	} {
		if _, _, err := Parse("f", []byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPositions checks the columns behind characters of several bytes, tabs and
// line ends of Windows.
func TestPositions(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"<AlleriaConfig version=\"1.0\">\r\n<Window name=\"größe – 窗口\" x='1'/></AlleriaConfig>", "f:2:27: Window has no attribute x"},
		{"<AlleriaConfig version=\"1.0\">\n\t\t<Window/></AlleriaConfig>", "f:2:3: Window holds no Profile"},
		{"\xef\xbb\xbf<AlleriaConfig/>", "f:1:1: AlleriaConfig lacks"},
		{"<AlleriaConfig\n  version = \n '1.0'\n  y\t=\t\"2\"><Window><Profile><Process/></Profile></Window></AlleriaConfig>", "f:4:3: AlleriaConfig has no attribute y"},
		{"", "f:1:1: the file holds no element"},
		{"  \n", "f:1:1: the file holds no element"},
		{"plain text", `f:1:1: the text "plain"`},
	} {
		_, _, err := Parse("f", []byte(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) && !strings.Contains(err.Error(), "\n"+c.want) {
			t.Errorf("%q:\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestLimits(t *testing.T) {
	deep := windowText("", "<On>"+strings.Repeat("<All>", 1_000_000)+strings.Repeat("</All>", 1_000_000)+"</On>")
	if _, _, err := Parse("f", []byte(deep)); err == nil || !strings.Contains(err.Error(), "nested") {
		t.Errorf("a million nested events: %.200v", err)
	}
	if _, _, err := Parse("f", make([]byte, maxBytes+1)); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a large file: %.200v", err)
	}
	if _, _, err := Parse("f", []byte("\xff\xfe<\x00a")); err == nil || !strings.Contains(err.Error(), "UTF-16") {
		t.Errorf("half a character: %v", err)
	}
	if _, _, err := Parse("f", []byte("<?xml version='1.0' encoding='ebcdic-xy'?><a b='\xe4'/>")); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("an encoding that is not known: %v", err)
	}
}

// TestEncodings: files in the encodings of old editors read as in UTF-8, and so do their places.
func TestEncodings(t *testing.T) {
	body := `<AlleriaConfig version="1.0"><!-- für --><Window name="größer"><Profile><Process/></Profile><Wrong/></Window></AlleriaConfig>`
	_, _, want := Parse("f", []byte(body))
	wide := func(order binary.AppendByteOrder, text string) (out []byte) {
		for _, u := range utf16.Encode([]rune(text)) {
			out = order.AppendUint16(out, u)
		}
		return out
	}
	latin := func(text string) (out []byte) {
		for _, r := range text {
			out = append(out, byte(r))
		}
		return out
	}
	head := func(label string) string { return `<?xml version="1.0" encoding="` + label + `"?>` + "\n" }
	_, _, wantHead := Parse("f", []byte(head("UTF-8")+body))
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"UTF-16, little":      {wide(binary.LittleEndian, "\ufeff"+body), want},
		"UTF-16, big":         {wide(binary.BigEndian, "\ufeff"+body), want},
		"UTF-16 without mark": {wide(binary.LittleEndian, head("UTF-16")+body), wantHead},
		"UTF-16, declared":    {wide(binary.BigEndian, "\ufeff"+head("utf-16")+body), wantHead},
		"Latin-1":             {latin(head("ISO-8859-1") + body), wantHead},
		"Windows":             {latin(head("windows-1252") + body), wantHead},
		"UTF-8 with mark":     {[]byte("\xef\xbb\xbf" + body), want},
	} {
		if _, _, err := Parse("f", c.data); err == nil || c.want == nil || err.Error() != c.want.Error() {
			t.Errorf("%s: %v, in UTF-8 %v", name, err, c.want)
		}
	}
	right := strings.Replace(body, "<Wrong/>", "", 1)
	cfg, _, err := Parse("f", latin(head("ISO-8859-1")+right))
	if err != nil || cfg.Windows[0].Name != "größer" {
		t.Errorf("Latin-1: %v", err)
	}
}

func TestLoadAndFind(t *testing.T) {
	work, out := t.TempDir(), t.TempDir()
	if got := Find("", work, out); got != "" {
		t.Errorf("found %q where there is nothing", got)
	}
	put := func(dir string) string {
		path := filepath.Join(dir, DefaultName)
		if err := os.WriteFile(path, Default().XML(), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	inOut := put(out)
	if got := Find("", work, out); got != inOut {
		t.Errorf("found %q, not the one in the output directory", got)
	}
	inWork := put(work)
	if got := Find("", work, out); got != inWork {
		t.Errorf("found %q, not the one in the working directory", got)
	}
	if got := Find("other.xml", work, out); got != "other.xml" {
		t.Errorf("found %q, not the one named", got)
	}
	if _, _, err := Load(inWork); err != nil {
		t.Error(err)
	}
	c, _, err := Load(filepath.Join(work, "missing"))
	var errs Errors
	if c != nil || !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &errs) || !strings.Contains(err.Error(), "missing: the configuration cannot be read") {
		t.Errorf("a missing file: %v", err)
	}
	if _, _, err := Load(work); err == nil {
		t.Error("a directory was loaded")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, DefaultName), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := Find("", dir, ""); got != "" {
		t.Errorf("found the directory %q", got)
	}
}

// roundTrip holds a configuration against what is read back from its XML.
func roundTrip(t testing.TB, c *Config) {
	t.Helper()
	text := c.XML()
	back, _, err := Parse("f", text)
	if err != nil {
		t.Fatalf("XML is not right: %v\n%s", err, text)
	}
	if again := back.XML(); !bytes.Equal(text, again) {
		t.Fatalf("XML changes when it is read back:\n%s\nthen\n%s", text, again)
	}
	a, b := *c, *back
	clearPos(reflect.ValueOf(&a), map[uintptr]bool{})
	clearPos(reflect.ValueOf(&b), map[uintptr]bool{})
	if !reflect.DeepEqual(a, b) {
		t.Fatalf("the model changes through XML:\n%s", text)
	}
}

// clearPos zeroes all positions reachable from v, along pointers once.
func clearPos(v reflect.Value, seen map[uintptr]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || seen[v.Pointer()] {
			return
		}
		seen[v.Pointer()] = true
		clearPos(v.Elem(), seen)
	case reflect.Slice:
		for i := range v.Len() {
			clearPos(v.Index(i), seen)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Pos]() {
			v.SetZero()
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				clearPos(v.Field(i), seen)
			}
		}
	}
}

func TestRoundTrip(t *testing.T) {
	roundTrip(t, mustParse(t, readBase(t)))
	for _, file := range exampleFiles(t) {
		c, _, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		roundTrip(t, c)
	}
	// What base.xml has no room for.
	roundTrip(t, mustParse(t, windowText(`name="a&#10;b &lt;&quot;&gt;"`, `<On><Address value="0"/></On><Till><One>`+
		`<Syscall number="0"/><Instructions threshold="1500" since="open"/><Time threshold="1500"/><Time threshold="3000"/>`+
		`<Return name="f" imagePath="/x" decorated="1" process="2"/><Accesses total="0x10" thread="3"/></One></Till>`)))
}

// TestEveryMistakeRoundTrips reads every text of the mistakes that is right
// after all back from its XML.
func TestEveryMistakeRoundTrips(t *testing.T) {
	_, list := readMistakes(t)
	base := readBase(t)
	n := 0
	for _, m := range list {
		if c, _, err := Parse("f", []byte(m.apply(t, base))); err == nil {
			roundTrip(t, c)
			n++
		}
	}
	if n < 5 {
		t.Errorf("only %d texts were right", n)
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("../examples/*.xml")
	for _, file := range append(files, "testdata/base.xml") {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, warns, err := Parse("f", data)
		var errs Errors
		switch {
		case (c == nil) != (err != nil):
			t.Fatalf("a value and an error, or neither: %v, %v", c, err)
		case err != nil && (!errors.As(err, &errs) || len(errs) == 0):
			t.Fatalf("an error without errors: %v", err)
		}
		for _, e := range errs {
			if e.Line < 1 || e.Col < 1 {
				t.Fatalf("an error without place: %+v", e)
			}
		}
		for _, w := range warns {
			if w.Line < 1 || w.Col < 1 {
				t.Fatalf("a warning without place: %+v", w)
			}
		}
		if c == nil {
			return
		}
		roundTrip(t, c)
		if err := c.Explain(&bytes.Buffer{}); err != nil {
			t.Fatal(err)
		}
		c.Unsupported()
		c.Matcher().Match(1, 1)
	})
}

// TestTooManyParts: records that hold records many times over are refused before anybody walks through them, and the first that is too much is named alone.
func TestTooManyParts(t *testing.T) {
	var types strings.Builder
	of := "u1"
	for level := range 8 {
		fmt.Fprintf(&types, "<Type name=\"t%d\">%s</Type>\n", level, strings.Repeat(`<Field type="`+of+`"/>`, 10))
		of = fmt.Sprintf("t%d", level)
	}
	_, _, err := Parse("f", []byte("<AlleriaConfig version=\"1.0\"><Types>\n"+types.String()+`</Types><Window><Profile><Process/></Profile></Window></AlleriaConfig>`))
	if err == nil || !strings.Contains(err.Error(), `f:6:1: Type "t4" has more than 65536 values in it; capture a part of it`) || strings.Contains(err.Error(), "t5") {
		t.Errorf("%v", err)
	}
}
