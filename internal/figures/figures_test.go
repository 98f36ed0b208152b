package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module makes a folder with files and a list of what is known, and returns its name.
func module(t *testing.T, known string, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	write := func(name, body string) {
		full := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, body := range files {
		write(name, body)
	}
	write("internal/figures/known.txt", known)
	return root
}

// shapes has one of each thing that is measured. The folder is one that the import rules know.
const shapes = `package config

type plain struct {
	a, b int
	_    byte
	fmt.Stringer
	in struct{ x, y, z int }
}

type number int

func one() {}

func (p *plain) many(v []int) int {
	f := func() bool { return len(v) > 1 && len(v) < 9 || v[0] == 1 }
	for range v {
		switch {
		case f():
		case v == nil:
		default:
		}
	}
	select {
	case <-c:
	default:
	}
	if f() {
		return 1
	}
	return 0
}

func (l list[T]) generic() {}
`

func TestMeasure(t *testing.T) {
	root := module(t, "", map[string]string{
		"config/a.go":          shapes,
		"config/b.c":           "int x;\n",
		"config/a_test.go":     "package config\nfunc f() {}\n",
		"config/readme.md":     "no source\n",
		"config/testdata/x.go": "not parsed",
	})
	all, err := measure(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"fields 3 config.plain.in config/a.go:7",
		"fields 5 config.plain config/a.go:3",
		"lines 1 config.one config/a.go:12",
		"complexity 1 config.one config/a.go:12",
		"lines 18 config.(*plain).many config/a.go:14",
		"complexity 8 config.(*plain).many config/a.go:14", // && || range case case comm if, and one
		"lines 1 config.list.generic config/a.go:33",
		"complexity 1 config.list.generic config/a.go:33",
		"files 2 config config",
	}
	got := map[string]bool{}
	for i := range all {
		f := &all[i]
		got[fmt.Sprint(f.Kind, " ", f.Value, " ", f.Name, " ", f.where())] = true
	}
	for _, w := range want {
		if !got[w] {
			t.Errorf("missing: %s", w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("measured %v, want %d", got, len(want))
	}
}

// wide is a struct of so many fields, long a function of so many lines with an if on each.
func wide(n int) string {
	return "package config\n\ntype wide struct {\n" + strings.Repeat("\t_ int\n", n) + "}\n"
}

func long(n int) string {
	return "package config\n\nfunc long() {\n" + strings.Repeat("\tif a { b() }\n", n-2) + "}\n"
}

// TestHold proves that each limit bites, and that the list lets through what it names and no more.
func TestHold(t *testing.T) {
	many := map[string]string{}
	for i := range 41 {
		many[fmt.Sprintf("config/f%d.go", i)] = "package config\n"
	}
	for _, c := range []struct {
		name, known string
		files       map[string]string
		status      int
		says        string
	}{
		{"at the limit", "", map[string]string{"config/a.go": wide(25)}, 0, ""},
		{"fields", "", map[string]string{"config/a.go": wide(26)}, 1, "config/a.go:3: config.wide: 26 fields, more than 25"},
		{"known", "fields 26 config.wide # why\n", map[string]string{"config/a.go": wide(26)}, 0, ""},
		{"grown", "fields 26 config.wide\n", map[string]string{"config/a.go": wide(27)}, 1, "27 fields; it may not grow, and had 26"},
		{"smaller", "fields 30 config.wide\n", map[string]string{"config/a.go": wide(27)}, 1, "27 fields, less than the 30 in the list"},
		{"within", "fields 30 config.wide\n", map[string]string{"config/a.go": wide(5)}, 1, "5 fields, less than the 30 in the list"},
		{"gone", "fields 30 config.other\n", map[string]string{"config/a.go": wide(5)}, 1, "config.other: there is none any more"},
		{"decoded instruction", "", map[string]string{"engine/x86/a.go": "package x86\ntype Insn struct {" + strings.Repeat("_ int;", 30) + "}\n"}, 0, ""},
		{"lines", "complexity 60 config.long\n", map[string]string{"config/a.go": long(61)}, 1, "config.long: 61 lines, more than 60"},
		{"complexity", "", map[string]string{"config/a.go": long(22)}, 1, "config.long: 21 complexity, more than 20"},
		{"files", "", many, 1, "config: config: 41 files, more than 40"},
		{"imports", "", map[string]string{"config/a.go": "package config\nimport _ \"alleria/engine\"\n"}, 1, "config/a.go:2: config may import schemas, config/vocab, internal/errno, but imports engine"},
		{"not Go", "", map[string]string{"config/a.go": "pack age"}, 2, "config/a.go:1:1"},
		{"list: words", "fields config.wide\n", nil, 2, "known.txt:1: a line is a kind, a figure and a name"},
		{"list: kind", "\nfield 26 config.wide\n", nil, 2, "known.txt:2: kind \"field\" is none of"},
		{"list: figure", "fields many config.wide\n", nil, 2, "known.txt:1: figure: "},
		{"list: needless", "fields 25 config.wide\n", nil, 2, "25 is within the limit of 25"},
		{"list: twice", "fields 26 a\nfields 27 a\n", nil, 2, "known.txt:2: a second figure for a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			status := run([]string{"-root", module(t, c.known, c.files)}, &out, &errs)
			text := out.String() + errs.String()
			if status != c.status || !strings.Contains(text, c.says) {
				t.Errorf("status %d, want %d and %q:\n%s", status, c.status, c.says, text)
			}
		})
	}
}

// TestLower writes what has become smaller, keeps the comment, and adds nothing.
func TestLower(t *testing.T) {
	root := module(t, "# why\nfields 99 config.gone\nfields 40 config.wide\n", map[string]string{"config/a.go": wide(30), "config/b.go": strings.ReplaceAll(wide(50), "wide", "other")})
	var out bytes.Buffer
	if status := run([]string{"-root", root, "-lower"}, &out, &out); status != 1 || !strings.Contains(out.String(), "config.other: 50 fields") {
		t.Errorf("status %d with something new that is too large:\n%s", status, &out)
	}
	got, err := os.ReadFile(filepath.Join(root, "internal/figures/known.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "# why\nfields 30 config.wide\n"; string(got) != want {
		t.Errorf("list is %q, want %q", got, want)
	}
}

func TestJSON(t *testing.T) {
	var out bytes.Buffer
	if status := run([]string{"-root", module(t, "", map[string]string{"config/a.go": wide(30)}), "-json"}, &out, &out); status != 0 {
		t.Fatalf("status %d: %s", status, &out)
	}
	var all []figure
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].Value != 30 || all[0].Line != 3 {
		t.Errorf("%+v", all)
	}
}

// TestRepository holds the project itself: what "make lint" runs.
func TestRepository(t *testing.T) {
	var out bytes.Buffer
	if status := run([]string{"-root", "../.."}, &out, &out); status != 0 {
		t.Errorf("status %d:\n%s", status, &out)
	}
}

// FuzzKnown reads any list: an error or a list, never a panic.
func FuzzKnown(f *testing.F) {
	f.Add("# x\nfields 26 engine.Process\n")
	f.Add("lines 61 a\n\nlines")
	f.Fuzz(func(t *testing.T, text string) {
		name := filepath.Join(t.TempDir(), "known.txt")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		known, err := readKnown(name)
		for k, v := range known {
			if err == nil && v <= limit(k.kind) {
				t.Errorf("%v %d", k, v)
			}
		}
	})
}
