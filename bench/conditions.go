package main

import (
	"fmt"
	"os/exec"
	"runtime"
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
