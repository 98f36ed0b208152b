package main

import (
	"fmt"
	"slices"
	"strings"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/calls"
)

// countedMethods shows what a run has counted that counted calls in the program's own threads; false for any other profile.
func (a *app) countedMethods(path string, f *orderFlags, top int, json bool) (done bool, err error) {
	err = openProfiles([]string{path}, func(profiles []*abp.Profile) error {
		run := profiles[0].Run()
		if run == nil {
			return nil
		}
		all := []calls.MethodsJSON{}
		for i := range run.Processes {
			e := &run.Processes[i]
			if e.Counted == nil || !slices.ContainsFunc(e.Counted.Functions, func(f abp.CountedFunction) bool { return f.Calls > 0 }) {
				continue
			}
			done = true
			if len(f.processes) == 0 || slices.Contains(f.processes, uint(e.Number)) {
				all = append(all, methodsOf(e))
			}
		}
		switch {
		case !done:
			return nil
		case len(f.threads) > 0 || f.time != "" || len(f.windows) > 0:
			return usagef("%s has counts of whole processes: --thread, --time and --window need a recorded profile", path)
		case json:
			return a.printJSON(all)
		}
		for i := range all {
			a.printMethods(&all[i], top)
		}
		return nil
	})
	return done || err != nil, err
}

// methodsOf gives counts the form that trees of calls give.
func methodsOf(e *abp.ProcessEntry) calls.MethodsJSON {
	out := calls.MethodsJSON{Process: e.Number, Command: e.Command, Total: e.Counts, Functions: []calls.MethodJSON{}}
	for _, f := range e.Counted.Functions {
		m := calls.MethodJSON{Calls: f.Calls}
		m.Name, m.Image = f.Name, f.Image
		if m.Name == "" {
			m.Name = calls.NoFunction
		}
		m.Exclusive.Instructions = f.Instructions
		out.Functions = append(out.Functions, m)
	}
	return out
}

// printMethods prints counts of a process.
func (a *app) printMethods(m *calls.MethodsJSON, top int) {
	fmt.Fprintf(a.stdout, "Process %d: %s\n  %s instructions; what functions call is not counted for them\n\n", m.Process, strings.Join(m.Command, " "),
		analysis.FormatExact(m.Total.Instructions))
	t := analysis.NewTextTable("function", "image", "calls", "exclusive", "%")
	t.Text = 2
	for i := range m.Functions {
		if top > 0 && i == top {
			t.More = len(m.Functions) - i
			break
		}
		f := &m.Functions[i]
		t.Add(f.Name, f.Image, analysis.FormatExact(f.Calls), analysis.FormatExact(f.Exclusive.Instructions),
			fmt.Sprintf("%.1f", 100*float64(f.Exclusive.Instructions)/float64(max(m.Total.Instructions, 1))))
	}
	t.Write(a.stdout, "  ")
}
