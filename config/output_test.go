package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestExplain compares the account of each example, and of the base, with the
// one that was found good.
func TestExplain(t *testing.T) {
	var b bytes.Buffer
	for _, file := range append(exampleFiles(t), "testdata/base.xml") {
		c, _, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("== " + filepath.Base(file) + "\n")
		if err := c.Explain(&b); err != nil {
			t.Fatal(err)
		}
		b.WriteString("\n")
	}
	const golden = "testdata/explain.golden"
	if *update {
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, b.Bytes()) {
		t.Errorf("%s differs; look with go test ./config -run TestExplain -update and git diff", golden)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestExplainReportsWriteErrors(t *testing.T) {
	if err := Default().Explain(brokenWriter{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// TestExplainElement asks for every element and attribute.
func TestExplainElement(t *testing.T) {
	for _, name := range ElementNames() {
		text, err := ExplainElement(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(text, "\n") {
			if len(line) > lineWidth && !strings.Contains(line, "<") {
				t.Errorf("%s: the line %q is too long", name, line)
			}
		}
		text = strings.Join(strings.Fields(text), " ")
		e := elementNamed(name)
		if !strings.Contains(text, e.doc) {
			t.Errorf("%s: not documented", name)
		}
		for _, a := range e.attrs {
			if a.doc == "" || !strings.Contains(text, " "+a.name) || a.kind != textValue && !strings.Contains(text, a.right()) {
				t.Errorf("%s %s: not documented", name, a.name)
			}
			if one, err := ExplainElement(name + "." + a.name); err != nil || !strings.HasPrefix(one, a.name+" of "+name+"\n") {
				t.Errorf("%s.%s: %q %v", name, a.name, one, err)
			}
		}
	}
	if text, err := ExplainElement("threshold"); err != nil || strings.Count(text, "threshold of ") != 6 {
		t.Errorf("threshold: %q, %v", text, err)
	}
	for name, want := range map[string]string{"Wndow": "Window", "timestamp": "attribute timeStamp", "Call.timeStamp": "Call has no attribute", "": "nearest"} {
		if text, err := ExplainElement(name); err == nil || text != "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// TestExplainLanguage looks for every element, each on one line.
func TestExplainLanguage(t *testing.T) {
	text := ExplainLanguage()
	for _, name := range ElementNames() {
		if strings.Count(text, "\n  "+name+" ") != 1 {
			t.Errorf("%s is not there once", name)
		}
	}
}

// TestExamplesInHelp parses the example of each element, where it may stand.
func TestExamplesInHelp(t *testing.T) {
	const profile = `<Profile><Process><Thread><Image><Function><Instruction cat="any"/></Function></Image></Thread></Process></Profile>`
	inWindow := func(s string) string {
		return `<AlleriaConfig version="1.0"><Window>` + s + `</Window></AlleriaConfig>`
	}
	function := func(s string) string {
		return profileText(`<Process><Thread><Image><Function>` + s + `</Function></Image></Thread></Process>`)
	}
	frames := map[string]func(string) string{
		"AlleriaConfig": func(s string) string { return s },
		"Window":        func(s string) string { return `<AlleriaConfig version="1.0">` + s + `</AlleriaConfig>` },
		"On":            func(s string) string { return inWindow(s + profile) },
		"Till":          func(s string) string { return inWindow(s + profile) },
		"Profile":       inWindow,
		"Process":       profileText,
		"Thread":        func(s string) string { return profileText(`<Process>` + s + `</Process>`) },
		"Image":         func(s string) string { return profileText(`<Process><Thread>` + s + `</Thread></Process>`) },
		"Function": func(s string) string {
			return profileText(`<Process><Thread><Image>` + s + `</Image></Thread></Process>`)
		},
		"Instruction": function,
		"Intercept":   function,
		"Result":      func(s string) string { return function(s) },
		"Parameter":   func(s string) string { return function(`<Intercept>` + s + `</Intercept>`) },
		"Types": func(s string) string {
			return `<AlleriaConfig version="1.0">` + s + `<Window>` + profile + `</Window></AlleriaConfig>`
		},
		"Sample": func(s string) string { return inWindow(`<On>` + s + `</On>` + profile) },
	}
	inTypes := func(s string) string { return frames["Types"](`<Types>` + s + `</Types>`) }
	frames["Type"], frames["Pointer"] = inTypes, inTypes
	frames["Field"] = func(s string) string { return inTypes(`<Type name="t">` + s + `</Type>`) }
	for _, name := range ElementNames() {
		text := exampleOf(name)
		frame := frames[name]
		if frame == nil { // an event
			frame = func(s string) string { return inWindow(`<Till><All>` + s + `</All></Till>` + profile) }
		}
		if !strings.Contains(text, "<"+name) {
			t.Errorf("%s: the example is %q", name, text)
		}
		if _, warnings, err := Parse(name, []byte(frame(text))); err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v %v", name, err, warnings)
		}
	}
}

// TestLanguageIsWhole holds the table against itself.
func TestLanguageIsWhole(t *testing.T) {
	for _, name := range ElementNames() {
		e := elementNamed(name)
		for _, c := range e.childNames() {
			if elementNamed(c) == nil {
				t.Errorf("%s holds %s, which is not described", name, c)
			}
		}
		if len(parentsOf(name)) == 0 && name != "AlleriaConfig" {
			t.Errorf("%s stands nowhere", name)
		}
		if e.doc == "" || !strings.HasSuffix(e.doc, ".") {
			t.Errorf("%s: %q is no sentence", name, e.doc)
		}
	}
	for k := EventAll; k <= EventSample; k++ {
		if elementNamed(k.String()) == nil || eventKindOf(k.String()) != k || k.spec().kind != k {
			t.Errorf("event %d: %q", k, k)
		}
		if s := k.spec(); s.words == nil && !k.Is(Group) {
			t.Errorf("%s says nothing of itself", k)
		} else if of := " in process 7"; s.words != nil && k != EventCreation && k != EventTermination && !strings.Contains(s.words(&Event{Kind: k}, of), of) {
			t.Errorf("%s does not say in which process", k)
		} else if !k.Is(Group) && !slices.ContainsFunc(s.attrs, func(a attribute) bool { return a.name == "process" }) {
			t.Errorf("%s names no process", k)
		}
	}
	for _, name := range append([]string{"Sample"}, eventNames...) {
		if eventKindOf(name) == EventNone {
			t.Errorf("%s is no kind of event", name)
		}
	}
}

// TestProcessOfEvents: what is read of a process is written and explained.
func TestProcessOfEvents(t *testing.T) {
	for event, words := range map[string]string{
		`<Address value="0x1" process="2"/>`:         "the instruction at address 0x1 is about to execute in process 2.",
		`<Sample period="2" burst="1" process="2"/>`: "Opens every 2 instructions in process 2, each time for 1 instruction",
	} {
		c := mustParse(t, windowText("", "<On>"+event+"</On>"))
		if c.Windows[0].On.Process != 2 || !strings.Contains(string(c.XML()), event) {
			t.Errorf("%s is written as\n%s", event, c.XML())
		}
		var b strings.Builder
		if err := c.Explain(&b); err != nil || !strings.Contains(b.String(), words) {
			t.Errorf("%s: %v, %s", event, err, b.String())
		}
	}
}

func TestOneOff(t *testing.T) {
	same := func(name string, o OneOffOptions, want string) {
		t.Helper()
		c, _, err := OneOff(o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if got, want := string(c.XML()), string(mustParse(t, want).XML()); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	const all = `timeStamp="1" routineId="1" accessAddressAndSize="1" accessValue="1"`
	window := func(attrs, events, image, function, ins string) string {
		return `<AlleriaConfig version="1.0"><Window ` + attrs + `>` + events + `<Profile><Process><Thread><Image ` + image + `><Function ` +
			function + `><Instruction ` + ins + `/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`
	}
	same("nothing", OneOffOptions{}, string(Default().XML()))
	same("call to return", OneOffOptions{OnCall: "ns::f", TillReturn: "ns::f", Reopenable: true},
		window(`reopenable="1"`, `<On><Call name="ns::f"/></On><Till><Return name="ns::f"/></Till>`, "", "", `cat="anyMem" `+all))
	same("in another image", OneOffOptions{OnCall: "inflate@libz.so.1", TillReturn: "inflate@/usr/lib/libz.so.1", Image: "/usr/lib/libz.so.1"},
		window("", `<On><Call name="inflate" imageName="libz.so.1"/></On><Till><Return name="inflate" imagePath="/usr/lib/libz.so.1"/></Till>`,
			`path="/usr/lib/libz.so.1"`, "", `cat="anyMem" `+all))
	same("instructions", OneOffOptions{OnInstructions: "1G", TillInstructions: "2000M", Image: "main", Select: "any", Fields: Recorded},
		window("", `<On><Instructions threshold="1G"/></On><Till><Instructions threshold="2G"/></Till>`, `main="1"`, "", `cat="any"`))
	same("function of an image", OneOffOptions{Image: "gzip", Function: "def*", Select: "class=MOV", Fields: AccessAddressAndSize},
		window("", "", `name="gzip"`, `name="def*"`, `class="MOV" accessAddressAndSize="1"`))
	same("own code", OneOffOptions{Image: "app", Select: "cat=any", Fields: Recorded | Branch}, window("", "", `anyButSys="1"`, "", `cat="any" branch="1"`))
	same("some processes", OneOffOptions{Process: "cc1*, 3,/usr/bin/as", Image: "main", Select: "any", Fields: Recorded}, func() string {
		body := `<Thread><Image main="1"><Function><Instruction cat="any"/></Function></Image></Thread></Process>`
		return profileText(`<Process/><Process name="cc1*">` + body + `<Process n="3">` + body + `<Process path="/usr/bin/as">` + body)
	}())
	const both = `<Function name="malloc"><Intercept auto="1"/></Function><Function name="free"><Intercept auto="1"/></Function>`
	same("captured calls", OneOffOptions{OnCall: "f", Intercept: []string{"malloc", "ns::*@main", "free", "g@/lib/g.so"}},
		`<AlleriaConfig version="1.0"><Window><On><Call name="f"/></On><Profile><Process><Thread><Image>`+both+`</Image>`+
			`<Image main="1"><Function name="ns::*"><Intercept auto="1"/></Function>`+both+`</Image>`+
			`<Image path="/lib/g.so"><Function name="g"><Intercept auto="1"/></Function>`+both+`</Image></Thread></Process></Profile></Window></AlleriaConfig>`)
	for name, o := range map[string]OneOffOptions{
		"calls and instructions":       {Intercept: []string{"f"}, Select: "any"},
		"calls of nothing":             {Intercept: []string{" "}},
		"process 0":                    {Process: "0"},
		"a process left out":           {Process: "1,,2"},
		"a process named twice":        {Process: "2,0x2"},
		"a process too large":          {Process: "99999999999"},
		"a process of a strange name":  {Process: "a\x01"},
		"no count":                     {OnInstructions: "many"},
		"none":                         {TillInstructions: "0"},
		"two events":                   {OnCall: "f", OnInstructions: "5"},
		"reopenable without On":        {Reopenable: true},
		"an unknown selector":          {Select: "klass=MOV"},
		"a selector without name":      {Select: "class="},
		"a word":                       {Select: "memory"},
		"a character that XML forbids": {Function: "f\x00"},
	} {
		if c, _, err := OneOff(o); err == nil || c != nil || !errors.Is(err, ErrOption) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseFields(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Fields
	}{
		{"none", Recorded}, {"time", Recorded | TimeStamp}, {"time, function", Recorded | TimeStamp | RoutineID},
		{"value", Recorded | AccessValue | AccessAddressAndSize}, {"accessAddressAndSize,branch", Recorded | AccessAddressAndSize | Branch},
		{"all", Recorded | TimeStamp | RoutineID | AccessAddressAndSize | AccessValue | Branch},
	} {
		if got, err := ParseFields(c.in); err != nil || got != c.want {
			t.Errorf("%q: %b, %v", c.in, got, err)
		}
	}
	if _, err := ParseFields("time,adress"); !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), `"address"`) {
		t.Errorf("%v", err)
	}
}

func TestAttributes(t *testing.T) {
	if got := (Recorded | TimeStamp | Branch).Attributes(); strings.Join(got, " ") != "timeStamp branch" {
		t.Errorf("%v", got)
	}
}

// TestUnsupported has a text for each row of limits, and one that record runs.
func TestUnsupported(t *testing.T) {
	texts := []string{}
	if len(texts) != len(limits) {
		t.Fatalf("%d texts for %d limits", len(texts), len(limits))
	}
	for i, text := range texts {
		got := mustParse(t, text).Unsupported()
		found := false
		for _, e := range got {
			found = found || e.What == limits[i].what
			if e.Line == 0 || e.Right == "" {
				t.Errorf("%+v lacks place or remedy", e)
			}
		}
		if !found {
			t.Errorf("limit %d (%s) is not met: %v", i, limits[i].what, got)
		}
	}
	runs := mustParse(t, `<AlleriaConfig version="1.0"><Window reopenable="1"><On><All><Call name="f" threshold="3" process="1" imageName="x"/><One><Address value="1"/><Creation process="1"/><Termination process="1" thread="2"/>`+
		`<Load name="x"/><Unload name="x"/><Threads largerEqual="2"/><Time threshold="1s"/><Syscall name="read"/><Signal/><Exec/><Fork/><Accesses total="2"/></One></All></On>`+
		`<Till><Return name="f"/></Till><Profile><Process/><Process n="1"><Thread><Image><Function><Instruction cat="any" branch="1" sample="1/1"/>`+
		`</Function></Image></Thread></Process></Profile></Window><Window><On><Sample period="2" burst="1"/></On><Profile><Process/></Profile></Window><Window><On><Instructions threshold="1G"/></On><Till><Instructions threshold="1" since="open"/></Till><Profile><Process n="3"/></Profile></Window></AlleriaConfig>`)
	if got := runs.Unsupported(); len(got) > 0 {
		t.Errorf("refused: %v", got)
	}
}
