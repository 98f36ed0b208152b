package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/beevik/etree"
)

// exampleFiles lists the examples, by path.
func exampleFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../examples/*.xml")
	if err != nil || len(files) < 10 {
		t.Fatalf("examples: %v, %v", files, err)
	}
	return files
}

// verdicts asks xmllint which of the texts are valid under the schema. All go
// into one run: starting it a thousand times would take a minute.
func verdicts(t *testing.T, texts []string) []bool {
	t.Helper()
	tool, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skip("xmllint is not installed (Debian: libxml2-utils); the schema cannot be held against the parser")
	}
	dir := t.TempDir()
	args := []string{"--noout", "--schema", schemaPath}
	for i, text := range texts {
		name := filepath.Join(dir, fmt.Sprintf("%d.xml", i))
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	// The exit status says only that some file is invalid; the lines say which.
	out, _ := exec.Command(tool, args...).CombinedOutput()
	valid := map[string]bool{}
	for _, line := range strings.Split(string(out), "\n") {
		if name, ok := strings.CutSuffix(line, " validates"); ok {
			valid[name] = true
		}
		if strings.Contains(line, "Schemas parser error") {
			t.Fatalf("the schema itself: %s", line)
		}
	}
	list := make([]bool, len(texts))
	for i := range texts {
		list[i] = valid[filepath.Join(dir, fmt.Sprintf("%d.xml", i))]
	}
	return list
}

// checkAgreement holds the parser against the schema: what the parser accepts
// is valid; what breaks a rule of form is not. What breaks only a rule that XSD
// 1.0 cannot express may be either. It returns how many texts were in each of
// the three classes.
func checkAgreement(t *testing.T, titles, texts []string) (right, wrong, beyond int) {
	t.Helper()
	for i, valid := range verdicts(t, texts) {
		c, _, err := Parse("f", []byte(texts[i]))
		if err == nil {
			// While at it: nothing that is accepted may trip what reads the model.
			roundTrip(t, c)
			if err := c.Explain(io.Discard); err != nil {
				t.Errorf("%s: %v", titles[i], err)
			}
			c.Matcher().Match(1, 1)
		}
		var errs Errors
		errors.As(err, &errs)
		inForm := !slices.ContainsFunc(errs, func(e Error) bool { return !e.rule })
		switch {
		case len(errs) == 0 && !valid:
			t.Errorf("%s: the parser accepts what the schema refuses:\n%s", titles[i], texts[i])
		case !inForm && valid:
			t.Errorf("%s: the schema accepts what the parser refuses: %v", titles[i], err)
		}
		switch {
		case len(errs) == 0:
			right++
		case !inForm:
			wrong++
		default:
			beyond++
		}
	}
	return right, wrong, beyond
}

// TestSchemaAgreesOnMistakes covers the mistakes that somebody thought of.
func TestSchemaAgreesOnMistakes(t *testing.T) {
	_, list := readMistakes(t)
	base := readBase(t)
	titles, texts := []string{"base"}, []string{base}
	for _, m := range list {
		titles, texts = append(titles, m.title), append(texts, m.apply(t, base))
	}
	right, wrong, beyond := checkAgreement(t, titles, texts)
	if right < 5 || wrong < 70 || beyond < 40 {
		t.Errorf("%d right, %d wrong, %d beyond the schema: too few to say much", right, wrong, beyond)
	}
}

// TestSchemaAgreesOnMutations covers those that nobody did: every element and
// attribute of the base and the examples is removed, doubled, renamed, moved
// and given odd values.
func TestSchemaAgreesOnMutations(t *testing.T) {
	var titles, texts []string
	add := func(title, text string) { titles, texts = append(titles, title), append(texts, text) }
	for _, file := range append(exampleFiles(t), "testdata/base.xml") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		add(file, string(data))
		mutate(t, file, string(data), add)
	}
	right, wrong, beyond := checkAgreement(t, titles, texts)
	t.Logf("%d right, %d wrong, %d beyond the schema", right, wrong, beyond)
	if right < 200 || wrong < 600 || beyond < 50 {
		t.Errorf("%d right, %d wrong, %d beyond the schema: too few to say much", right, wrong, beyond)
	}
}

// oddValues are set on attributes in turn.
var oddValues = []string{"", "0", "1", " 1 ", "true", "x", "-1", "0x10", "0x", "5k", "5 k", "3ms", "1/4", "rax", "inc", "1.0", "s4", "1..3", "3..1", "exec", "18446744073709551616"}

// mutate makes each mutation of a text. The text is parsed anew for each one:
// slower than undoing, and nothing can be left over.
func mutate(t *testing.T, file, text string, add func(title, text string)) {
	t.Helper()
	elements := len(parseTree(t, text))
	step := 0
	for i := range elements {
		try := func(what string, f func(e *etree.Element)) {
			doc := etree.NewDocument()
			if err := doc.ReadFromString(text); err != nil {
				t.Fatal(err)
			}
			all := doc.FindElements("//*")
			f(all[i])
			s, err := doc.WriteToString()
			if err != nil {
				t.Fatal(err)
			}
			add(fmt.Sprintf("%s: element %d (%s): %s", file, i, all[i].Tag, what), s)
		}
		e := parseTree(t, text)[i]
		if e.Parent() != nil && e.Parent().Tag != "" {
			try("removed", func(e *etree.Element) { e.Parent().RemoveChild(e) })
			try("doubled", func(e *etree.Element) { e.Parent().InsertChildAt(e.Index(), e.Copy()) })
			try("moved to the end", func(e *etree.Element) { e.Parent().AddChild(e) })
			try("moved to the front", func(e *etree.Element) { e.Parent().InsertChildAt(0, e) })
			try("renamed", func(e *etree.Element) { e.Tag = language[(i*7)%len(language)].name })
			try("emptied", func(e *etree.Element) { e.Child = nil })
			try("given white space", func(e *etree.Element) { e.AddChild(etree.NewText(" \n ")) })
		}
		for a := range e.Attr {
			try("attribute removed", func(e *etree.Element) { e.Attr = slices.Delete(e.Attr, a, a+1) })
			step++
			try("odd value", func(e *etree.Element) { e.Attr[a].Value = oddValues[step%len(oddValues)] })
			try("another odd value", func(e *etree.Element) { e.Attr[a].Value = oddValues[(step*5+1)%len(oddValues)] })
		}
		if spec := elementNamed(e.Tag); spec != nil && len(spec.attrs) > 0 {
			step++
			try("attribute added", func(e *etree.Element) {
				e.CreateAttr(spec.attrs[step%len(spec.attrs)].name, oddValues[step%len(oddValues)])
			})
		}
	}
}

func parseTree(t *testing.T, text string) []*etree.Element {
	t.Helper()
	doc := etree.NewDocument()
	if err := doc.ReadFromString(text); err != nil {
		t.Fatal(err)
	}
	return doc.FindElements("//*")
}
