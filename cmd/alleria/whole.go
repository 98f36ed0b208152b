//go:build !recorder

package main

import (
	"github.com/spf13/cobra"

	"alleria/internal/debuginfod"
	"alleria/internal/symbols"
)

// This is the whole command, with all there is; recorder.go has another form.

// elsewhere executes what has a command that is not in here: none.
func elsewhere([]string) error { return nil }

// fetcher gets separate debug files from where the environment says; nil: from nowhere.
func fetcher() symbols.Fetcher { return debuginfod.FromEnv() }

// subcommands makes the commands, each by its name.
func (a *app) subcommands(root *cobra.Command) []subcommand {
	return []subcommand{
		{"record", a.recordCommand}, {"check", a.checkCommand}, {"schema", a.schemaCommand}, {"new", a.newCommand}, {"functions", a.functionsCommand},
		{"explain", a.explainCommand}, {"report", a.reportCommand}, {"dump", a.dumpCommand}, {"heatmap", a.heatmapCommand}, {"convert", a.convertCommand},
		{"windows", a.windowsCommand}, {"intercepts", a.interceptsCommand}, {"replay", a.replayCommand}, {"tree", a.treeCommand}, {"ps", a.psCommand},
		{"verify", a.verifyCommand}, {"analyze", a.analyzeCommand}, {"annotate", a.annotateCommand}, {"histobin", a.histobinCommand}, {"diff", a.diffCommand},
		{"doctor", a.doctorCommand}, {"cache", a.keptCommand}, {"bench", a.benchCommand}, {"version", a.versionCommand},
		{"man", func() *cobra.Command { return a.manCommand(root) }},
	}
}
