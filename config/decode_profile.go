package config

import (
	"fmt"
	"slices"
	"strings"
)

// profile decodes a Profile. Each level below looks for identical selectors
// among its own children only: specificity is decided level by level, so equals
// can only meet there.
func (d *decoder) profile(n *node) *Profile {
	p := &Profile{Pos: n.Pos}
	p.SampleRate, _ = parseRate(n.text("sampleRate"))
	seen := selectors{d, map[string]Pos{}}
	for _, c := range n.children {
		if c.name != "Process" {
			continue
		}
		proc := d.process(c)
		p.Processes = append(p.Processes, proc)
		// 0 and absent are the same selector, which is why the number is compared and
		// not the text.
		seen.add(c, proc.key(), proc.words(true))
	}
	d.genesis(p)
	return p
}

// key is the same for elements that select the same processes.
func (p *Process) key() string {
	return fmt.Sprintf("%d %q %q %q %v %d", p.N, p.Path, p.Name, p.Argument, p.Depth, p.Under)
}

// genesis warns of a profile whose every Process selects others than the first one: that
// is detached then, and nobody sees what it creates.
func (d *decoder) genesis(p *Profile) {
	for _, proc := range p.Processes {
		if proc.N <= 1 && proc.Under == 0 && proc.Depth.From == 0 {
			return
		}
	}
	if len(p.Processes) > 0 {
		d.warn(p.Processes[0].Pos, "no Process selects the first process: it runs untraced, and so does what it creates",
			"add an empty Process, which follows all others and records nothing of them")
	}
}

// processSelectors are the attributes that select processes, the number first.
var processSelectors = []string{"n", "name", "path", "argument", "depth", "under"}

// choose decodes the selectors of a Process.
func (d *decoder) choose(n *node, p *Process) {
	p.N, p.Name, p.Path, p.Argument, p.Under = n.ordinal("n"), n.text("name"), n.text("path"), n.text("argument"), n.ordinal("under")
	if given := n.given(processSelectors[1:]...); p.N > 0 && len(given) > 0 {
		d.rule(given[0].Pos, fmt.Sprintf("Process gives %s besides n", given[0].name), "the number says which one it is: leave one of them out")
	}
	if a := n.get("depth"); a != nil {
		p.Depth, _ = parseDepth(a.value)
		if p.Depth.From > p.Depth.To {
			d.rule(a.Pos, fmt.Sprintf("depth=%q holds no generation", short(a.value)), fmt.Sprintf("the smaller number comes first: %d..%d", p.Depth.To, p.Depth.From))
		}
	}
	if a := n.get("name"); a != nil && strings.Contains(a.value, "/") {
		d.warn(a.Pos, fmt.Sprintf("name=%q can match no program: a file name holds no slash", short(a.value)), "use path")
	}
	if a := n.get("path"); a != nil && a.value != "" {
		switch {
		case !strings.HasPrefix(a.value, "/"):
			d.warn(a.Pos, fmt.Sprintf("path=%q can match no program: a full path begins with a slash", short(a.value)), "use name, or the full path")
		case strings.Contains(a.value, "*"):
			d.warn(a.Pos, fmt.Sprintf("the * in path=%q is taken literally", short(a.value)), "name and argument have wildcards")
		}
	}
	if a := n.get("follow"); a != nil {
		p.Follow = Follow(max(slices.Index(n.spec.attr("follow").values, trim(a.value)), 0))
	}
}

// process decodes a Process, which may be empty: then it is followed, and
// records nothing.
func (d *decoder) process(n *node) *Process {
	p := &Process{Pos: n.Pos}
	d.choose(n, p)
	// Threads are numbered within their process, so equal numbers in two processes are
	// two threads.
	seen := selectors{d, map[string]Pos{}}
	for _, c := range n.children {
		if c.name != "Thread" {
			continue
		}
		t := d.thread(c)
		p.Threads = append(p.Threads, t)
		seen.add(c, fmt.Sprint(t.N), numberWords("thread", t.N))
	}
	return p
}

// thread decodes a Thread. Its images are compared by all four attributes
// together: a name and a path may mean the same file and yet are two selectors,
// of which the path is the more specific.
func (d *decoder) thread(n *node) *Thread {
	t := &Thread{Pos: n.Pos, N: n.ordinal("n"), Syscalls: n.flag("syscalls"), Signals: n.flag("signals")}
	seen := selectors{d, map[string]Pos{}}
	for _, c := range n.children {
		if c.name != "Image" {
			continue
		}
		i := d.image(c)
		t.Images = append(t.Images, i)
		seen.add(c, fmt.Sprintf("%q %q %t %t", i.Path, i.Name, i.Main, i.AnyButSys), i.words())
	}
	return t
}

// image decodes an Image. More than one selector is refused rather than taken as
// "both must hold": the order of specificity would have no place for a
// combination.
func (d *decoder) image(n *node) *Image {
	i := &Image{Pos: n.Pos, Name: n.text("name"), Path: n.text("path"), Main: n.flag("main"), AnyButSys: n.flag("anyButSys")}
	// main="false" is the same as no main, so values count here, not presence.
	var chosen []*attr
	for _, a := range n.given("name", "path", "main", "anyButSys") {
		if a.name == "name" || a.name == "path" || n.flag(a.name) {
			chosen = append(chosen, a)
		}
	}
	if len(chosen) > 1 {
		d.rule(chosen[1].Pos, fmt.Sprintf("Image gives %s besides %s", chosen[1].name, chosen[0].name),
			"at most one of name, path, main and anyButSys can be given")
	}
	// The same warnings as for events: a selection that matches nothing and an event
	// that never fires have the same causes.
	d.imageNames(n, "name", "path")
	seen := selectors{d, map[string]Pos{}}
	for _, c := range n.children {
		if c.name != "Function" {
			continue
		}
		f := d.function(c)
		i.Functions = append(i.Functions, f)
		seen.add(c, fmt.Sprintf("%q %t %q", f.Name, f.Decorated, f.Type), f.words())
	}
	return i
}

// function decodes a Function. Old files may have the Intercept before, between
// or behind the Instructions.
func (d *decoder) function(n *node) *Function {
	f := &Function{Pos: n.Pos, Name: n.text("name"), Decorated: n.flag("decorated"), Type: strings.Join(strings.Fields(n.text("type")), " ")}
	if f.Decorated && n.get("name") == nil {
		// Taken out of the model as well, or "all functions" and "all functions,
		// decorated" would be two selectors for one thing.
		d.warn(n.get("decorated").Pos, "decorated has no effect without name", "remove it, or name a function")
		f.Decorated = false
	}
	d.functionName(n)
	seen := selectors{d, map[string]Pos{}}
	for _, c := range n.children {
		switch {
		case c.name == "Instruction":
			i := d.instruction(c)
			f.Instructions = append(f.Instructions, i)
			// Without a value the selector is missing, which has been reported; two
			// such are not a third mistake.
			if a, v := i.Selector(); v != "" {
				seen.add(c, a+" "+v, fmt.Sprintf("instructions of %s=%q", a, short(v)))
			}
		// The second of two was reported by the shape check.
		case c.name == "Intercept" && f.Intercept == nil:
			f.Intercept = d.intercept(c)
		}
	}
	return f
}

// instruction decodes an Instruction. The category any and anyMem become
// selectors of their own here, so that nothing later has to compare with those
// two words again.
func (d *decoder) instruction(n *node) *Instruction {
	i := &Instruction{Pos: n.Pos, Fields: Recorded}
	// Not "at least one, and all must hold": with one each, the order of specificity
	// is the order of this list and needs no arithmetic.
	d.exactlyOne(n, selectorAttributes[:]...)
	for k, name := range selectorAttributes {
		a := n.get(name)
		if a == nil {
			continue
		}
		d.checkXEDName(a)
		i.By, i.Value = SelectorKind(k), a.value
		if i.By == ByCat && a.value == "anyMem" {
			i.By, i.Value = AnyMemory, ""
		} else if i.By == ByCat && a.value == "any" {
			i.By, i.Value = AnyInstruction, ""
		}
		break
	}
	// By the table of facts, so that a new fact is one row and not a row and a line
	// here.
	for _, row := range fieldRows {
		if n.flag(row.attr) {
			i.Fields |= row.field
		}
	}
	// Made explicit here, once: what the values are of is nowhere optional, and
	// whoever reads the model need not know that rule.
	if i.Fields.Has(AccessValue) {
		i.Fields |= AccessAddressAndSize
	}
	if a := n.get("registers"); a != nil {
		i.Registers = splitRegisters(a.value)
	}
	// 1/1 keeps everything, like no sampling at all, and is stored as that.
	if v := parseSample(n.text("sample")); v.ok && v.val > 1 {
		i.Sample = int(v.val)
	}
	return i
}

// selectors finds identical siblings: two selectors for the same things leave
// it open which of them holds, and specificity cannot decide between equals.
type selectors struct {
	*decoder
	first map[string]Pos
}

// add reports a selector that was there before. The first one stays: a third is
// reported against it too.
func (s *selectors) add(n *node, key, words string) {
	if n.bad {
		return // it was reported, and reads as something that its author didn't mean
	}
	if p, ok := s.first[key]; ok {
		s.rule(n.Pos, fmt.Sprintf("a second %s selects %s", n.name, words),
			fmt.Sprintf("merge it with the one of line %d, column %d", p.Line, p.Col))
		return
	}
	s.first[key] = n.Pos
}

// numberWords names what a number selects, for messages.
func numberWords(what string, n int) string {
	if n == 0 {
		return "every other " + what
	}
	return fmt.Sprintf("%s %d", what, n)
}

// words names what the image selects.
func (i *Image) words() string {
	// In the order of specificity, although only one of them is set in a file that
	// loads: messages about the others come from here too.
	switch {
	case i.Path != "":
		return "the image " + i.Path
	case i.Name != "":
		return "images named " + i.Name
	case i.Main:
		return "the main executable"
	case i.AnyButSys:
		return "every image that is not the system's"
	}
	return "all code"
}

// words names what the function element selects.
func (f *Function) words() string {
	switch {
	case f.Name == "":
		return "all functions" + f.withType()
	case f.Decorated:
		return "the symbol " + f.Name + f.withType()
	}
	return "the function " + f.Name + f.withType()
}

// withType words that a parameter's type is asked for.
func (f *Function) withType() string {
	if f.Type == "" {
		return ""
	}
	return fmt.Sprintf(" with a parameter of type %q", f.Type)
}
