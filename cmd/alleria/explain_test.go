package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"alleria/config"
)

func TestExplainCommand(t *testing.T) {
	status, out, _ := command(t, "explain")
	for _, name := range config.ElementNames() {
		if status != 0 || !strings.Contains(out, "\n  "+name+" ") {
			t.Errorf("%s is not listed: %d", name, status)
		}
	}
	for _, c := range []struct {
		args   string
		status int
		says   []string
	}{
		{"Call", 0, []string{"Call\n", "Attributes", "threshold", "Example", "<Call name="}},
		{"Call Image", 0, []string{"Call\n", "\nImage\n"}},
		{"Instruction.sample", 0, []string{"sample of Instruction", "1/100"}},
		{"anyThread", 0, []string{"anyThread of Accesses", "anyThread of Instructions", "false if absent"}},
		{"tuner Call", 0, []string{"record --tuner\n", "When to turn it", "\nCall\n"}},
		{"Call Widnow", 2, []string{"Window"}},
		{"Call.treshold", 2, []string{"Call has no attribute", "threshold"}},
		{"timestamp", 2, []string{"the attribute timeStamp"}},
	} {
		status, out, errs := command(t, append([]string{"explain"}, strings.Fields(c.args)...)...)
		for _, s := range c.says {
			if status != c.status || !strings.Contains(out+errs, s) || (status == 0) != (errs == "") || (status == 0) == (out == "") {
				t.Errorf("explain %s: %d %q %q, want %q", c.args, status, out, errs, s)
			}
		}
	}
}

// TestExplainKnobs: each flag of the pool is explained, by a name that record has and no element or attribute.
func TestExplainKnobs(t *testing.T) {
	var p poolFlags
	fl := pflag.NewFlagSet("record", pflag.ContinueOnError)
	p.register(fl)
	fl.VisitAll(func(f *pflag.Flag) {
		if explainKnob(f.Name) == "" {
			t.Errorf("--%s is not explained", f.Name)
		}
		if _, err := config.ExplainElement(f.Name); err == nil {
			t.Errorf("%s is an element or an attribute as well", f.Name)
		}
	})
	for name := range knobs() {
		if fl.Lookup(name) == nil {
			t.Errorf("%s is no flag of record's", name)
		}
	}
}
