package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"
	"github.com/spf13/cobra"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/cache"
	"alleria/analysis/stream"
	"alleria/internal/symbols"
)

// annotateHelp is what annotate says of itself.
const annotateHelp = `annotate lists the recorded instructions of a function (whose name may hold *) below
their source lines, with how often they were executed and, where values were recorded,
the ranges of the values that they read and wrote. Code of inlined functions is shown
with its own lines and with the place of the call. Lines whose code was never executed
have a count of 0. Source files are read from where the debug information says they
are. With --misses the recorded accesses go through caches, as analyze cache has them,
and each instruction is shown with its misses.`

// annotateFlags are the command's.
type annotateFlags struct {
	filter         queryFlags
	json, misses   bool
	syntax, output string
	caches         cacheFlags
}

// annotateCommand shows functions' code with counts.
func (a *app) annotateCommand() *cobra.Command {
	f := annotateFlags{syntax: string(analysis.Intel)}
	c := &cobra.Command{
		Use:     "annotate FUNCTION PROFILE",
		Short:   "Show a function's source and instructions with their counts",
		Long:    annotateHelp,
		Example: "  alleria annotate BZ2_compressBlock out\n  alleria annotate --misses --l1d 48k,12,64 BZ2_compressBlock out\n  alleria annotate -o code.html 'parse_*' out",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("annotate takes a function and a profile: alleria annotate FUNCTION PROFILE")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if given := changedOf(c.Flags(), cacheNames()...); !f.misses && len(given) > 0 {
				return usagef("--%s is for --misses", given[0])
			}
			f.filter.functions = append(f.filter.functions, args[0])
			return a.annotated(&f, args[1:])
		},
	}
	fl := c.Flags()
	fl.UintSliceVar(&f.filter.processes, "process", nil, "only these processes, by `number`")
	fl.UintSliceVar(&f.filter.threads, "thread", nil, "only these threads, by `number` within their process")
	fl.StringVar(&f.filter.time, "time", "", "only this `range` of seconds since the start: 0.5-1.5")
	fl.StringVar(&f.syntax, "syntax", f.syntax, "assembler `syntax`: intel or att")
	fl.StringVarP(&f.output, "output", "o", "", "write a page to this `file` (.html)")
	fl.BoolVar(&f.json, "json", false, "print JSON: a list of functions")
	fl.BoolVar(&f.misses, "misses", false, "show what each instruction misses in caches")
	f.caches.register(fl)
	return c
}

// annotated does what the flags ask for.
func (a *app) annotated(f *annotateFlags, paths []string) error {
	caches, err := f.caches.options()
	if err != nil {
		return err
	}
	switch analysis.Syntax(f.syntax) {
	case analysis.Intel, analysis.ATT:
	default:
		return usagef("--syntax is intel or att, not %q", f.syntax)
	}
	if ext := strings.ToLower(filepath.Ext(f.output)); f.output != "" && ext != ".html" && ext != ".htm" {
		return usagef("--output: annotated code is written to .html, not %q", f.output)
	}
	return a.openProfiles(paths, func(profiles []*abp.Profile) error {
		q, err := f.filter.queryRecords(profiles)
		if err != nil {
			return err
		}
		var o *cache.Options
		if f.misses {
			o = &caches
			a.sayBursts(profiles, q, lacksMisses)
		} else {
			a.sayBursts(profiles, q, lacksCounts)
		}
		all, err := a.annotate(profiles[0], q, analysis.Syntax(f.syntax), o)
		if err != nil {
			return err
		}
		switch {
		case f.output != "":
			return a.annotatedPage(f.output, all)
		case f.json:
			return a.printJSON(all)
		}
		for _, f := range all {
			if err := f.WriteText(a.stdout); err != nil {
				return err
			}
		}
		return nil
	})
}

// annotate annotates the functions of all processes that q wants, with what they miss in caches if there are some.
func (a *app) annotate(p *abp.Profile, q abp.Query, syntax analysis.Syntax, caches *cache.Options) (all []*analysis.Annotated, err error) {
	src := newSourceLines()
	defer func() { err = errors.Join(err, src.close()) }()
	d, err := analysis.NewDisassembler(syntax)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	texts := map[string][]string{}
	how := analysis.Annotator{Line: src.find, Inlined: src.inlined, Lines: src.between, Text: func(c *analysis.InsCount) string { return d.Text(c.Code, c.Addr) },
		Source: func(file string, line int) string {
			lines, ok := texts[file]
			if !ok && file != "" {
				if b, err := os.ReadFile(file); err == nil { // else only the number is shown
					lines = strings.Split(string(b), "\n")
				}
				texts[file] = lines
			}
			if line < 1 || line > len(lines) {
				return ""
			}
			return strings.ReplaceAll(strings.TrimRight(lines[line-1], "\r"), "\t", "    ")
		}}
	all = []*analysis.Annotated{}
	for _, proc := range p.Processes() {
		if len(q.Processes) > 0 && !slices.Contains(q.Processes, proc.Number()) {
			continue
		}
		if caches != nil {
			if how.Misses, err = a.missesOf(p, proc, q, *caches); err != nil {
				return nil, err
			}
		}
		progress, stop := a.reading()
		one, err := analysis.Annotate(p, proc, q, how, progress)
		stop()
		if err != nil {
			return nil, err
		}
		all = append(all, one...)
	}
	return all, nil
}

// missesOf simulates caches over all that a process has recorded and returns the misses by instruction.
func (a *app) missesOf(p *abp.Profile, proc *abp.Process, q abp.Query, o cache.Options) (func(analysis.Code) *analysis.Misses, error) {
	o.Threads, o.Part = q.Threads, stream.PartOf(proc, q)
	progress, stop := a.reading()
	defer stop()
	all, err := cache.SimulateAll(p, proc, o, progress)
	if err != nil {
		return nil, err
	}
	by := all.Instructions()
	return func(c analysis.Code) *analysis.Misses {
		m := by[c]
		return &analysis.Misses{L1I: m.L1I, L1D: m.L1DRead + m.L1DWrite, LL: m.LLI + m.LLRead + m.LLWrite}
	}, nil
}

// annotatedPage writes the page.
func (a *app) annotatedPage(name string, all []*analysis.Annotated) error {
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("annotate: %w", err)
	}
	if err := errors.Join(analysis.WriteAnnotatedHTML(f, all), f.Close()); err != nil {
		return err
	}
	fmt.Fprintf(a.messages(), "alleria: wrote %s\n", name)
	return nil
}

// sourceLines finds lines of source in the files of a profile's images, as far as they are
// still there: a file whose build-id is another one by now has other lines.
type sourceLines struct {
	cache  *symbols.Cache
	images map[*abp.Image]*symbols.Image // nil: no file that fits
}

// newSourceLines opens nothing yet; Close closes what was opened.
func newSourceLines() *sourceLines {
	return &sourceLines{symbols.NewCache(symbols.Options{Fetcher: fetcher()}), map[*abp.Image]*symbols.Image{}}
}

// open returns the file of an image, nil if there is none that fits.
func (s *sourceLines) open(img *abp.Image) *symbols.Image {
	im, known := s.images[img]
	if !known {
		if opened, err := s.cache.Open(img.Path); err == nil && (len(img.BuildID) == 0 || opened.BuildID == hex.EncodeToString(img.BuildID)) {
			im = opened
		}
		s.images[img] = im
	}
	return im
}

// find is an analysis.Liner.
func (s *sourceLines) find(img *abp.Image, addr uint64) (file string, line int, ok bool) {
	im := s.open(img)
	if im == nil {
		return "", 0, false
	}
	file, line, err := im.Line(addr - img.Base)
	return file, line, err == nil
}

// inlined lists the functions that were inlined at an address, the innermost first.
func (s *sourceLines) inlined(img *abp.Image, addr uint64) (out []analysis.InlinedCall) {
	im := s.open(img)
	if im == nil {
		return nil
	}
	frames, err := im.Frames(addr - img.Base)
	if err != nil {
		return nil
	}
	for i := range frames[:len(frames)-1] {
		name := demangle.Filter(frames[i].Function, demangle.NoParams)
		out = append(out, analysis.InlinedCall{Function: name, File: frames[i+1].File, Line: frames[i+1].Line})
	}
	return out
}

// between lists the lines that have code from one address up to another.
func (s *sourceLines) between(img *abp.Image, from, to uint64) (out []analysis.CodeLine) {
	im := s.open(img)
	if im == nil {
		return nil
	}
	_, all, err := im.UnitLines(from - img.Base)
	if err != nil {
		return nil
	}
	for i, l := range all {
		addr := l.Addr + img.Base
		if addr >= from && addr < to && (i+1 == len(all) || all[i+1].Addr > l.Addr) { // else it has no code of its own
			out = append(out, analysis.CodeLine{Addr: addr, File: l.File, Line: l.Line})
		}
	}
	return out
}

// close closes the images.
func (s *sourceLines) close() error { return s.cache.Close() }
