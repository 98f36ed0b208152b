package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"alleria/analysis"
	"alleria/config"
)

// newFlags are the options of new.
type newFlags struct {
	// program is where names are looked up; empty: nowhere, for a program that is
	// on another machine or not built yet.
	program string
	// process lists whom to record, see config.ParseProcesses; empty: everybody. notes says in
	// a comment what the process of a number is, where that is known.
	process string
	notes   map[int]string
	// functions and image are what is recorded; no function: all of the image.
	functions []string
	image     string
	what      string
	// onCall, tillReturn and instructions are the events. Only what opens and
	// closes most windows has options; the rest is for the editor.
	onCall       string
	tillReturn   string
	instructions string
	reopenable   bool
	name         string
	// output is empty for standard output, so that the text can be looked at first.
	output string
	force  bool
	// intercepts are functions whose calls are captured, depth how many pointers are followed, header and
	// prototypes files that declare functions.
	intercepts []string
	depth      int
	prototypeFlags
}

// newCommand writes what record's options for a single window describe, but to a file
// and with more than one function: where those options end, a file begins.
func (a *app) newCommand() *cobra.Command {
	f := &newFlags{}
	c := &cobra.Command{
		Use:   "new [flags]",
		Short: "Write a window configuration to start from, with comments",
		Long: `new writes a window configuration with one window, which the options describe
and comments in it explain, to be changed by hand. Without options it records
the addresses of all memory accesses of the main executable.

With --program every name is looked up in that program and its libraries, and
nothing is written if one does not exist.

The file refers to alleria.xsd beside it: alleria schema > alleria.xsd lets
editors complete and check while typing.`,
		Example: `  alleria new --what values --function deflate --image gzip -o alleria.config
  alleria new --program ./tool --on-call parse --till-return parse --reopenable
  alleria new --instructions 1G:2G --what all
  alleria new --intercept getaddrinfo --intercept main ./tool -o alleria.config`,
		Args: func(c *cobra.Command, args []string) error {
			if len(f.intercepts) > 0 {
				return cobra.MaximumNArgs(1)(c, args)
			}
			return cobra.NoArgs(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.program = args[0]
			}
			if len(f.intercepts) > 0 {
				return a.newIntercepts(f)
			}
			// What a window on a library's function is about is that library.
			if _, image := config.SplitFunction(f.onCall); image != "" && !c.Flags().Changed("image") {
				f.image = image
			}
			return a.newConfig(f)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.program, "program", "", "look the names up in this `program`")
	fl.StringVar(&f.process, "process", "", "record only these `processes`, between commas: numbers in order of creation, names (which may hold *) or paths of the programs that they execute")
	fl.StringArrayVar(&f.functions, "function", nil, "record only this `function`, which may hold *; may be repeated")
	fl.StringVar(&f.image, "image", "main", "record only this `image`: main, app (all but the system's), all, a file name or a path; by default that of --on-call")
	fl.StringVar(&f.what, "what", "addresses", "`what` to record: "+strings.Join(recordableNames(), ", "))
	fl.StringVar(&f.onCall, "on-call", "", "open the window when this `function` is entered (function@image: another image's)")
	fl.StringVar(&f.tillReturn, "till-return", "", "close the window when this `function` has returned")
	fl.StringVar(&f.instructions, "instructions", "", "open and close the window at these `numbers` of instructions: 1G:2G, 1G: or :500M")
	fl.BoolVar(&f.reopenable, "reopenable", false, "let the window open again")
	fl.StringVar(&f.name, "name", "", "the window's `name`, for reports")
	fl.StringVarP(&f.output, "output", "o", "", "write to this `file` instead of standard output")
	fl.BoolVar(&f.force, "force", false, "replace the file if it exists")
	fl.StringArrayVar(&f.intercepts, "intercept", nil, "capture calls of this `function` of the program or its libraries (function@image: of that one), with its parameters and types written out; may be repeated")
	fl.IntVar(&f.depth, "depth", config.DefaultDepth, "with --intercept: follow this `number` of pointers one behind the other")
	f.register(fl)
	return c
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

// recordableNames lists --what's choices.
func recordableNames() []string {
	var out []string
	for _, r := range recordables() {
		out = append(out, r.name)
	}
	return out
}

// newConfig writes the file, after the parser and, where there is one, the
// program have nothing against it.
//
// Nothing is written before everything was checked: the exit status is 2 and no file
// is left for a name that does not exist or events that contradict each other.
func (a *app) newConfig(f *newFlags) error {
	// Written first and read back: then nothing can be written that would not load,
	// and the checks of files serve for options too.
	text, err := f.text()
	if err != nil {
		return err
	}
	c, warnings, err := config.Parse("(options)", text)
	if err != nil {
		// What the text's own lines are, nobody has seen yet: the place means nothing.
		var errs config.Errors
		if errors.As(err, &errs) {
			return usagef("%s; %s", errs[0].What, errs[0].Right)
		}
		return err
	}
	// Refused and not warned of, unlike in check: the names were given to be looked
	// up, and there is no file yet that somebody could lose.
	if f.program != "" {
		t, err := openTarget(f.program)
		if err != nil {
			return err
		}
		defer t.Close()
		t.Notices(a.messages())
		if wrong := t.CheckNames(c); len(wrong) > 0 {
			return usagef("%s; %s", wrong[0].What, wrong[0].Right)
		}
	}
	// After the program's: a refusal makes them pointless.
	for _, w := range warnings {
		fmt.Fprintf(a.messages(), "alleria: %s; %s\n", w.What, w.Right)
	}
	if f.output == "" {
		_, err := a.stdout.Write(text)
		return err
	}
	return f.write(a, text)
}

// write makes the file. One that exists is somebody's work.
func (f *newFlags) write(a *app, text []byte) error {
	// Not asked beforehand whether it exists: between question and answer somebody may
	// make it.
	how := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if f.force {
		how = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(f.output, how, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s exists; --force replaces it", f.output)
	}
	if err != nil {
		return usagef("configuration: %w", err)
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", f.output, err)
	}
	fmt.Fprintf(a.messages(), "alleria: wrote %s; alleria check %s says what it does\n", f.output, f.output)
	return nil
}

// configWriter makes the text. It is written here and not by config, whose XML keeps
// no comments: those are the point of this file.
// Errors cannot occur: it writes into memory.
type configWriter struct{ bytes.Buffer }

// put writes a line.
func (w *configWriter) put(depth int, format string, args ...any) {
	// Two spaces a level, like the examples and what XML writes.
	w.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(w, format+"\n", args...)
}

// lines writes several lines as they are.
func (w *configWriter) lines(depth int, lines []string) {
	for _, line := range lines {
		w.put(depth, "%s", line)
	}
}

// comment writes a comment. Two hyphens may not stand in one; names may hold
// them.
func (w *configWriter) comment(depth int, text string) {
	w.put(depth, "<!-- %s -->", strings.TrimSuffix(strings.ReplaceAll(text, "--", "- -"), "-"))
}

// quoted is a text as the value of an attribute. C++ names are full of what XML
// reserves.
func quoted(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // into memory: it does not fail
	return `"` + b.String() + `"`
}

// text makes the whole file, from the outside in. The parts between are written
// by window and profile, which take what they need from the options; nothing
// here depends on the program, so that one file serves several builds of it.
func (f *newFlags) text() ([]byte, error) {
	on, till, err := f.events()
	if err != nil {
		return nil, err
	}
	// A loop over five: the order of help is worth more than a map.
	at := slices.IndexFunc(recordables(), func(r recordable) bool { return r.name == f.what })
	if at < 0 {
		return nil, usagef("--what is one of %s, not %q", analysis.FormatList(recordableNames(), 9), f.what)
	}
	w := &configWriter{}
	w.put(0, `<?xml version="1.0" encoding="UTF-8"?>`)
	// Two references to one schema, because editors understand the one or the other.
	// Beside the file and not by an address on the web: it then is the schema of this
	// very program, and works offline.
	w.put(0, `<?xml-model href="alleria.xsd" type="application/xml" schematypens="http://www.w3.org/2001/XMLSchema"?>`)
	w.lines(0, []string{
		"<!-- A window configuration: alleria check says what it does, alleria explain ELEMENT what can be",
		"     changed. With the output of alleria schema in alleria.xsd, editors complete and check it. -->",
	})
	w.put(0, `<AlleriaConfig version="1.0"`)
	w.put(2, `xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"`)
	w.put(2, `xsi:noNamespaceSchemaLocation="alleria.xsd">`)
	attrs := ""
	if f.name != "" {
		attrs += " name=" + quoted(f.name)
	}
	if f.reopenable {
		attrs += ` reopenable="true"`
	}
	w.put(1, "<Window%s>", attrs)
	f.window(w, on, till)
	if err := f.profile(w, recordables()[at]); err != nil {
		return nil, err
	}
	w.put(1, "</Window>")
	w.put(0, "</AlleriaConfig>")
	return w.Bytes(), nil
}

// window writes when the window opens and closes. On stands before Till, as the
// language demands and as things happen.
func (f *newFlags) window(w *configWriter, on, till string) {
	// A comment also where nothing is written: it shows the place, which is what one
	// looks for in a file to be changed.
	switch {
	case on == "":
		w.comment(2, "Open from the first instruction. To open it later, put an On with an event here.")
	case f.reopenable:
		w.comment(2, "Opens on this event, and again each time it happens after the window has closed.")
	default:
		w.comment(2, "Opens once, on this event; alleria explain On lists the others.")
	}
	if on != "" {
		w.put(2, "<On>%s</On>", on)
	}
	if till == "" {
		w.comment(2, "Open until the process ends. To close it earlier, put a Till with an event here.")
	} else {
		w.comment(2, "Closes on this event; what runs outside of the window runs natively.")
		w.put(2, "<Till>%s</Till>", till)
	}
}

// profile writes what is recorded. Each level gets a comment that says what else
// could stand there, since whoever edits the file has not read the language.
//
// The image's default is the main executable, unlike record's, which is everything:
// a file is made to be narrowed, and a run without one to miss nothing.
func (f *newFlags) profile(w *configWriter, r recordable) error {
	w.put(2, "<Profile>")
	if f.process == "" {
		// Process and Thread select everything. They cannot be left out in the language,
		// and so are where a number would go.
		w.comment(3, `Every process and every thread; n="1" would be the first, in order of creation.`)
		f.recorded(w, r, "")
		w.put(2, "</Profile>")
		return nil
	}
	list, err := config.ParseProcesses(f.process)
	if err != nil {
		return usagef("--process: %w", err)
	}
	w.comment(3, "Every other process: followed, so that all have their numbers, and nothing of it is recorded.")
	w.put(3, "<Process/>")
	for _, p := range list {
		switch {
		case p.N > 0 && f.notes[p.N] != "":
			w.comment(3, f.notes[p.N])
			f.recorded(w, r, fmt.Sprintf(` n="%d"`, p.N))
		case p.N > 0:
			f.recorded(w, r, fmt.Sprintf(` n="%d"`, p.N))
		case p.Path != "":
			f.recorded(w, r, " path="+quoted(p.Path))
		default:
			f.recorded(w, r, " name="+quoted(p.Name))
		}
	}
	w.put(2, "</Profile>")
	return nil
}

// recorded writes a Process with what is recorded of it.
func (f *newFlags) recorded(w *configWriter, r recordable, attrs string) {
	w.put(3, "<Process%s>", attrs)
	w.put(4, "<Thread>")
	// The same words as in record's --image, and "all", for which that has the empty
	// string.
	image, comment := "", ""
	switch {
	case f.image == "all" || f.image == "":
		comment = "All code, also that of no file, such as a JIT compiler's."
	case f.image == "main":
		image, comment = ` main="true"`, "The main executable. Code of other images is not recorded."
	case f.image == "app":
		image, comment = ` anyButSys="true"`, "Every image that is not the system's: libc and its like are not recorded."
	case strings.Contains(f.image, "/"):
		image, comment = " path="+quoted(f.image), "The image with this path, links resolved."
	default:
		image, comment = " name="+quoted(f.image), "The image with this file name, links resolved."
	}
	w.comment(5, comment)
	w.put(5, "<Image%s>", image)
	w.comment(6, r.comment)
	// All functions, also the code in none.
	if len(f.functions) == 0 {
		w.put(6, "<Function>")
		w.lines(7, r.lines)
		w.put(6, "</Function>")
	}
	// The same Instructions in each, repeated: the language has no other way, and they
	// are there to be made different.
	for _, name := range f.functions {
		w.put(6, "<Function name=%s>", quoted(name))
		w.lines(7, r.lines)
		w.put(6, "</Function>")
	}
	w.put(5, "</Image>")
	w.put(4, "</Thread>")
	w.put(3, "</Process>")
}

// events are the elements in On and Till, empty for none. What contradicts itself
// is refused here, in the words of options; what is merely odd (a window that
// closes as it opens) the parser warns of.
func (f *newFlags) events() (on, till string, err error) {
	// One option for both ends, because one without the other is rarely meant; either
	// may be empty.
	first, last, found := strings.Cut(f.instructions, ":")
	if f.instructions != "" && (!found || first == "" && last == "") {
		return "", "", usagef("--instructions is two numbers with a colon between them, one of which may be left out, not %q", f.instructions)
	}
	// Read here for the message only: what goes into the file is the text, suffix and
	// all.
	for _, n := range []string{first, last} {
		if _, err := parseCount(n); n != "" && err != nil {
			return "", "", usagef("--instructions: %w", err)
		}
	}
	if f.onCall != "" && first != "" || f.tillReturn != "" && last != "" {
		return "", "", usagef("a window opens and closes on one event each: leave out one of --on-call, --till-return and the number of --instructions in its place")
	}
	// The parser says so as well, of an attribute that the user has not written.
	if f.reopenable && f.onCall == "" && first == "" {
		return "", "", usagef("--reopenable needs an event that opens the window: --on-call, or --instructions with a first number")
	}
	return event("Call", f.onCall, first), event("Return", f.tillReturn, last), nil
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
			return fmt.Sprintf("<%s name=%s/>", kind, quoted(name))
		}
		return fmt.Sprintf("<%s name=%s%s%s/>", kind, quoted(name), attr, quoted(image))
	case instructions != "":
		return fmt.Sprintf("<Instructions threshold=%s/>", quoted(instructions))
	}
	return ""
}
