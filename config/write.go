package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/beevik/etree"
)

// XML writes the configuration as a file that Parse reads back as the same
// configuration. Only what differs from the default is written. Comments of the
// original file are not kept: this is the record of what a run used, in one
// canonical form, not an editor.
func (c *Config) XML() []byte {
	doc := etree.NewDocument()
	doc.CreateProcInst("xml", `version="1.0" encoding="UTF-8"`)
	root := doc.CreateElement("AlleriaConfig")
	root.CreateAttr("version", "1.0")
	// An empty Types is right but says nothing.
	if len(c.Types.Types)+len(c.Types.Pointers) > 0 {
		c.Types.write(root.CreateElement("Types"))
	}
	writeAll(root, "Window", c.Windows)
	doc.Indent(2)
	// Line breaks in attribute values would come back as spaces from other
	// readers of the file.
	doc.WriteSettings.CanonicalAttrVal = true
	out, err := doc.WriteToBytes()
	if err != nil {
		panic("config: writing into memory: " + err.Error()) // bytes.Buffer does not fail
	}
	return out
}

// attrs writes an element's attributes, leaving out the absent and false ones.
type attrs struct{ *etree.Element }

// text writes a text; the empty one means that the attribute was absent.
func (a attrs) text(name, v string) {
	if v != "" {
		a.CreateAttr(name, v)
	}
}

// flag writes a boolean, all of which default to false.
func (a attrs) flag(name string, v bool) {
	if v {
		a.CreateAttr(name, "true")
	}
}

// number writes a number for which 0 means absent.
func (a attrs) number(name string, v uint64) {
	if v != 0 {
		a.CreateAttr(name, strconv.FormatUint(v, 10))
	}
}

// count writes a round number as it would be written by hand.
func (a attrs) count(name string, v uint64) {
	if v != 0 {
		a.CreateAttr(name, countText(v))
	}
}

// countText writes a count with the largest suffix that loses nothing.
func countText(v uint64) string {
	switch {
	case v == 0:
		return "0"
	// Exactly divisible only: 1500M stays that, and 1500000001 in full.
	case v%1e9 == 0:
		return strconv.FormatUint(v/1e9, 10) + "G"
	case v%1e6 == 0:
		return strconv.FormatUint(v/1e6, 10) + "M"
	case v%1e3 == 0:
		return strconv.FormatUint(v/1e3, 10) + "k"
	}
	return strconv.FormatUint(v, 10)
}

// hex writes an address.
func hex(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }

// write adds a window's content to its element; the other write methods do the
// same for their part of the model. Explicit code rather than the language table
// and reflection: the model's fields are not named or shaped like attributes,
// and the round-trip tests find what is forgotten.
func (w *Window) write(el *etree.Element) {
	a := attrs{el}
	a.text("name", w.Name)
	a.flag("reopenable", w.Reopenable)
	if w.On != nil {
		w.On.write(el.CreateElement("On"))
	}
	if w.Till != nil {
		w.Till.write(el.CreateElement("Till"))
	}
	el = el.CreateElement("Profile")
	attrs{el}.text("sampleRate", w.Profile.SampleRate.Text)
	writeAll(el, "Process", w.Profile.Processes)
}

// write adds an event to its parent. Attributes go by field, not by kind: a
// field that a kind does not use is zero, and zero is not written.
func (e *Event) write(parent *etree.Element) {
	el := parent.CreateElement(e.Kind.String())
	a := attrs{el}
	a.text("path", e.Path)
	a.text("name", e.Name)
	a.text("imageName", e.ImageName)
	a.text("imagePath", e.ImagePath)
	a.flag("decorated", e.Decorated)
	a.count("smallerEqual", e.SmallerEqual)
	a.count("largerEqual", e.LargerEqual)
	a.count("total", e.Total)
	a.count("reads", e.Reads)
	a.count("writes", e.Writes)
	a.count("period", e.Period)
	a.count("burst", e.Burst)
	a.text("image", e.Image)
	// Offset, value and number may be 0 and yet be given, which other fields tell.
	if e.Image != "" {
		a.CreateAttr("offset", hex(e.Offset))
	}
	if e.HasValue {
		a.CreateAttr("value", hex(e.Value))
	}
	if e.HasNumber || e.Number != 0 {
		a.CreateAttr("number", strconv.FormatUint(e.Number, 10))
	}
	// Either this or Time's below: a Time has no Threshold in the model.
	a.count("threshold", e.Threshold)
	if e.Kind == EventTime {
		a.text("threshold", timeText(e.After))
	}
	// Ordinals without suffixes: nobody writes process 1k.
	a.number("process", uint64(e.Process))
	a.number("thread", uint64(e.Thread))
	a.flag("anyThread", e.AnyThread)
	if e.SinceOpen {
		a.text("since", "open")
	}
	for _, c := range e.Children {
		c.write(el)
	}
}

// timeText writes a time in the largest unit that holds it exactly. Times are
// whole microseconds because that is the smallest unit of the language.
func timeText(t time.Duration) string {
	switch {
	case t%time.Second == 0:
		return fmt.Sprintf("%ds", t/time.Second)
	case t%time.Millisecond == 0:
		return fmt.Sprintf("%dms", t/time.Millisecond)
	}
	return fmt.Sprintf("%dus", t/time.Microsecond)
}

// An empty element is written for an empty selection, which is an exclusion and
// must not get lost.
func (p *Process) write(el *etree.Element) {
	a := attrs{el}
	a.number("n", uint64(p.N))
	a.text("path", p.Path)
	a.text("name", p.Name)
	a.text("argument", p.Argument)
	a.number("under", uint64(p.Under))
	if d := p.Depth; d.Given {
		a.CreateAttr("depth", d.String())
	}
	if p.Follow != FollowAll {
		a.CreateAttr("follow", p.Follow.String())
	}
	writeAll(el, "Thread", p.Threads)
}

// writeAll writes the elements of one name that an element has.
func writeAll[E interface{ write(*etree.Element) }](el *etree.Element, name string, all []E) {
	for _, e := range all {
		e.write(el.CreateElement(name))
	}
}

// Numbers are written as decimals, whatever the file had: 0x2 is the same thread.
func (t *Thread) write(el *etree.Element) {
	a := attrs{el}
	a.number("n", uint64(t.N))
	a.flag("syscalls", t.Syscalls)
	a.flag("signals", t.Signals)
	writeAll(el, "Image", t.Images)
}

// An image has at most one of its four selectors, so at most one of these is
// written.
func (i *Image) write(el *etree.Element) {
	a := attrs{el}
	a.text("name", i.Name)
	a.text("path", i.Path)
	a.flag("main", i.Main)
	a.flag("anyButSys", i.AnyButSys)
	writeAll(el, "Function", i.Functions)
}

// The Instructions come first, as in the specification; that old files may have
// the Intercept before them is lost, and means nothing.
func (f *Function) write(el *etree.Element) {
	a := attrs{el}
	a.text("name", f.Name)
	a.flag("decorated", f.Decorated)
	a.text("type", f.Type)
	writeAll(el, "Instruction", f.Instructions)
	if f.Intercept != nil {
		f.Intercept.write(el.CreateElement("Intercept"))
	}
}

// The selector is spelled as in the file; any and anyMem are categories again.
func (i *Instruction) write(el *etree.Element) {
	a := attrs{el}
	a.text(i.Selector())
	for _, row := range fieldRows {
		// The value implies the address; saying both is not wrong, and plainer.
		a.flag(row.attr, i.Fields.Has(row.field))
	}
	a.text("registers", strings.Join(i.Registers, ","))
	if i.Sample > 1 {
		a.text("sample", fmt.Sprintf("1/%d", i.Sample))
	}
}

// write adds all records and then all pointers; the order between them carries
// no meaning.
func (t *Types) write(el *etree.Element) {
	for _, r := range t.Types {
		a := attrs{el.CreateElement("Type")}
		a.text("name", r.Name)
		a.flag("packed", r.Packed)
		a.number("size", r.GivenSize)
		for _, f := range r.Fields {
			b := attrs{a.CreateElement("Field")}
			b.text("name", f.Name)
			b.text("type", f.Type.Name)
			if f.GivenOffset {
				b.CreateAttr("offset", strconv.FormatUint(f.Offset, 10))
			}
		}
	}
	for _, p := range t.Pointers {
		a := attrs{el.CreateElement("Pointer")}
		a.text("name", p.Name)
		a.text("elementType", p.Element.Name)
		// Only where the file gave one: where none is needed, none is more readable.
		if p.HasDirection {
			a.text("direction", map[bool]string{false: "inc", true: "dec"}[p.Dec])
		}
		a.number("count", p.Count)
		a.text("sentinel", p.SentinelText)
		if p.Length >= LengthVariable {
			a.text(lengthAttributes[p.Length], p.Variable)
		}
		if p.Length == LengthEnd || p.Length == LengthStart {
			// Written also when false, unlike other flags: it has no default.
			a.CreateAttr("endValid", strconv.FormatBool(p.EndValid))
		}
		a.number("maxBytes", p.MaxBytes)
	}
}

// write adds an interceptor's parameters in the order in which they were given.
func (ic *Intercept) write(el *etree.Element) {
	a := attrs{el}
	a.text("retType", ic.RetType.Name)
	a.number("maxBytes", ic.MaxBytes)
	a.flag("auto", ic.Auto)
	if ic.HasDepth {
		a.CreateAttr("depth", strconv.Itoa(ic.Depth))
	}
	a.text("fail", ic.Fail)
	a.text("probability", ic.FailProbability.Text)
	a.number("seed", ic.Seed)
	for _, p := range ic.Parameters {
		b := attrs{el.CreateElement("Parameter")}
		b.text("name", p.Name)
		// 0 is the first argument and not "absent".
		b.CreateAttr("index", strconv.Itoa(p.Index))
		b.text("type", p.Type.Name)
		b.flag("in", p.In)
		b.flag("out", p.Out)
		b.change(p.Set)
	}
	if ic.Result != nil {
		b := attrs{el.CreateElement("Result")}
		b.change(ic.Result)
	}
}

// change writes how a value is changed.
func (a attrs) change(c *Change) {
	if c != nil {
		a.text("set", c.Text)
		a.text("probability", c.Probability.Text)
	}
}
