package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/intercepts"
	"alleria/analysis/sharedmem"
	"alleria/config/quantity"
)

// heatmapCommand checks its flags before it reads anything: reading may take
// minutes.
//
// One profile and not several: a map of two runs side by side would need a common
// scale, and address spaces differ from run to run with randomisation on.
// A block is a power of two so that addresses divide by shifts, and at least a
// cache line.
func (a *app) heatmapCommand() *cobra.Command {
	var (
		filter  queryFlags
		outputs []string
		block   string
		columns int
		title   string
		shared  string
	)
	var c *cobra.Command
	c = &cobra.Command{
		Use:   "heatmap PROFILE",
		Short: "Draw where a program reads and writes memory",
		Long: `heatmap counts accesses by blocks of the address space and draws reads and writes
side by side, 256 blocks per line, on a logarithmic colour scale. Lines without any
access are folded. The extension of an output file chooses the format: .png, .svg,
.csv (the numbers), .html (one page that zooms). With several processes, each
gets files of its own, with -pN before the extension.

--shared draws the memory that processes share, added up over all processes that have
mapped it, at whatever address: one map, by offset in the file or the anonymous memory.`,
		Example: "  alleria heatmap out\n  alleria heatmap --shared=anonymous out\n  alleria heatmap -o heat.png -o heat.html --block 64K out",
		Args:    oneProfile,
		RunE: func(_ *cobra.Command, args []string) error {
			size, err := quantity.Size(block)
			if err != nil || size < 64 || bits.OnesCount64(uint64(size)) != 1 {
				return usagef("--block is a power of two of at least 64 bytes, like 4K or 1M, not %q", block)
			}
			if columns < 1 || columns > 4096 {
				return usagef("--columns is a number from 1 to 4096, not %d", columns)
			}
			if err := heatOutputs(outputs); err != nil {
				return err
			}
			return a.openProfiles(args, func(profiles []*abp.Profile) error {
				q, err := filter.query(profiles)
				if err != nil {
					return err
				}
				a.sayBursts(profiles, q, lacksCounts)
				h := heatmaps{app: a, profile: profiles[0], query: q, outputs: outputs,
					block: uint64(size), columns: columns, title: title}
				if fl := c.Flags().Lookup("shared"); fl.Changed {
					return h.drawShared(shared)
				}
				return h.draw()
			})
		},
	}
	fl := c.Flags()
	filter.register(fl)
	fl.StringArrayVarP(&outputs, "output", "o", []string{"heatmap.html"}, "write to this `file`; may be repeated")
	fl.StringVar(&block, "block", "1M", "`size` of a block")
	fl.IntVar(&columns, "columns", analysis.DefaultHeatColumns, "`number` of blocks per line")
	fl.StringVar(&title, "title", "", "`text` above the map (default: the command)")
	fl.StringVar(&shared, "shared", "", "draw the memory that processes share instead: all of it, or only what has this `name`, path or inode, or is \"anonymous\"")
	fl.Lookup("shared").NoOptDefVal = allShared
	return c
}

// heatOutputs finds an ending that nothing can be made of, before minutes of counting.
func heatOutputs(names []string) error {
	for _, o := range names {
		if _, err := heatWriter(o); err != nil {
			return err
		}
	}
	return nil
}

// heatmaps draws the maps of one profile.
type heatmaps struct {
	*app
	profile *abp.Profile
	query   abp.Query
	outputs []string
	block   uint64
	columns int
	title   string
}

// draw draws a map for each process: address spaces have nothing to do with
// each other, and one picture of several would add up strangers.
//
// An address space is counted once, for all outputs. Files are written as each
// process is done: with many, the first can be looked at while the rest is read.
func (h *heatmaps) draw() error {
	procs, err := h.processes()
	if err != nil {
		return err
	}
	names := intercepts.NewCallers(fetcher())
	defer names.Close()
	for _, p := range procs {
		heat, err := h.heatOf(p)
		if err != nil {
			return err
		}
		title := cmp.Or(h.title, strings.Join(p.Header().CommandLine, " "))
		m := heat.Map(title, h.block, h.columns, analysis.RegionsBy(p, func(addr uint64) string {
			name, _, _ := strings.Cut(names.Name(p, addr), "+0x")
			return name
		}))
		if m.Total == (analysis.Traffic{}) {
			fmt.Fprintf(h.messages(), "alleria: no access that is asked for was recorded in process %d: its map is empty\n", p.Number())
		}
		for _, name := range h.outputs {
			if len(procs) > 1 {
				ext := filepath.Ext(name)
				name = fmt.Sprintf("%s-p%s%s", strings.TrimSuffix(name, ext), p.Name(), ext)
			}
			if err := writeHeat(m, name); err != nil {
				return err
			}
			fmt.Fprintf(h.messages(), "alleria: wrote %s\n", name)
		}
	}
	return nil
}

// processes are those that are asked for.
func (h *heatmaps) processes() ([]*abp.Process, error) {
	var procs []*abp.Process
	for _, p := range h.profile.Processes() {
		if len(h.query.Processes) == 0 || slices.Contains(h.query.Processes, p.Number()) {
			procs = append(procs, p)
		}
	}
	if len(procs) == 0 {
		return nil, usagef("the profile has no such process")
	}
	return procs, nil
}

// allShared is --shared without a name. A file that is called so is named by its path.
const allShared = "all"

// drawShared draws what processes share, one map of all that word means.
func (h *heatmaps) drawShared(word string) error {
	if word == allShared {
		word = ""
	}
	procs, err := h.processes()
	if err != nil {
		return err
	}
	all := sharedmem.Objects(procs)
	if len(all) == 0 {
		return usagef("no process of the profile has mapped shared memory while addresses were recorded, or the profile has a format before version 1.14")
	}
	meant := slices.DeleteFunc(slices.Clone(all), func(o *sharedmem.Object) bool { return !o.Matches(word) })
	if len(meant) == 0 {
		var names []string
		for _, o := range all {
			names = append(names, o.Name)
		}
		return usagef("--shared: no memory that processes share is called %q; there are %s", word, strings.Join(names, ", "))
	}
	regions := sharedmem.Lay(meant, h.block*uint64(h.columns))
	heat, err := sharedmem.Heat(meant, h.block, h.heatOf)
	if err != nil {
		return err
	}
	m := heat.Map(cmp.Or(h.title, "shared memory: "+strings.Join(h.profile.Processes()[0].Header().CommandLine, " ")), h.block, h.columns, regions)
	for _, o := range meant {
		h.sayShared(o)
	}
	for _, name := range h.outputs {
		if err := writeHeat(m, name); err != nil {
			return err
		}
		fmt.Fprintf(h.messages(), "alleria: wrote %s\n", name)
	}
	return nil
}

// sayShared says who has accessed an object.
func (h *heatmaps) sayShared(o *sharedmem.Object) {
	var users []string
	for _, u := range o.Users {
		if u.Traffic != (analysis.Traffic{}) {
			users = append(users, fmt.Sprintf("%s (%s reads, %s writes)", u.Process.Name(), analysis.FormatExact(u.Reads), analysis.FormatExact(u.Writes)))
		}
	}
	at := ""
	if o.Base > 0 {
		at = fmt.Sprintf(" at %#x", o.Base)
	}
	who := "not accessed"
	if len(users) > 0 {
		who = "accessed by " + strings.Join(users, ", ")
	}
	fmt.Fprintf(h.messages(), "alleria: %s, %s%s: %s\n", o.Name, analysis.FormatBytes(o.Size), at, who)
	if o.Reused {
		fmt.Fprintf(h.messages(), "alleria: %s: some addresses were other memory at other times; accesses there count for the memory that was there last\n", o.Name)
	}
}

// heatWriter says how a file of that name is written.
// The error is one of usage: it is asked for every file before anything is read.
func heatWriter(name string) (func(*analysis.HeatMap, io.Writer) error, error) {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".png":
		return (*analysis.HeatMap).WritePNG, nil
	case ".svg":
		return (*analysis.HeatMap).WriteSVG, nil
	case ".csv":
		return (*analysis.HeatMap).WriteCSV, nil
	case ".html", ".htm":
		return (*analysis.HeatMap).WriteHTML, nil
	}
	return nil, usagef("--output: a heat map is written to .png, .svg, .csv or .html, not %q", name)
}

// writeHeat writes one file. A half-written one is left behind on an error,
// which names it.
// It is not removed, because the name may have been a device or a link.
func writeHeat(m *analysis.HeatMap, name string) error {
	write, err := heatWriter(name)
	if err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("heat map: %w", err)
	}
	return errors.Join(write(m, f), f.Close())
}
