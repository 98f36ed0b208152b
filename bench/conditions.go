package main

import (
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// conditions are what commands run under, besides their own inputs: as users run them, on
// all processors with the usual scheduling, unless a mode or -sched says otherwise.
type conditions struct {
	beside    int    // programs that do nothing but spin
	processor string // "": all of them; else the one that everything shares
}

// The values of -sched.
const (
	ordinary = "ordinary"
	realTime = "fifo"
)

// under gives the command that runs argv under the conditions.
// Native runs and rivals get the same priority: a ratio is to what ran as it did.
func (c conditions) under(argv []string, sched string) []string {
	if c.processor != "" {
		argv = append([]string{"taskset", "-c", c.processor}, argv...)
	}
	if sched == realTime {
		argv = append([]string{"chrt", "-f", "50"}, argv...)
	}
	return argv
}

// needs names the command that is missing for the conditions, "" if none is.
func (c conditions) needs() string {
	if c.processor != "" {
		if _, err := exec.LookPath("taskset"); err != nil {
			return "taskset is not installed"
		}
	}
	return ""
}

// spinners starts the programs that spin, and returns what ends them.
func (c conditions) spinners() (end func(), err error) {
	var all []*exec.Cmd
	end = func() {
		for _, cmd := range all {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // killed: that is all that it can say
		}
	}
	for range c.beside {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			end()
			return nil, fmt.Errorf("a program that spins: %w", err)
		}
		all = append(all, cmd)
	}
	return end, nil
}

// header says under what the figures below were taken.
func header(sched string, cold bool) string {
	var b strings.Builder
	b.WriteString(strconv.Itoa(runtime.NumCPU()))
	b.WriteString(" processors, ")
	if sched == realTime {
		b.WriteString("real-time priority (not as users run it)")
	} else {
		b.WriteString("ordinary scheduling")
	}
	if cold {
		b.WriteString(", translations are not kept between runs")
	}
	return b.String()
}

// crowded are modes that run translation where there is less room: beside two programs that
// spin, and everything on one processor.
func crowded(translate mode) []mode {
	busy, one := translate, translate
	busy.name, busy.about, busy.conditions = "translate-busy", "translation alone, two programs that spin beside", conditions{beside: 2}
	one.name, one.about, one.conditions = "translate-one", "translation alone, everything on one processor", conditions{processor: "0"}
	one.missing = one.conditions.needs()
	return []mode{busy, one}
}

// severalGroup names the modes that run the program several times.
const severalGroup = "several"

// several are modes that run the program more than once, and take as many times as long: four recorders one after the other and at once, and a recorded shell that executes the program
// once and twice, with nothing kept of earlier runs. What the program prints is the last one's.
func several(translate, addresses mode) []mode {
	const one = `"$@" >/dev/null`
	var all []mode
	add := func(of mode, name, about, script string, inside bool, needs string) {
		m := of
		m.name, m.about, m.slow, m.group, m.needs = name, about, true, severalGroup, needs
		m.command = func(program []string, dir string) []string {
			if inside {
				argv := of.command(append([]string{"sh", "-c", script, "sh"}, program...), dir)
				at := slices.Index(argv, "--")
				return slices.Insert(argv, at, "--cache", "off")
			}
			return append([]string{"sh", "-c", script, "sh"}, of.command(program, dir)...)
		}
		all = append(all, m)
	}
	for _, of := range []mode{translate, addresses} {
		add(of, of.name+inTurn, "four recorders, one after the other", one+`; `+one+`; `+one+`; "$@"`, false, "")
		add(of, of.name+together, "four recorders at once", one+` & `+one+` & `+one+` & "$@"; s=$?; wait; exit $s`, false, of.name+inTurn)
		add(of, of.name+once, "a shell that executes the program, nothing kept", `"$@"; exit $?`, true, "")
		add(of, of.name+twice, "a shell that executes the program twice, nothing kept", one+`; "$@"; exit $?`, true, of.name+once)
	}
	return all
}

// What the names of those modes end in.
const (
	inTurn   = "-in-turn"
	together = "-together"
	once     = "-once"
	twice    = "-twice"
)

// besideTarget is what crowded modes and several must reach, in terms of the one beside which they run; false for other modes. What a second execution has to save is the start, of
// programs that do little else.
func besideTarget(mode string, start bool, measured func(string) float64) (target, bool) {
	switch mode {
	case "translate-busy":
		return target{must: mustBusy * measured("translate")}, true
	case "translate-one":
		return target{must: mustOne * measured("translate")}, true
	}
	if of, ok := strings.CutSuffix(mode, together); ok {
		return target{must: mustTogether * measured(of+inTurn)}, true
	}
	if of, ok := strings.CutSuffix(mode, twice); ok && start {
		return target{must: mustTwice * measured(of+once)}, true
	}
	return target{}, strings.HasSuffix(mode, inTurn) || strings.HasSuffix(mode, once) || strings.HasSuffix(mode, twice)
}
