package main

import (
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
	)
	c := &cobra.Command{
		Use:   "heatmap PROFILE",
		Short: "Draw where a program reads and writes memory",
		Long: `heatmap counts accesses by blocks of the address space and draws reads and writes
side by side, 256 blocks a line, on a logarithmic colour scale. Lines without any
access are folded. The endings of the output files say what to make: .png, .svg,
.csv (the numbers), .html (one page that zooms). With several processes, each
gets files of its own, with -pN before the ending.`,
		Example: "  alleria heatmap out\n  alleria heatmap -o heat.png -o heat.html --block 64K out",
		Args:    oneProfile,
		RunE: func(_ *cobra.Command, args []string) error {
			size, err := parseSize(block)
			if err != nil || size < 64 || bits.OnesCount64(uint64(size)) != 1 {
				return usagef("--block is a power of two of at least 64 bytes, like 4K or 1M, not %q", block)
			}
			if columns < 1 || columns > 4096 {
				return usagef("--columns is a number from 1 to 4096, not %d", columns)
			}
			// An ending that nothing can be made of is found before minutes of
			// counting.
			for _, o := range outputs {
				if _, err := heatWriter(o); err != nil {
					return err
				}
			}
			return openProfiles(args, func(profiles []*abp.Profile) error {
				a.warnGaps(profiles)
				q, err := filter.query(profiles)
				if err != nil {
					return err
				}
				h := heatmaps{app: a, profile: profiles[0], query: q, outputs: outputs,
					block: uint64(size), columns: columns, title: title}
				return h.draw()
			})
		},
	}
	fl := c.Flags()
	filter.register(fl)
	fl.StringArrayVarP(&outputs, "output", "o", []string{"heatmap.html"}, "write this `file`; may be repeated")
	fl.StringVar(&block, "block", "1M", "`size` of a block")
	fl.IntVar(&columns, "columns", analysis.DefaultHeatColumns, "`number` of blocks a line")
	fl.StringVar(&title, "title", "", "`text` above the map (default: the command)")
	return c
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
	var procs []*abp.Process
	for _, p := range h.profile.Processes() {
		if len(h.query.Processes) == 0 || slices.Contains(h.query.Processes, p.Number()) {
			procs = append(procs, p)
		}
	}
	if len(procs) == 0 {
		return usagef("the profile has no such process")
	}
	for _, p := range procs {
		heat, err := h.heatOf(p)
		if err != nil {
			return err
		}
		title := h.title
		if title == "" {
			title = strings.Join(p.Header().CommandLine, " ")
		}
		m := heat.Map(title, h.block, h.columns, analysis.Regions(p))
		if m.Total == (analysis.Traffic{}) {
			fmt.Fprintf(h.messages(), "alleria: no access of process %d was recorded that is asked for: its map is empty\n", p.Number())
		}
		for _, name := range h.outputs {
			if len(procs) > 1 {
				ext := filepath.Ext(name)
				name = fmt.Sprintf("%s-p%d%s", strings.TrimSuffix(name, ext), p.Number(), ext)
			}
			if err := writeHeat(m, name); err != nil {
				return err
			}
			fmt.Fprintf(h.messages(), "alleria: wrote %s\n", name)
		}
	}
	return nil
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
