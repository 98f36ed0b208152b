package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"alleria/abp"
)

// Sampling is measured by what it says of functions and of memory: modes "error-R" record bursts to disk, and what the report and the heat map make of them is compared with
// "functions", exact counts by function of the same program, and with "heat", the heat map of a recording of everything. The error of a function is the CAB paper's (section 6.4): by how much
// the estimate is off, as a part of the exact figure. It is taken of all functions that have more than a hundredth of the instructions, and of all blocks of heatBlock bytes that have as much of the accesses.
// Addresses are not random in these modes, so that blocks are the same.

// exactMode is the mode whose counts those of the others are compared with, heatMode the one whose heat map is. It records everything and takes its time: it runs where it,
// or the group, is named.
const (
	exactMode = "functions"
	heatMode  = "heat"
	heatBlock = "64K"
)

// errorPrefix begins the names of the modes that are compared with it.
const errorPrefix = "error-"

// mostError is what an error may be, on average over a program's functions, by the rate.
func mostError(mode string) float64 {
	if mode == errorPrefix+"1%" || mode == errorPrefix+"5%" {
		return 0.03
	}
	return 0
}

// leastShare is from which part of all instructions on a function counts.
const leastShare = 0.01

// function is what a run says of one: a name with the file that it is in.
type function struct {
	Name         string  `json:"name"`
	Image        string  `json:"image"`
	Instructions uint64  `json:"instructions"`
	Error        float64 `json:"error"` // that is told with the estimate
}

// totals adds functions of one name up, over all processes.
func totals(lists ...[]function) map[string]function {
	sum := map[string]function{}
	for _, l := range lists {
		for _, f := range l {
			key := f.Image + "\x00" + f.Name
			f.Instructions += sum[key].Instructions
			f.Error = max(f.Error, sum[key].Error)
			sum[key] = f
		}
	}
	return sum
}

// accuracyRow is how far a sample is off.
type accuracyRow struct {
	// Functions have more than a hundredth of all instructions. MeanError is over these, WorstError of one of them, TotalError of all instructions
	// together; medians of the runs. Told is for which part of them the error that the report tells (95 % confidence) was not exceeded.
	Functions  int     `json:"functions,omitempty"`
	MeanError  float64 `json:"mean_error,omitempty"`
	WorstError float64 `json:"worst_error,omitempty"`
	TotalError float64 `json:"total_error,omitempty"`
	Told       float64 `json:"told,omitempty"`
	MustError  float64 `json:"must_error,omitempty"`
	// HeatBlocks have more than a hundredth of all accesses; errors as above.
	HeatBlocks     int     `json:"heat_blocks,omitempty"`
	MeanHeatError  float64 `json:"mean_heat_error,omitempty"`
	WorstHeatError float64 `json:"worst_heat_error,omitempty"`
}

// accuracy compares a sample with exact counts.
func accuracy(exact, sample map[string]function) (a accuracyRow) {
	var all, estimate uint64
	for _, f := range exact {
		all += f.Instructions
	}
	for _, f := range sample {
		estimate += f.Instructions
	}
	if all == 0 {
		return a
	}
	a.TotalError = math.Abs(float64(estimate)/float64(all) - 1)
	for key, f := range exact {
		if float64(f.Instructions) < leastShare*float64(all) {
			continue
		}
		off := math.Abs(float64(sample[key].Instructions)/float64(f.Instructions) - 1)
		a.Functions++
		a.MeanError += off
		a.WorstError = max(a.WorstError, off)
		if off <= sample[key].Error {
			a.Told++
		}
	}
	if n := float64(a.Functions); n > 0 {
		a.MeanError /= n
		a.Told /= n
	}
	return a
}

// accurate fills a row in from the runs of a mode and the exact counts.
func (r *row) accurate(s *series, all []*series) {
	if !strings.HasPrefix(s.mode.name, errorPrefix) {
		return
	}
	var exact, heat map[string]function
	for _, o := range all {
		switch {
		case o.failure != "":
		case o.mode.name == exactMode:
			exact = o.volume.functions
		case o.mode.name == heatMode:
			heat = o.volume.heat
		}
	}
	var heatMean, heatWorst []float64
	for _, sample := range s.heats {
		a := accuracy(heat, sample)
		heatMean, heatWorst = append(heatMean, a.MeanError), append(heatWorst, a.WorstError)
		r.HeatBlocks = a.Functions
	}
	r.MeanHeatError, r.WorstHeatError = median(heatMean), median(heatWorst)
	var mean, worst, total, told []float64
	for _, sample := range s.samples {
		a := accuracy(exact, sample)
		mean, worst, total, told = append(mean, a.MeanError), append(worst, a.WorstError), append(total, a.TotalError), append(told, a.Told)
		r.Functions = a.Functions
	}
	r.MeanError, r.WorstError, r.TotalError, r.Told, r.MustError = median(mean), median(worst), median(total), median(told), mostError(s.mode.name)
}

// printErrors prints what the table has no columns for.
func printErrors(w io.Writer, rows []row) {
	for i := range rows {
		r := &rows[i]
		if r.Functions == 0 || r.Failure != "" {
			continue
		}
		must := ""
		if r.MustError > 0 {
			must = fmt.Sprintf(" (must %.0f) %s", 100*r.MustError, verdictOf(r.MeanError, r.MustError, 0))
		}
		fmt.Fprintf(w, "\n%s %s: %d functions off by %.1f %% on average%s, %.1f at most, all instructions by %.2f; within what the report tells: %.0f %%",
			r.Program, r.Mode, r.Functions, 100*r.MeanError, must, 100*r.WorstError, 100*r.TotalError, 100*r.Told)
		if r.HeatBlocks > 0 {
			fmt.Fprintf(w, "; %d blocks of %s of the heat map by %.1f %%, %.1f at most", r.HeatBlocks, heatBlock, 100*r.MeanHeatError, 100*r.WorstHeatError)
		}
	}
}

// accuracyModes are the exact counts, and samples at some rates.
func accuracyModes(alleria string, record recorder) []mode {
	exact := record(exactMode, "exact counts by function, for error-…", exactFunctions, "--only", "count", "-o", "DIR")
	addresses := []string{"--no-aslr", "--select", "any", "--fields", "address", "-o", "DIR"}
	heat := record(heatMode, "everything to disk, for its heat map, for error-…", func(dir string) (volume, error) {
		v, err := recorded(dir)
		if err == nil {
			v.heat, err = heatMap(alleria, dir)
		}
		return v, err
	}, addresses...)
	all := []mode{exact, heat}
	for i := range all {
		all[i].group, all[i].slow = "errors", true
	}
	for _, rate := range []string{"1%", "5%", "20%", "50%"} {
		m := record(errorPrefix+rate, "addresses in bursts to disk, "+rate+" of all instructions, compared with exact counts and the whole heat map", func(dir string) (volume, error) {
			v, err := recorded(dir)
			if err == nil {
				v.functions, err = reported(alleria, filepath.Join(dir, "run"))
			}
			if err == nil {
				v.heat, err = heatMap(alleria, dir)
			}
			return v, err
		}, append(slices.Clone(addresses), "--sample-rate", rate)...)
		m.group, m.slow, m.needs = "errors", true, exactMode
		all = append(all, m)
	}
	return all
}

// heatMap reads how many accesses each block of memory has, from the table that users have.
func heatMap(alleria, dir string) (map[string]function, error) {
	path := filepath.Join(dir, "heat.csv")
	if text, err := exec.Command(alleria, "heatmap", "-q", "--block", heatBlock, "-o", path, filepath.Join(dir, "run")).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("heatmap: %w: %s", err, lastLine(string(text)))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("heatmap: %w", err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("heatmap: %w", err)
	}
	blocks := make(map[string]function)
	for _, row := range rows[min(1, len(rows)):] { // address, bytes, reads, writes
		reads, err := strconv.ParseUint(row[2], 10, 64)
		writes, werr := strconv.ParseUint(row[3], 10, 64)
		if err = errors.Join(err, werr); err != nil {
			return nil, fmt.Errorf("heatmap: %w", err)
		}
		blocks[row[0]] = function{Name: row[0], Instructions: reads + writes}
	}
	return blocks, nil
}

// exactFunctions reads the counts by function of a run that only counted.
func exactFunctions(dir string) (v volume, err error) {
	run, err := abp.ReadRun(filepath.Join(dir, "run"))
	if err != nil {
		return v, err
	}
	var lists [][]function
	for _, p := range run.Processes {
		if p.Counted == nil {
			continue
		}
		var list []function
		for _, f := range p.Counted.Functions {
			list = append(list, function{Name: f.Name, Image: f.Image, Instructions: f.Instructions})
			v.instructions += f.Instructions
		}
		lists = append(lists, list)
	}
	v.functions = totals(lists...)
	return v, nil
}

// reported reads the functions of a profile from the report that users have.
func reported(alleria, dir string) (map[string]function, error) {
	text, err := exec.Command(alleria, "report", "--json", "--top", "0", dir).Output()
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	var report struct {
		Processes []struct{ Functions []function }
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	var lists [][]function
	for _, p := range report.Processes {
		lists = append(lists, p.Functions)
	}
	return totals(lists...), nil
}
