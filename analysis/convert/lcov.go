package convert

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"

	"alleria/abp"
	"alleria/analysis"
	"alleria/internal/symbols"
)

// lcovFormat is the tracefile of lcov, which genhtml and editors read.
func lcovFormat() *Format {
	return &Format{
		Name: "lcov", Ending: ".info", Summary: "lcov tracefile with counts for genhtml: how often each line and function was executed",
		Needs: "every instruction (--select any), programs with debug information",
		write: writeLcov,
	}
}

// lcovFile is a source file.
type lcovFile struct {
	lines     map[int]uint64
	functions map[string]*lcovFunction
}

// lcovFunction is a function, at the line of its first instruction.
type lcovFunction struct {
	line  int
	count uint64
}

// lcovMaker collects.
type lcovMaker struct {
	sources *sources
	files   map[string]*lcovFile
}

// lcovUnit is a compilation unit of an image.
type lcovUnit struct {
	image *symbols.Image
	unit  uint64
}

// lcovLine is a line of a source file.
type lcovLine struct {
	file string
	line int
}

// lcovKey is an instruction of a version of the code.
type lcovKey struct {
	image *abp.Image
	addr  uint64
}

// writeLcov counts a line as often as the most executed of its instructions. Lines that were
// not executed are those of the compilation units that anything was executed of.
func writeLcov(w io.Writer, o *Options) error {
	if err := o.need(abp.FlagInstructions, "instructions"); err != nil {
		return err
	}
	m := &lcovMaker{sources: newSources(o), files: map[string]*lcovFile{}}
	defer m.sources.close()
	for _, p := range o.processes() {
		places := analysis.NewPlaces(p)
		counts := map[lcovKey]uint64{}
		starts := map[lcovKey]*abp.Function{}
		err := analysis.EachCount(o.Profile, p, o.Query, o.Progress, func(c *analysis.InsSum) {
			k := lcovKey{places.Image(c.Block), c.Block.InsAddr(c.Ins)}
			counts[k] += c.Counts.Instructions
			if f := places.Function(c.Block, c.Ins); f != nil && f.Addr == k.addr {
				starts[k] = f
			}
		})
		if err != nil {
			return err
		}
		m.process(counts, starts)
	}
	if len(m.files) == 0 {
		return fmt.Errorf("debug information of what ran (build with -g): %w", ErrNotRecorded)
	}
	return m.write(w)
}

// process adds what a process executed. Lines add up over processes.
func (m *lcovMaker) process(counts map[lcovKey]uint64, starts map[lcovKey]*abp.Function) {
	units := map[lcovUnit]bool{} // whose lines are known
	lines := map[lcovLine]uint64{}
	for k, n := range counts {
		im := m.sources.open(k.image)
		if im == nil {
			continue
		}
		unit, all, err := im.UnitLines(k.addr - k.image.Base)
		if err != nil {
			continue
		}
		if u := (lcovUnit{im, unit}); !units[u] {
			units[u] = true
			for _, l := range all {
				at := lcovLine{l.File, l.Line}
				lines[at] = max(lines[at], counts[lcovKey{k.image, l.Addr + k.image.Base}])
			}
		}
		// Of an inlined function its own line, and the lines that it was called from.
		frames, err := im.Frames(k.addr - k.image.Base)
		if err != nil {
			continue
		}
		for _, f := range frames {
			if f.File != "" && f.Line > 0 {
				l := lcovLine{f.File, f.Line}
				lines[l] = max(lines[l], n)
			}
		}
		if f := starts[k]; f != nil {
			last := frames[len(frames)-1]
			m.function(last, f.Display(), n)
		}
	}
	for l, n := range lines {
		m.file(l.file).lines[l.line] += n
	}
}

// file returns a source file, made if it is new.
func (m *lcovMaker) file(name string) *lcovFile {
	f := m.files[name]
	if f == nil {
		f = &lcovFile{map[int]uint64{}, map[string]*lcovFunction{}}
		m.files[name] = f
	}
	return f
}

// function adds calls of a function.
func (m *lcovMaker) function(at symbols.Frame, name string, n uint64) {
	if at.File == "" {
		return
	}
	list := m.file(at.File).functions
	if list[name] == nil {
		list[name] = &lcovFunction{line: at.Line}
	}
	list[name].count += n
}

// write writes all files in the order of their names.
func (m *lcovMaker) write(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "TN:")
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		f := m.files[name]
		fmt.Fprintf(out, "SF:%s\n", analysis.Printable(name))
		names := slices.Sorted(maps.Keys(f.functions))
		hit := 0
		for _, fn := range names {
			fmt.Fprintf(out, "FN:%d,%s\n", f.functions[fn].line, analysis.Printable(fn))
		}
		for _, fn := range names {
			if f.functions[fn].count > 0 {
				hit++
			}
			fmt.Fprintf(out, "FNDA:%d,%s\n", f.functions[fn].count, analysis.Printable(fn))
		}
		fmt.Fprintf(out, "FNF:%d\nFNH:%d\n", len(names), hit)
		hit = 0
		for _, l := range slices.Sorted(maps.Keys(f.lines)) {
			if f.lines[l] > 0 {
				hit++
			}
			fmt.Fprintf(out, "DA:%d,%d\n", l, f.lines[l])
		}
		fmt.Fprintf(out, "LF:%d\nLH:%d\nend_of_record\n", len(f.lines), hit)
	}
	return out.Flush()
}
