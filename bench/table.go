package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// row is one program in one mode: a line of the table.
//
// Its JSON form is read by scripts that compare runs: fields are only added. A figure of
// 0 is one that does not exist, everywhere in the table.
type row struct {
	Program string  `json:"program"`
	Mode    string  `json:"mode"`
	Seconds float64 `json:"seconds"` // median
	// Ratio is to the native median. Low and High bound the runs' own ratios.
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Must  float64 `json:"must,omitempty"`
	Reach float64 `json:"reach,omitempty"`

	pairRow

	Instructions        uint64  `json:"instructions,omitempty"`
	InstructionsPerSec  float64 `json:"instructions_per_second,omitempty"`
	BytesPerInstruction float64 `json:"bytes_per_instruction,omitempty"`
	MustBytes           float64 `json:"must_bytes,omitempty"`
	ReachBytes          float64 `json:"reach_bytes,omitempty"`

	callRow
	memoryRow
	accuracyRow
	poolRow
	readingRow
	// Failure is why the row has no figures, or why they don't count.
	Failure string `json:"failure,omitempty"`
}

// pairRow is what a row has that was measured in pairs.
type pairRow struct {
	// Of a row that was measured in that many pairs with native runs: Ratio is the
	// median of the pairs' ratios, and lies between Low and High in 95 of 100 cases. The
	// CPU figures are the same of the program's own processor time; page faults and
	// waits are medians of what a run had more than the native one of its pair.
	Pairs        int     `json:"pairs,omitempty"`
	CPURatio     float64 `json:"cpu_ratio,omitempty"`
	CPULow       float64 `json:"cpu_low,omitempty"`
	CPUHigh      float64 `json:"cpu_high,omitempty"`
	MoreFaults   float64 `json:"more_page_faults,omitempty"`
	MoreSwitches float64 `json:"more_waits,omitempty"`
}

// callRow is what a row has that is about calls.
type callRow struct {
	// NanosPerCall is what a call of the one function of calls, or one that is captured, costs more than
	// natively: nil where that is not measured, for a measured one may be 0.
	NanosPerCall *float64 `json:"nanoseconds_per_call,omitempty"`
	MustNanos    float64  `json:"must_nanoseconds,omitempty"`
	ReachNanos   float64  `json:"reach_nanoseconds,omitempty"`
}

// memoryRow is the memory that a row's runs took.
type memoryRow struct {
	TracerRSS     uint64 `json:"tracer_rss,omitempty"`
	TracerPrivate uint64 `json:"tracer_private,omitempty"`
	TargetRSS     uint64 `json:"target_rss,omitempty"`
	NativeRSS     uint64 `json:"native_rss,omitempty"`
	// Memory is the tool's private memory and the touched pages that it shares with
	// the target, each once, but for the rings. TargetMore is by how much the target's
	// private memory exceeds the native one.
	Memory      uint64 `json:"memory,omitempty"`
	MustMemory  uint64 `json:"must_memory,omitempty"`
	ReachMemory uint64 `json:"reach_memory,omitempty"`
	TargetMore  uint64 `json:"target_more,omitempty"`
	MustTarget  uint64 `json:"must_target,omitempty"`
}

// median of an odd or even number of values; 0 of none.
// The median, and not the mean: on a machine that others use, one run in five is an
// outlier, and always upwards.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Clone(values)
	slices.Sort(s)
	m := len(s) / 2
	if len(s)%2 == 1 {
		return s[m]
	}
	return (s[m-1] + s[m]) / 2
}

// means adds a row for each mode that ran on more than one program.
//
// Ratios are averaged geometrically: the mean of a program twice as fast and one twice as
// slow is then 1, whichever of the two is called the base (Fleming and Wallace, 1986).
func means(rows []row, modes []mode) []row {
	var out []row
	for _, m := range modes {
		sum, n := 0.0, 0
		for _, r := range rows {
			// Starting up is not a slowdown: true would drown the others. Those that compile while they run are judged by themselves.
			if r.Mode == m.name && r.Failure == "" && r.Ratio > 0 && !starts(r.Program) && !compiles(r.Program) {
				sum += math.Log(r.Ratio)
				n++
			}
		}
		if n > 1 && m.name != nativeMode {
			t := meanTarget(m.name)
			out = append(out, row{Program: "geometric mean", Mode: m.name, Ratio: math.Exp(sum / float64(n)), Must: t.must, Reach: t.reach})
		}
	}
	return out
}

// printTable prints the rows, a program's name only in its first.
func printTable(w io.Writer, rows []row) {
	head := []string{"program", "mode", "seconds", "ratio", "(range)", "must", "reach", "", "M ins/s", "B/ins", "must", "reach", "", "tracer", "memory", "must", "", "target+", "must"}
	lines := [][]string{head}
	last := ""
	for _, r := range rows {
		name := r.Program
		if name == last {
			name = ""
		}
		last = r.Program
		if r.Failure != "" {
			lines = append(lines, []string{name, r.Mode, r.Failure})
			continue
		}
		lines = append(lines, []string{
			name, r.Mode, number(r.Seconds, "%.3f"), number(r.Ratio, "%.2f"), spread(r),
			number(r.Must, "%.2f"), number(r.Reach, "%.2f"), verdictOf(r.Ratio, r.Must, r.Reach),
			number(r.InstructionsPerSec/1e6, "%.0f"), number(r.BytesPerInstruction, "%.2f"),
			number(r.MustBytes, "%.2f"), number(r.ReachBytes, "%.2f"), verdictOf(r.BytesPerInstruction, r.MustBytes, r.ReachBytes),
			mib(r.TracerRSS), mib(r.Memory), mib(r.MustMemory), verdictOf(float64(r.Memory), float64(r.MustMemory), float64(r.ReachMemory)),
			mib(r.TargetMore), mib(r.MustTarget),
		})
	}
	writeColumns(w, lines)
	for _, r := range rows {
		switch {
		case r.Failure != "" || r.NanosPerCall == nil:
		case r.MustNanos > 0:
			fmt.Fprintf(w, "\n%s %s: %.1f ns a call more than natively (must %.4g, reach %.4g) %s", r.Program, r.Mode, *r.NanosPerCall,
				r.MustNanos, r.ReachNanos, verdictOf(max(*r.NanosPerCall, 0.1), r.MustNanos, r.ReachNanos))
		default:
			fmt.Fprintf(w, "\n%s %s: %.1f ns a call more than natively", r.Program, r.Mode, *r.NanosPerCall)
		}
	}
	printPairs(w, rows)
	printErrors(w, rows)
	printPools(w, rows)
	printRates(w, rows)
	fmt.Fprintln(w, "\nratio: median to native's median. must, reach: slowdowns to be reached; where a rival ran, from its figure.")
	fmt.Fprintln(w, "Peak MiB. tracer: resident. memory: private and shared with the target, each page once, but for the rings.")
	fmt.Fprintln(w, "target+: the program's private memory beyond the native.")
}

// writeColumns lines the table up: names to the left, figures to the right.
// text/tabwriter cannot do both in one table.
// Widths are in runes: the marks are not ASCII.
func writeColumns(w io.Writer, lines [][]string) {
	widths := make([]int, len(lines[0]))
	for _, l := range lines {
		if len(l) < len(widths) { // a failure's text reaches over all columns
			l = l[:2]
		}
		for i, c := range l {
			widths[i] = max(widths[i], len([]rune(c)))
		}
	}
	for _, l := range lines {
		var b strings.Builder
		for i, c := range l {
			pad := strings.Repeat(" ", max(0, widths[i]-len([]rune(c))))
			if i > 0 {
				b.WriteString("  ")
			}
			if i < 2 || len(l) < len(widths) {
				b.WriteString(c + pad)
			} else {
				b.WriteString(pad + c)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// verdictOf marks a figure that must not exceed another: ✓✓ reached what it
// reaches for, ✓ what it must.
// Lower is better for everything that it is asked about.
func verdictOf(got, must, reach float64) string {
	switch {
	case got == 0 || must == 0:
		return ""
	case reach > 0 && got <= reach:
		return "✓✓"
	case got <= must:
		return "✓"
	}
	return "✗"
}

// number leaves out what there is no figure for: a zero would read as one.
func number(v float64, format string) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf(format, v)
}

// spread is the range of the runs' ratios, the measure of how much the median
// is worth.
func spread(r row) string {
	if r.Low == 0 {
		return ""
	}
	return fmt.Sprintf("(%.2f–%.2f)", r.Low, r.High)
}

// mib is bytes in whole MiB.
// Rounded down: half a MiB is within what two runs differ by.
func mib(n uint64) string { return number(float64(n>>20), "%.0f") }

// printJSON prints the rows for programs.
// One array, the means at its end.
func printJSON(w io.Writer, rows []row) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(rows); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	return nil
}
