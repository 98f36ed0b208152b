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
	"alleria/internal/symbols"
)

// annotateHelp is what annotate says of itself.
const annotateHelp = `annotate lists the recorded instructions of a function (whose name may hold *) below
their source lines, with how often they were executed and, where values were recorded,
the ranges of the values that they read and wrote. Code of inlined functions is shown
with its own lines and with the place of the call. Lines whose code was never executed
have a count of 0. Source files are read from where the debug information says they
are.`

// annotateCommand shows functions' code with counts.
func (a *app) annotateCommand() *cobra.Command {
	var filter queryFlags
	json, syntax, output := false, string(analysis.Intel), ""
	c := &cobra.Command{
		Use:     "annotate FUNCTION PROFILE",
		Short:   "Show a function's source and instructions with their counts",
		Long:    annotateHelp,
		Example: "  alleria annotate BZ2_compressBlock out\n  alleria annotate -o code.html 'parse_*' out",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("annotate takes a function and a profile: alleria annotate FUNCTION PROFILE")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			switch analysis.Syntax(syntax) {
			case analysis.Intel, analysis.ATT:
			default:
				return usagef("--syntax is intel or att, not %q", syntax)
			}
			if ext := strings.ToLower(filepath.Ext(output)); output != "" && ext != ".html" && ext != ".htm" {
				return usagef("--output: annotated code is written to .html, not %q", output)
			}
			filter.functions = append(filter.functions, args[0])
			return a.openProfiles(args[1:], func(profiles []*abp.Profile) error {
				q, err := filter.queryRecords(profiles)
				if err != nil {
					return err
				}
				all, err := a.annotate(profiles[0], q, analysis.Syntax(syntax))
				if err != nil {
					return err
				}
				switch {
				case output != "":
					return a.annotatedPage(output, all)
				case json:
					return a.printJSON(all)
				}
				for _, f := range all {
					if err := f.WriteText(a.stdout); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	fl := c.Flags()
	fl.UintSliceVar(&filter.processes, "process", nil, "only these processes, by `number`")
	fl.UintSliceVar(&filter.threads, "thread", nil, "only these threads, by `number` within their process")
	fl.StringVar(&filter.time, "time", "", "only this `range` of seconds since the start: 0.5-1.5")
	fl.StringVar(&syntax, "syntax", syntax, "assembler `syntax`: intel or att")
	fl.StringVarP(&output, "output", "o", "", "write a page to this `file` (.html)")
	fl.BoolVar(&json, "json", false, "print JSON: a list of functions")
	return c
}

// annotate annotates the functions of all processes that q wants.
func (a *app) annotate(p *abp.Profile, q abp.Query, syntax analysis.Syntax) (all []*analysis.Annotated, err error) {
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
	return &sourceLines{symbols.NewCache(symbols.Options{Fetcher: symbols.FetcherFromEnv()}), map[*abp.Image]*symbols.Image{}}
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
