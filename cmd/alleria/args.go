package main

import (
	"github.com/spf13/cobra"
)

// oneProfile is for commands that take a profile. Cobra's own words count arguments and do
// not say which.
func oneProfile(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("%s takes one profile, not %d", c.Name(), len(args))
	}
	return someProfiles(c, args)
}

// someProfiles is for those that take several.
func someProfiles(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("no profile is named: alleria %s", c.Use)
	}
	return nil
}
