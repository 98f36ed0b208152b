// Package draft writes window configurations to start from: one window, which options describe, with comments that say what can be changed.
//
// In a nutshell: Draft is what the options say, and its Text the file. It is written line by line (Writer) and not by package config, whose XML keeps no comments: those
// are the point of such a file. Who calls it (the commands new and tree) reads the text back, so that nothing is written that would not load.
//
// It looks at no program and writes no file. Errors are in the words of options.
package draft

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"alleria/config"
	"alleria/config/quantity"
)

// Draft is what a configuration is to say.
type Draft struct {
	// Process lists whom to record, see config.ParseProcesses; empty: everybody. Notes says in
	// a comment what the process of a number is, where that is known.
	Process string
	Notes   map[int]string
	// Functions and Image are what is recorded; no function: all of the image.
	Functions []string
	Image     string
	What      string // one of Recordables
	// OnCall, TillReturn and Instructions are the events. Only what opens and
	// closes most windows is here; the rest is for the editor.
	OnCall       string
	TillReturn   string
	Instructions string
	Reopenable   bool
	Name         string
}

// recordable is one of --what's choices: Instruction elements and why.
type recordable struct {
	name    string
	comment string
	lines   []string
}

// recordables is in the order of help. Each is a selection that makes a useful
// profile by itself; finer ones are what the file is edited for.
func recordables() []recordable {
	// Together these four are every instruction after which another than the next may
	// follow, but for system calls and traps.
	branch := func(category string) string { return `<Instruction cat="` + category + `" branch="true"/>` }
	return []recordable{
		{"addresses", "Where memory is read and written. For the bytes too, add accessValue.",
			[]string{`<Instruction cat="anyMem" accessAddressAndSize="true"/>`}},
		{"values", "What is read and written, and where.",
			[]string{`<Instruction cat="anyMem" accessAddressAndSize="true" accessValue="true"/>`}},
		{"blocks", "Which code runs, in order, and nothing else about it: the smallest of profiles.",
			[]string{`<Instruction cat="any"/>`}},
		{"branches", "Where control flow went, by the four categories of instructions that direct it.",
			[]string{branch("COND_BR"), branch("UNCOND_BR"), branch("CALL"), branch("RET")}},
		{"all", "Everything about every instruction: the largest of profiles.",
			[]string{`<Instruction cat="any" timeStamp="true" routineId="true" accessAddressAndSize="true" accessValue="true" branch="true"/>`}},
	}
}

// Recordables lists what a configuration can record, as Draft.What names it.
func Recordables() []string {
	var out []string
	for _, r := range recordables() {
		out = append(out, r.name)
	}
	return out
}

// Writer makes the text. It is written here and not by config, whose XML keeps
// no comments: those are the point of this file.
// Errors cannot occur: it writes into memory.
type Writer struct{ bytes.Buffer }

// Put writes a line.
func (w *Writer) Put(depth int, format string, args ...any) {
	// Two spaces a level, like the examples and what XML writes.
	w.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(w, format+"\n", args...)
}

// Lines writes several lines as they are.
func (w *Writer) Lines(depth int, lines []string) {
	for _, line := range lines {
		w.Put(depth, "%s", line)
	}
}

// Comment writes a comment. Two hyphens may not stand in one; names may hold
// them.
func (w *Writer) Comment(depth int, text string) {
	w.Put(depth, "<!-- %s -->", strings.TrimSuffix(strings.ReplaceAll(text, "--", "- -"), "-"))
}

// Quoted is a text as the value of an attribute. C++ names are full of what XML
// reserves.
func Quoted(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // into memory: it does not fail
	return `"` + b.String() + `"`
}

// Text makes the whole file, from the outside in. The parts between are written
// by window and profile, which take what they need from the options; nothing
// here depends on the program, so that one file serves several builds of it.
func (d *Draft) Text() ([]byte, error) {
	on, till, err := d.events()
	if err != nil {
		return nil, err
	}
	// A loop over five: the order of help is worth more than a map.
	at := slices.IndexFunc(recordables(), func(r recordable) bool { return r.name == d.What })
	if at < 0 {
		names := Recordables()
		last := len(names) - 1
		return nil, fmt.Errorf("--what is one of %s and %s, not %q", strings.Join(names[:last], ", "), names[last], d.What)
	}
	w := &Writer{}
	w.Put(0, `<?xml version="1.0" encoding="UTF-8"?>`)
	// Two references to one schema, because editors understand the one or the other.
	// Beside the file and not by an address on the web: it then is the schema of this
	// very program, and works offline.
	w.Put(0, `<?xml-model href="alleria.xsd" type="application/xml" schematypens="http://www.w3.org/2001/XMLSchema"?>`)
	w.Lines(0, []string{
		"<!-- A window configuration: alleria check says what it does, alleria explain ELEMENT what can be",
		"     changed. With the output of alleria schema in alleria.xsd, editors complete and check it. -->",
	})
	w.Put(0, `<AlleriaConfig version="1.0"`)
	w.Put(2, `xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"`)
	w.Put(2, `xsi:noNamespaceSchemaLocation="alleria.xsd">`)
	attrs := ""
	if d.Name != "" {
		attrs += " name=" + Quoted(d.Name)
	}
	if d.Reopenable {
		attrs += ` reopenable="true"`
	}
	w.Put(1, "<Window%s>", attrs)
	d.window(w, on, till)
	if err := d.profile(w, recordables()[at]); err != nil {
		return nil, err
	}
	w.Put(1, "</Window>")
	w.Put(0, "</AlleriaConfig>")
	return w.Bytes(), nil
}

// window writes when the window opens and closes. On stands before Till, as the
// language demands and as things happen.
func (d *Draft) window(w *Writer, on, till string) {
	// A comment also where nothing is written: it shows the place, which is what one
	// looks for in a file to be changed.
	switch {
	case on == "":
		w.Comment(2, "Open from the first instruction. To open it later, put an On with an event here.")
	case d.Reopenable:
		w.Comment(2, "Opens on this event, and again each time it happens after the window has closed.")
	default:
		w.Comment(2, "Opens once, on this event; alleria explain On lists the others.")
	}
	if on != "" {
		w.Put(2, "<On>%s</On>", on)
	}
	if till == "" {
		w.Comment(2, "Open until the process ends. To close it earlier, put a Till with an event here.")
	} else {
		w.Comment(2, "Closes on this event; what runs outside of the window runs natively.")
		w.Put(2, "<Till>%s</Till>", till)
	}
}

// profile writes what is recorded. Each level gets a comment that says what else
// could stand there, since whoever edits the file has not read the language.
//
// The image's default is the main executable, unlike record's, which is everything:
// a file is made to be narrowed, and a run without one to miss nothing.
func (d *Draft) profile(w *Writer, r recordable) error {
	w.Put(2, "<Profile>")
	if d.Process == "" {
		// Process and Thread select everything. They cannot be left out in the language,
		// and so are where a number would go.
		w.Comment(3, `Every process and every thread; n="1" would be the first, in order of creation.`)
		d.recorded(w, r, "")
		w.Put(2, "</Profile>")
		return nil
	}
	list, err := config.ParseProcesses(d.Process)
	if err != nil {
		return fmt.Errorf("--process: %w", err)
	}
	w.Comment(3, "Every other process: followed, so that all have their numbers, and nothing of it is recorded.")
	w.Put(3, "<Process/>")
	for _, p := range list {
		switch {
		case p.N > 0 && d.Notes[p.N] != "":
			w.Comment(3, d.Notes[p.N])
			d.recorded(w, r, fmt.Sprintf(` n="%d"`, p.N))
		case p.N > 0:
			d.recorded(w, r, fmt.Sprintf(` n="%d"`, p.N))
		case p.Path != "":
			d.recorded(w, r, " path="+Quoted(p.Path))
		default:
			d.recorded(w, r, " name="+Quoted(p.Name))
		}
	}
	w.Put(2, "</Profile>")
	return nil
}

// recorded writes a Process with what is recorded of it.
func (d *Draft) recorded(w *Writer, r recordable, attrs string) {
	w.Put(3, "<Process%s>", attrs)
	w.Put(4, "<Thread>")
	// The same words as in record's --image, and "all", for which that has the empty
	// string.
	image, comment := "", ""
	switch {
	case d.Image == "all" || d.Image == "":
		comment = "All code, also that of no file, such as a JIT compiler's."
	case d.Image == "main":
		image, comment = ` main="true"`, "The main executable. Code of other images is not recorded."
	case d.Image == "app":
		image, comment = ` anyButSys="true"`, "Every image that is not the system's: libc and its like are not recorded."
	case strings.Contains(d.Image, "/"):
		image, comment = " path="+Quoted(d.Image), "The image with this path, links resolved."
	default:
		image, comment = " name="+Quoted(d.Image), "The image with this file name, links resolved."
	}
	w.Comment(5, comment)
	w.Put(5, "<Image%s>", image)
	w.Comment(6, r.comment)
	// All functions, also the code in none.
	if len(d.Functions) == 0 {
		w.Put(6, "<Function>")
		w.Lines(7, r.lines)
		w.Put(6, "</Function>")
	}
	// The same Instructions in each, repeated: the language has no other way, and they
	// are there to be made different.
	for _, name := range d.Functions {
		w.Put(6, "<Function name=%s>", Quoted(name))
		w.Lines(7, r.lines)
		w.Put(6, "</Function>")
	}
	w.Put(5, "</Image>")
	w.Put(4, "</Thread>")
	w.Put(3, "</Process>")
}

// events are the elements in On and Till, empty for none. What contradicts itself
// is refused here, in the words of options; what is merely odd (a window that
// closes as it opens) the parser warns of.
func (d *Draft) events() (on, till string, err error) {
	// One option for both ends, because one without the other is rarely meant; either
	// may be empty.
	first, last, found := strings.Cut(d.Instructions, ":")
	if d.Instructions != "" && (!found || first == "" && last == "") {
		return "", "", fmt.Errorf("--instructions is two numbers with a colon between them, one of which may be left out, not %q", d.Instructions)
	}
	// Read here for the message only: what goes into the file is the text, suffix and
	// all.
	for _, n := range []string{first, last} {
		if _, err := quantity.Count(n); n != "" && err != nil {
			return "", "", fmt.Errorf("--instructions: %w", err)
		}
	}
	if d.OnCall != "" && first != "" || d.TillReturn != "" && last != "" {
		return "", "", fmt.Errorf("a window opens and closes on one event each: leave out one of --on-call, --till-return and the number of --instructions in its place")
	}
	// The parser says so as well, of an attribute that the user has not written.
	if d.Reopenable && d.OnCall == "" && first == "" {
		return "", "", fmt.Errorf("--reopenable needs an event that opens the window: --on-call, or --instructions with a first number")
	}
	return event("Call", d.OnCall, first), event("Return", d.TillReturn, last), nil
}

// event writes an event: a function's or a number of instructions.
// A function wins over a number; events has refused both together.
func event(kind, function, instructions string) string {
	switch {
	case function != "":
		name, image := config.SplitFunction(function)
		// A slash tells paths from names, which cannot hold one.
		attr := " imageName="
		if strings.Contains(image, "/") {
			attr = " imagePath="
		}
		if image == "" {
			return fmt.Sprintf("<%s name=%s/>", kind, Quoted(name))
		}
		return fmt.Sprintf("<%s name=%s%s%s/>", kind, Quoted(name), attr, Quoted(image))
	case instructions != "":
		return fmt.Sprintf("<Instructions threshold=%s/>", Quoted(instructions))
	}
	return ""
}
