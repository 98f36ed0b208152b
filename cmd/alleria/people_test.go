package main

import (
	"fmt"
	"strings"
	"testing"

	"alleria/analysis"
	"alleria/analysis/openings"
)

// TestWindowsSummary compares the summary with what the list of openings says.
func TestWindowsSummary(t *testing.T) {
	run := syntheticRun(t)
	list := decode[[]openings.Opening](t, "windows", "--json", run)
	all := decode[[]openings.Summary](t, "windows", "--summary", "--json", run)
	if len(all) != 3 {
		t.Fatalf("%+v", all)
	}
	for _, s := range all {
		n, longest := 0, 0.0
		for _, o := range list {
			if o.Window == s.Window {
				n++
				if o.Closed != nil {
					longest = max(longest, o.Closed.Seconds-o.Seconds)
				}
			}
		}
		if s.Openings != n || (s.Seconds == nil) != (longest == 0) || s.Seconds != nil && (s.Seconds.Max != longest || s.Seconds.Median > s.Seconds.Max || s.Seconds.Min > s.Seconds.Median) {
			t.Errorf("%+v: %d openings, the longest %g s", s, n, longest)
		}
	}
	if _, out, _ := command(t, "windows", "--summary", run); !strings.Contains(out, "openings") || strings.Count(out, "\n") != 4 {
		t.Errorf("as text:\n%s", out)
	}
}

// TestCountsKnown: of which openings and closings there is no count, and that the commands say so.
func TestCountsKnown(t *testing.T) {
	var k openings.Counted
	k.Note(&analysis.WindowOpening{Closed: &analysis.WindowOpening{}}) // the start and the end of the process
	k.Note(&analysis.WindowOpening{Thread: 1, Instructions: 5, Closed: &analysis.WindowOpening{Thread: 1, Instructions: 9}})
	k.Note(&analysis.WindowOpening{Thread: 2})
	if k.Moments != 5 || k.Unknown != 2 {
		t.Errorf("%+v", k)
	}
	run := syntheticRun(t)
	unknown := 0
	for _, o := range decode[[]openings.Opening](t, "windows", "--json", run) {
		if o.Thread != 0 && o.Instructions == 0 {
			unknown++
		}
		if o.Closed != nil && o.Closed.Instructions == 0 {
			unknown++
		}
	}
	for _, flag := range []string{"--json", "--summary", "--json=false"} {
		_, _, errs := command(t, "windows", flag, run)
		if said := strings.Contains(errs, fmt.Sprintf("no count of instructions for %d of", unknown)); said != (unknown > 0) {
			t.Errorf("%s: %d unknown: %s", flag, unknown, errs)
		}
	}
}

// TestMisspeltFlags, completion of values, and a directory that is no profile.
func TestMisspeltFlags(t *testing.T) {
	run := syntheticRun(t)
	for line, want := range map[string]string{
		"record --onlly count -- true": "did you mean --only?",
		"report --funtion main x":      "did you mean --function?",
		"report --qqqqqqqqqq x":        "alleria report --help lists the flags",
		"report " + t.TempDir():        "not a profile: there is neither run.json nor main.abp in it",
		"report people_test.go":        "not a profile",
	} {
		if status, _, errs := command(t, strings.Fields(line)...); status != 2 || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s", line, status, errs)
		}
	}
	for line, want := range map[string]string{
		"record --only c":                        "count\n",
		"record --fields time,a":                 "time,address\ntime,all\n",
		"record --fields time,t":                 ":4\n",
		"record --analysis methods,call":         "methods,callgraph\nmethods,calltree\n",
		"record --follow t":                      "threads\n",
		"record --max-size ":                     ":4\n",
		"record --output ":                       ":16\n",
		"record --config ":                       ":0\n",
		"record --on-call wo":                    "_activeHelp_ Name the program or profile first",
		"record --on-":                           "--on-call\topen the window when this function is entered",
		"functions --sort s":                     "size\n",
		"dump --syntax ":                         "intel\natt\n",
		"windows " + run + " --window co":        "copying\n",
		"report " + run + " --function demo::wo": "demo::work\n",
	} {
		words := strings.Split(line, " ")
		if _, out, _ := command(t, append([]string{"__complete"}, words...)...); !strings.HasPrefix(out, want) {
			t.Errorf("%s: %q", line, out)
		}
	}
}
