package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is the release; a build from version control adds its commit.
const version = "0.1.0"

// versionCommand prints the release and what it was built from.
// The commit is what the Go toolchain stamped into the binary; a build outside of a
// checkout, or with -buildvcs=false, has none.
func (a *app) versionCommand() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			commit := commitOf()
			if asJSON {
				return json.NewEncoder(a.stdout).Encode(map[string]string{
					"version": version, "commit": commit, "go": runtime.Version()})
			}
			_, err := fmt.Fprintln(a.stdout, versionLine())
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// commitOf is the commit that the binary was built from, "" if it does not know.
func commitOf() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return ""
}

// versionLine is what version prints, and the root's --version.
func versionLine() string {
	commit := commitOf()
	// Twelve digits are what git itself abbreviates a large repository's to.
	if len(commit) > 12 {
		commit = commit[:12]
	}
	if commit != "" {
		commit = " (" + commit + ")"
	}
	return fmt.Sprintf("alleria %s%s %s", version, commit, runtime.Version())
}
