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
			commit := ""
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						commit = s.Value
					}
				}
			}
			if asJSON {
				return json.NewEncoder(a.stdout).Encode(map[string]string{
					"version": version, "commit": commit, "go": runtime.Version()})
			}
			// Twelve digits are what git itself abbreviates a large repository's
			// to.
			if len(commit) > 12 {
				commit = commit[:12]
			}
			if commit != "" {
				commit = " (" + commit + ")"
			}
			_, err := fmt.Fprintf(a.stdout, "alleria %s%s %s\n", version, commit, runtime.Version())
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
