package acceptance

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// oracleThread and what is below it is a selection: elements of a Profile.
type oracleThread struct {
	n              int // 0: any
	calls, signals bool
	images         []oracleSelected
}

type oracleSelected struct {
	by, value string // an attribute of Image, "" for none
	functions []oracleFunction
}

type oracleFunction struct {
	name         string
	decorated    bool
	instructions []oracleInstruction
}

type oracleInstruction struct {
	by, value string   // an attribute of Instruction
	fields    []string // attributes that are true
	registers []string
	sample    int
}

// oracleWant is what is recorded of an instruction; nil is nothing.
type oracleWant struct {
	fields    []string
	registers []string
	sample    int // 0: not sampled
}

// has tells whether a field is asked for.
func (w *oracleWant) has(field string) bool { return slices.Contains(w.fields, field) }

// xml is a window's elements in a configuration.
func (w *oracleWindow) xml(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<Window name="%s" reopenable="%t">`, name, w.reopens)
	if w.on != nil {
		b.WriteString("<On>" + w.on.xml() + "</On>")
	}
	if w.till != nil && w.till.element != "" {
		b.WriteString("<Till>" + w.till.xml() + "</Till>")
	}
	b.WriteString("<Profile>" + w.before + "<Process" + attributeUnless("n", w.process, 0) + ">")
	for _, t := range w.threads {
		b.WriteString(t.xml())
	}
	b.WriteString("</Process>" + w.behind + "</Profile></Window>")
	return b.String()
}

func (t *oracleThread) xml() string {
	var b strings.Builder
	b.WriteString("<Thread" + attributeUnless("n", t.n, 0) + attributeUnless("syscalls", t.calls, false) + attributeUnless("signals", t.signals, false) + ">")
	for _, im := range t.images {
		b.WriteString("<Image" + attributeUnless(im.by, im.value, "") + ">")
		for _, f := range im.functions {
			b.WriteString("<Function" + attributeUnless("name", f.name, "") + attributeUnless("decorated", f.decorated, false) + ">")
			for _, in := range f.instructions {
				b.WriteString("<Instruction" + attributeUnless(in.by, in.value, ""))
				for _, field := range in.fields {
					b.WriteString(attributeUnless(field, true, false))
				}
				b.WriteString(attributeUnless("registers", strings.Join(in.registers, ","), ""))
				if in.sample > 0 {
					fmt.Fprintf(&b, ` sample="1/%d"`, in.sample)
				}
				b.WriteString("/>")
			}
			b.WriteString("</Function>")
		}
		b.WriteString("</Image>")
	}
	b.WriteString("</Thread>")
	return b.String()
}

// attributeUnless writes an attribute, or nothing if it has its default.
func attributeUnless[T comparable](name string, value, none T) string {
	if value == none {
		return ""
	}
	return fmt.Sprintf(` %s="%v"`, name, value)
}

// wants finds out what the windows record of an instruction of thread 1: of each
// window the most specific element of each level, and of all windows together the
// union.
func (tr *oracleTrace) wants(windows []*oracleWindow, open uint64, f *oracleFact) *oracleWant {
	var want *oracleWant
	for k, w := range windows {
		if open>>k&1 == 0 {
			continue
		}
		in := w.selects(tr, f)
		if in == nil {
			continue
		}
		if want == nil {
			want = &oracleWant{sample: in.sample}
		}
		want.fields = append(want.fields, in.fields...)
		want.registers = append(want.registers, in.registers...)
		want.sample = min(want.sample, in.sample)
	}
	return want
}

// selects returns the element that holds for an instruction, nil if there is none.
func (w *oracleWindow) selects(tr *oracleTrace, f *oracleFact) *oracleInstruction {
	t := w.thread()
	if t == nil {
		return nil
	}
	im := best(t.images, func(im *oracleSelected) int { return im.merit(f.image) })
	if im == nil {
		return nil
	}
	fn := best(im.functions, func(fn *oracleFunction) int { return fn.merit(f.function) })
	if fn == nil {
		return nil
	}
	return best(fn.instructions, func(in *oracleInstruction) int { return in.merit(f.key) })
}

// thread returns the element that holds for thread 1, nil if there is none.
func (w *oracleWindow) thread() *oracleThread {
	return best(w.threads, func(t *oracleThread) int { return map[int]int{1: 2, 0: 1}[t.n] })
}

// best returns the element of most merit, the first of several; nil if all have 0.
func best[T any](list []T, merit func(*T) int) (found *T) {
	most := 0
	for i := range list {
		if m := merit(&list[i]); m > most {
			found, most = &list[i], m
		}
	}
	return found
}

// merit says how specifically an Image means an image; 0: it does not.
func (s *oracleSelected) merit(im *oracleImage) int {
	switch {
	case s.by == "":
		return 1
	case im == nil:
		return 0
	case s.by == "anyButSys" && !im.system():
		return 2
	case s.by == "main" && im.main:
		return 3
	case s.by == "name" && filepath.Base(im.path) == s.value:
		return 4
	case s.by == "path" && im.path == s.value:
		return 5
	}
	return 0
}

// system tells images below the loader's default directories.
func (im *oracleImage) system() bool {
	return strings.HasPrefix(im.path, "/lib") || strings.HasPrefix(im.path, "/usr/lib")
}

// merit says how specifically a Function means a function: decorated ones more than
// plain ones, exact ones more than wildcards, and longer ones more than shorter ones.
func (f *oracleFunction) merit(fn *oracleSymbol) int {
	if f.name == "" {
		return 1
	}
	if fn == nil {
		return 0
	}
	merit := 0
	names := fn.names
	if fn.plain != "" && !f.decorated {
		names = append([]string{fn.plain}, names...)
	}
	for _, name := range names {
		for ; name != ""; name = oracleOwner(name) {
			switch {
			case name == f.name:
				merit = max(merit, 20000+len(name))
			case strings.Contains(f.name, "*"):
				if ok, _ := filepath.Match(f.name, name); ok {
					merit = max(merit, 10000+len(f.name)-strings.Count(f.name, "*"))
				}
			}
		}
	}
	if merit > 0 && f.decorated {
		merit += 40000
	}
	return merit
}

// oracleOwner is what a compiler's part or clone of a function belongs to.
func oracleOwner(name string) string {
	for _, suffix := range []string{".cold", ".constprop.0", ".constprop.1", ".part.1", ".isra.2"} {
		if owner, ok := strings.CutSuffix(name, suffix); ok {
			return owner
		}
	}
	return ""
}

// merit says how specifically an Instruction means an instruction.
func (in *oracleInstruction) merit(key map[string]string) int {
	switch {
	case in.by == "cat" && in.value == "any":
		return 1
	case in.by == "cat" && in.value == "anyMem":
		return 2 * len(key["mem"][:min(1, len(key["mem"]))])
	case key[in.by] != in.value:
		return 0
	}
	return 3 + slices.Index([]string{"cat", "ext", "isa", "class", "form"}, in.by)
}
