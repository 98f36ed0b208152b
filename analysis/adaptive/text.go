package adaptive

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"alleria/abp"
)

// bars are an eighth to eight eighths of a line's height.
var bars = [...]rune{' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'}

// label is how wide the names of measures are.
const label = 36

// Text draws a chart for a terminal, and lists the decisions below, top of them; 0: all.
func Text(w io.Writer, c *Chart, top int) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "Adaptation over %.1f s, decided every %.3g s, at most %d processing threads; TP %.3g%%, TAY1 %.3g%%, TAY2 %.3g%%, TAZ %.3g%%\n\n",
		c.Seconds, c.Settings.Period, c.Settings.Most, 100*c.Settings.TP, 100*c.Settings.TAY1, 100*c.Settings.TAY2, 100*c.Settings.TAZ)
	fmt.Fprintf(out, "%-*s %s\n", label, "+ created or resumed, - suspended", signs(c))
	for _, m := range c.Measures {
		var line strings.Builder
		for _, v := range m.Values {
			line.WriteRune(bar(v, m.Most))
		}
		fmt.Fprintf(out, "%-*s %s %.3g %s\n", label, m.Name, line.String(), m.Most, m.Unit)
	}
	fmt.Fprintf(out, "%-*s %s\n\n", label, "phase", phases(c))
	fmt.Fprintf(out, "%9s  %-5s %-8s %7s %7s %8s %8s  %s\n", "seconds", "phase", "thread", "threads", "buffers", "ptit", "atwt", "why")
	rows := c.Rows
	if top > 0 && len(rows) > top {
		rows = rows[:top]
	}
	for i := range rows {
		fmt.Fprintln(out, row(&rows[i]))
	}
	if n := len(c.Rows) - len(rows); n > 0 {
		fmt.Fprintf(out, "%d more; --top 0 shows all\n", n)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	return nil
}

// row is a decision.
func row(a *abp.Adaptation) string {
	phase := a.Phase
	if a.Next != a.Phase {
		phase += ">" + a.Next
	}
	why := a.Why
	switch a.Event {
	case abp.EventStart:
		why = "the first processing threads begin"
	case abp.EventBroken:
		why = "a processing thread gave up"
	case abp.EventEnd:
		why = "the end"
	}
	return fmt.Sprintf("%9.2f  %-5s %-8s %7d %7d %7.0fms %7.0fms  %s", a.Time, phase, a.Action, a.Threads, a.Buffers, 1e3*a.PTIT, 1e3*a.ATWT, why)
}

// bar is how high a value is.
func bar(v, most float64) rune {
	if most <= 0 || v <= 0 {
		return bars[0]
	}
	return bars[max(min(int(v/most*8+0.5), 8), 1)]
}

// signs is where threads were created or resumed, and suspended; * where both happened.
func signs(c *Chart) string {
	line := []byte(strings.Repeat(" ", len(c.Phases)))
	for _, m := range c.Marks {
		sign := byte('+')
		switch {
		case m.Event.Event == abp.EventBroken:
			sign = '!'
		case m.Event.Action == abp.ActionSuspend:
			sign = '-'
		}
		if old := line[m.Column]; old != ' ' && old != sign {
			sign = '*'
		}
		line[m.Column] = sign
	}
	return string(line)
}

// phases is the letters, one a column.
func phases(c *Chart) string {
	var b strings.Builder
	for _, p := range c.Phases {
		if len(p) != 1 {
			p = " "
		}
		b.WriteString(p)
	}
	return b.String()
}
