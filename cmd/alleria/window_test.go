package main

import (
	"io"
	"strings"
	"testing"

	"alleria/analysis/live"
	"alleria/config"
)

// TestAnalysedWindow: a window of flags selects what the analyses count, unless a flag says otherwise.
func TestAnalysedWindow(t *testing.T) {
	for _, test := range []struct {
		analysis string
		window   windowFlags
		want     string
	}{
		{"methods", windowFlags{oneOff: config.OneOffOptions{Process: "1"}}, "any"},
		{"methods", windowFlags{oneOff: config.OneOffOptions{TillInstructions: "1M"}}, "any"},
		{"methods,cache", windowFlags{fields: "address"}, "any"},
		{"methods", windowFlags{oneOff: config.OneOffOptions{Select: "anyMem"}}, "anyMem"},
		{"heatmap", windowFlags{oneOff: config.OneOffOptions{Process: "1"}}, "anyMem"}, // counts accesses alone
		{"methods", windowFlags{}, "any"},
	} {
		specs, err := live.Parse(test.analysis)
		if err != nil {
			t.Fatal(err)
		}
		f := recordFlags{window: test.window}
		f.opts.Analyses = specs
		c, _, err := f.config(io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(c.XML()); !strings.Contains(text, ` cat="`+test.want+`"`) {
			t.Errorf("%s, %+v: %s is not what it selects:\n%s", test.analysis, test.window, test.want, text)
		}
	}
	// Captured calls stay as they are: they allow no selection.
	f := recordFlags{window: windowFlags{oneOff: config.OneOffOptions{Intercept: []string{"malloc"}}}}
	f.opts.Analyses, _ = live.Parse("methods")
	if _, _, err := f.config(io.Discard); err != nil {
		t.Error(err)
	}
}
