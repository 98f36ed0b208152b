package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"alleria/analysis"
	"alleria/internal/against"
	"alleria/internal/symbols"
)

// functionsFlags are the options of functions.
type functionsFlags struct {
	// image is another image than the program, by name, link or path.
	image string
	// sort is one of address, name and size; the default is what nm -n shows,
	// because neighbours in address are neighbours in source mostly.
	sort string
	// linked asks for names as the linker saw them. demangled is the default said
	// aloud, for scripts that must not depend on a default.
	linked, demangled bool
	sizes, sources    bool
	// stubs are left out otherwise: their names are those of functions that are
	// elsewhere, and a Call of one is never meant.
	stubs  bool
	asJSON bool
}

// functionsCommand answers the question that comes first in writing a configuration:
// what is it called?
//
// It shows names in the form that Call, Return and Function compare with. nm and
// objdump show others: with parameters, versions, or only what the file's own table
// has, without the debug file's.
func (a *app) functionsCommand() *cobra.Command {
	f := &functionsFlags{}
	c := &cobra.Command{
		Use:   "functions [flags] PROGRAM [PATTERN...]",
		Short: "List the functions that a configuration can name",
		Long: `functions lists the functions of a program, or with --image of a library that
it is linked with, under the names that Call, Return and Function take:
demangled and without parameters, or as linked. A function that nothing names
is shown as image+0xOFFSET. A PATTERN is such a name and may hold *; with
several, what any of them matches is listed, along with the parts and copies
that a compiler made of a function.

Names come from the program's symbol tables and from separate debug files,
which DEBUGINFOD_URLS may have fetched. Nothing is executed.`,
		Example: `  alleria functions ./tool 'parse_*'
  alleria functions --image libc.so.6 --sizes --sort size gzip
  alleria functions --sources --json ./tool`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("no program is named: alleria functions [flags] PROGRAM [PATTERN...]")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.functions(f, args[0], args[1:]) },
	}
	fl := c.Flags()
	fl.StringVar(&f.image, "image", "", "list this `image`, by file name or path, instead of the program")
	fl.StringVar(&f.sort, "sort", "address", "sort by `key`: address, name or size (the largest first)")
	fl.BoolVar(&f.demangled, "demangle", false, "names demangled and without parameters (the default)")
	fl.BoolVar(&f.linked, "linked", false, "names as linked, and compare only those")
	fl.BoolVar(&f.sizes, "sizes", false, "show sizes in bytes")
	fl.BoolVar(&f.sources, "sources", false, "show where functions are in the source, as file:line")
	fl.BoolVar(&f.stubs, "stubs", false, "list the stubs of the procedure linkage table too")
	fl.BoolVar(&f.asJSON, "json", false, "print JSON, with everything that is known")
	c.MarkFlagsMutuallyExclusive("demangle", "linked")
	return c
}

// functionRow is a line of functions --json. Its fields are named for readers who
// have seen nm and not this program's source; an address is a number and not
// text, as in all other JSON of ours.
type functionRow struct {
	Image   string   `json:"image"`
	Address uint64   `json:"address"` // as nm and objdump have it
	Size    uint64   `json:"size"`
	Name    string   `json:"name"`
	Linked  string   `json:"linked"`
	Aliases []string `json:"aliases,omitempty"` // further names as linked
	Kind    string   `json:"kind"`              // function, ifunc or stub
	From    string   `json:"from"`              // where the name was found
	PartOf  string   `json:"part_of,omitempty"`
	File    string   `json:"file,omitempty"`
	Line    int      `json:"line,omitempty"`
}

// functions lists what one image has. One image at a time: the names of all that a
// program is linked with are tens of thousands, and which image a function is in
// is half of what a configuration has to say.
func (a *app) functions(f *functionsFlags, program string, patterns []string) error {
	// Checked before the program is opened, as every option is: a wrong one should not
	// take as long as a right one.
	order, ok := map[string]func(x, y functionRow) int{
		"address": func(x, y functionRow) int { return cmp.Compare(x.Address, y.Address) },
		"name":    func(x, y functionRow) int { return strings.Compare(f.name(&x), f.name(&y)) },
		"size":    func(x, y functionRow) int { return cmp.Compare(y.Size, x.Size) },
	}[f.sort]
	if !ok {
		return usagef("--sort is address, name or size, not %q", f.sort)
	}
	t, err := openTarget(program)
	if err != nil {
		return err
	}
	defer t.Close()
	t.Notices(a.messages())
	im := t.Program()
	// The program has to be there even so: it decides, by its loader's rules, which
	// file a name means.
	if f.image != "" {
		if im, err = imageFor(t, f.image); err != nil {
			return err
		}
	}
	rows := f.rows(im, patterns)
	// An error, so that scripts notice; a program without any function at all is only
	// odd.
	if len(rows) == 0 && len(patterns) > 0 {
		return usagef("no function of %s matches %s; %s", im.Key.Name, analysis.FormatList(patterns, 3), against.NearestFunctions(patterns[0], im))
	}
	// Stable, from the table's order of addresses: equals stay sorted by that.
	slices.SortStableFunc(rows, order)
	if f.asJSON {
		return a.printJSON(rows)
	}
	if err := f.print(a, rows); err != nil {
		return err
	}
	// Not with patterns: who finds what he looked for does not ask what else there is.
	if named, all := im.Named(); len(patterns) == 0 && named < all {
		fmt.Fprintf(a.messages(), "alleria: %d of the %d functions of %s have no name; debug symbols would name them\n", all-named, all, im.Key.Name)
	}
	return nil
}

// imageFor finds the image to list. A path that the program is not linked with
// is opened as it is: it may be loaded later.
// The image is added to the target, so that it is closed with it.
func imageFor(t *against.Target, name string) (*against.Image, error) {
	if im, ok := t.Image(name); ok {
		return im, nil
	}
	// By path only: a bare name could be any file in the loader's directories, also
	// one of another architecture.
	if strings.Contains(name, "/") {
		im, err := t.Add(name)
		if err != nil {
			return nil, &statusError{statusUsage, err}
		}
		return im, nil
	}
	return nil, usagef("%s is not linked with %q; its images are %s", t.Name(), name, analysis.FormatList(t.ImageNames(), 20))
}

// rows selects and describes functions. They are described before they are sorted
// because two of the three keys are part of the description.
// No pattern selects everything. The order is that of addresses, from the table.
func (f *functionsFlags) rows(im *against.Image, patterns []string) []functionRow {
	// A set rather than a list of results: patterns may overlap.
	var found map[uint64]bool // by address
	if len(patterns) > 0 {
		found = make(map[uint64]bool)
		for _, p := range patterns {
			// Select and not Find: what a Function element would take is what is
			// listed, parts and copies with it.
			for _, fn := range im.Select(p, f.linked) {
				found[fn.Addr] = true
			}
		}
	}
	fns := im.Functions()
	rows := make([]functionRow, 0, len(fns)) // never null in JSON
	for i := range fns {
		fn := &fns[i]
		if fn.Kind == symbols.PLT && !f.stubs || found != nil && !found[fn.Addr] {
			continue
		}
		rows = append(rows, f.row(im, fn))
	}
	return rows
}

// row describes one function. Lines are looked up only where they are wanted:
// the first reads the whole line table.
func (f *functionsFlags) row(im *against.Image, fn *symbols.Function) functionRow {
	r := functionRow{Image: im.Key.Name, Address: fn.Addr, Size: fn.Size, Name: fn.Name(), Linked: fn.Linked(),
		From: fn.Source.String(), PartOf: fn.Parent()}
	r.Kind = [...]string{symbols.Plain: "function", symbols.IFunc: "ifunc", symbols.PLT: "stub"}[fn.Kind]
	// The first is the name itself, repeated only where it has a version, which the
	// name lacks.
	for i, a := range fn.Aliases {
		if i > 0 || a.Version != "" {
			r.Aliases = append(r.Aliases, a.String())
		}
	}
	if f.sources {
		// No line is no error: start code and assembly have none in any program.
		if file, line, err := im.Line(fn.Addr); err == nil {
			r.File, r.Line = file, line
		} else if !errors.Is(err, symbols.ErrNoLine) {
			r.File = "?"
		}
	}
	return r
}

// name is the name that is shown and sorted by. Both kinds are in the row, so that
// JSON need not be asked for twice.
func (f *functionsFlags) name(r *functionRow) string {
	if f.linked {
		return r.Linked
	}
	return r.Name
}

// print writes one function a line, address first like nm does, and the name
// before what may be long or absent.
// JSON has everything; this has what fits a line, in columns that cut(1) can take
// apart but for the name, which comes last because C++ names hold spaces.
func (f *functionsFlags) print(a *app, rows []functionRow) error {
	var b strings.Builder
	lines := 0
	for i := range rows {
		r := &rows[i]
		// The full width for all, so that columns stay columns from a small program to
		// libc.
		fmt.Fprintf(&b, "%#016x  ", r.Address)
		if f.sizes {
			fmt.Fprintf(&b, "%8d  ", r.Size)
		}
		b.WriteString(f.name(r))
		// The other names of the same code, which select it as well.
		for _, alias := range r.Aliases {
			// Versions of one name are one name to a configuration.
			if bare, _, _ := strings.Cut(alias, "@"); bare != r.Linked && r.Kind != "stub" {
				b.WriteString(" = " + bare)
			}
		}
		if f.sources && r.File != "" {
			fmt.Fprintf(&b, "  %s:%d", r.File, r.Line)
			lines++
		}
		b.WriteByte('\n')
	}
	// In one write: libc has four thousand lines.
	if _, err := a.stdout.Write([]byte(b.String())); err != nil {
		return fmt.Errorf("list of functions: %w", err)
	}
	if f.sources && lines == 0 && len(rows) > 0 {
		fmt.Fprintf(a.messages(), "alleria: %s has no line table, nor has a debug file of it\n", rows[0].Image)
	}
	return nil
}
