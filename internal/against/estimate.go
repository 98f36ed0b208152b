package against

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"alleria/analysis"
	"alleria/config"
)

// Estimate is what a configuration selects of a target's code. It counts
// instructions as they stand in the files: how often each will run, nobody can
// say without running it.
// Its JSON is an element of "estimates" in check --against --json.
type Estimate struct {
	Program      string       `json:"program"`
	Images       int          `json:"images"`
	Functions    int          `json:"functions"`
	Instructions int          `json:"instructions"`
	Windows      []WindowCost `json:"windows"`
}

// WindowCost is what one window selects. When the window is open does not enter:
// that would need a run, and the shares would no longer be comparable.
type WindowCost struct {
	Window     string          `json:"window"`
	Selections []SelectionCost `json:"selections"`
}

// SelectionCost is what a window selects of one kind of thread. A number of 0
// stands for every process, or thread, that no other selection names.
//
// There is one for each Thread element, and not one for the window, since the
// usual reason to have several is to record much of one thread and little of the
// others; a sum over both would hide it. That process N may run another program
// than the one compared with is left to the reader.
type SelectionCost struct {
	Process     int            `json:"process"`
	Selector    string         `json:"selector,omitempty"` // in words, of processes that are not selected by number
	Thread      int            `json:"thread"`
	Images      []ImageCost    `json:"images"`
	Total       ImageCost      `json:"total"`
	Accesses    int            `json:"accesses"`    // memory operands of the selected instructions
	Intercepted int            `json:"intercepted"` // functions whose calls are captured
	Fields      map[string]int `json:"fields"`      // selected instructions by attribute
}

// ImageCost is a share of an image's code. A function counts as soon as anything
// of it is selected, so that the two shares may differ widely: few instructions
// of nearly all functions is what a class or a form selects.
type ImageCost struct {
	Image          string `json:"image"`
	Functions      int    `json:"functions"`
	FunctionsOf    int    `json:"functions_of"`
	Instructions   int    `json:"instructions"`
	InstructionsOf int    `json:"instructions_of"`
}

// estimate counts what each window selects.
//
// Selections are taken in the file's order. A general thread (N absent) is matched by a
// number one above all that are named, which no specific selection claims.
func (inv *inventory) estimate(program string, c *config.Config) Estimate {
	// The whole is counted before any window: shares of different windows can then be
	// compared.
	e := Estimate{Program: program, Images: len(inv.images)}
	for i := range inv.images {
		e.Functions += len(inv.images[i].functions)
		e.Instructions += inv.images[i].total
	}
	for _, w := range c.Windows {
		wc := WindowCost{Window: w.Label()}
		// Each window by itself, not united with others that may be open: who asks
		// which window is the expensive one is helped by that only.
		for _, p := range w.Profile.Processes {
			for _, t := range p.Threads {
				sc := SelectionCost{Process: p.N, Thread: t.N, Fields: make(map[string]int)}
				if p.N == 0 && !p.Any() {
					sc.Selector = p.Words()
				}
				// The general selection holds for a number that no other names.
				thread := t.N
				if thread == 0 {
					thread = 1 + slices.MaxFunc(p.Threads, func(a, b *config.Thread) int { return cmp.Compare(a.N, b.N) }).N
				}
				// The matcher that record uses decides, so that the estimate cannot
				// have rules of its own. Nil means that nothing is recorded, and is
				// safe to ask.
				inv.selection(p.Thread(thread), &sc)
				wc.Selections = append(wc.Selections, sc)
			}
		}
		e.Windows = append(e.Windows, wc)
	}
	return e
}

// selection counts what holds for one thread. It asks level by level like an
// engine would, image, function, instruction, so that a level that selects
// nothing costs nothing below it.
func (inv *inventory) selection(tm *config.ThreadMatcher, sc *SelectionCost) {
	sc.Total.Image = "everything"
	for i := range inv.images {
		im := &inv.images[i]
		cost := ImageCost{Image: im.Key.Name, FunctionsOf: len(im.functions), InstructionsOf: im.total}
		// An excluded image stays in the list, with zeroes: JSON's readers want all of
		// them.
		if m := tm.Image(im.Key); m != nil {
			for k := range im.functions {
				inv.function(m, &im.functions[k], &cost, sc)
			}
		}
		sc.Total.Functions += cost.Functions
		sc.Total.FunctionsOf += cost.FunctionsOf
		sc.Total.Instructions += cost.Instructions
		sc.Total.InstructionsOf += cost.InstructionsOf
		sc.Images = append(sc.Images, cost)
	}
}

// function counts what is selected of one function.
// cost counts for the image, sc for the selection; both are added to.
func (inv *inventory) function(m *config.ImageMatcher, f *functionInventory, cost *ImageCost, sc *SelectionCost) {
	fm := m.Function(f.key)
	if fm == nil {
		return
	}
	// Intercepting selects a function too, without any of its instructions.
	selected := len(fm.Intercepts()) > 0
	if selected {
		sc.Intercepted++
	}
	// The order of a map does not matter to sums.
	for kind, n := range f.kinds {
		info := inv.kinds[kind]
		sel := fm.Instruction(info.key)
		// Recorded alone is not zero: it is the instruction's address.
		if sel.Fields == 0 {
			continue
		}
		selected = true
		cost.Instructions += n
		sc.Accesses += n * info.accesses
		for _, attr := range sel.Fields.Attributes() {
			sc.Fields[attr] += n
		}
		if len(sel.Registers) > 0 {
			sc.Fields["registers"] += n
		}
	}
	if selected {
		cost.Functions++
	}
}

// Print writes the estimate for people. Images of which nothing is selected are
// named in one line: programs have dozens.
func (e *Estimate) Print(out io.Writer) error {
	w := &bytes.Buffer{} // so that there is one write, and one error
	fmt.Fprintf(w, "\nIn %s and what it is linked with (%d images, %s functions, %s instructions):\n",
		e.Program, e.Images, group(e.Functions), group(e.Instructions))
	for _, win := range e.Windows {
		for _, s := range win.Selections {
			fmt.Fprintf(w, "\n  Window %s%s\n", win.Window, s.who(len(win.Selections) > 1))
			s.print(w)
		}
	}
	fmt.Fprintln(w, "\nThese are instructions as they stand in the files. How often each runs, and so how large a\n"+
		"profile gets, alleria record --only count tells.")
	if _, err := w.WriteTo(out); err != nil {
		return fmt.Errorf("estimate: %w", err)
	}
	return nil
}

// who says which threads a selection is about, where there are several.
func (s *SelectionCost) who(several bool) string {
	if !several && s.Process == 0 && s.Selector == "" && s.Thread == 0 {
		return ""
	}
	// Zero is "other" here and not "every": one that no selection names gets this one.
	number := func(what string, n int) string {
		if n == 0 {
			return "other " + what + "s"
		}
		return what + " " + strconv.Itoa(n)
	}
	process := number("process", s.Process)
	if s.Selector != "" {
		process = s.Selector
	}
	return ", " + process + ", " + number("thread", s.Thread)
}

// print writes one selection: a table of images, and what is recorded.
func (s *SelectionCost) print(w io.Writer) {
	// In one line, for a table of zeroes looks like a result.
	if s.Total.Functions == 0 {
		fmt.Fprintln(w, "    selects nothing of this code")
		return
	}
	var none []string
	t := analysis.NewTextTable("", "functions", "of", "instructions", "of", "share")
	row := func(c ImageCost) {
		t.Add(c.Image, group(c.Functions), group(c.FunctionsOf),
			group(c.Instructions), group(c.InstructionsOf), share(c.Instructions, c.InstructionsOf))
	}
	for _, c := range s.Images {
		if c.Functions == 0 {
			none = append(none, c.Image)
			continue
		}
		row(c)
	}
	// The sum of one row is that row.
	if len(s.Images) > 1 {
		row(s.Total)
	}
	t.Write(w, "    ")
	if len(none) > 0 {
		fmt.Fprintf(w, "    nothing in %s\n", analysis.FormatList(none, 4))
	}
	if s.Total.Instructions > 0 {
		fmt.Fprintf(w, "    recorded of each: %s\n", s.fields())
		fmt.Fprintf(w, "    memory accesses among them: %s\n", group(s.Accesses))
	}
	if s.Intercepted > 0 {
		fmt.Fprintf(w, "    functions whose calls are intercepted: %s\n", group(s.Intercepted))
	}
}

// fields says which attributes apply to how many of the instructions. They are
// named as in the file, not in words: they are what one will change after reading
// this.
func (s *SelectionCost) fields() string {
	var out []string
	for _, attr := range slices.Sorted(maps.Keys(s.Fields)) {
		// A number only where it is not all of them, as in most files it is.
		if n := s.Fields[attr]; n == s.Total.Instructions {
			out = append(out, attr)
		} else {
			out = append(out, fmt.Sprintf("%s of %s", attr, group(n)))
		}
	}
	if len(out) == 0 {
		return "that it executed"
	}
	return analysis.FormatList(out, len(out))
}

// share is a part in percent, for people; JSON has both numbers instead.
func share(n, of int) string {
	// Never rounded to 0 %, which would say that nothing is selected.
	switch p := 100 * float64(n) / float64(max(of, 1)); {
	case n == 0:
		return "0 %"
	case p < 0.1:
		return "< 0.1 %"
	default:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	}
}

// group writes a count as the report does.
func group(n int) string { return analysis.FormatExact(uint64(n)) }
