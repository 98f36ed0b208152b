package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand makes the manual pages out of the same texts as --help, so that
// there is no second place to keep up to date.
// The pages are in mdoc's older sibling man(7), which every system can show.
func (a *app) manCommand(root *cobra.Command) *cobra.Command {
	dir := ""
	c := &cobra.Command{
		Use:   "man [COMMAND]",
		Short: "Print a manual page, or write all of them into a directory",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			header := &doc.GenManHeader{Section: "1", Source: "alleria " + version, Manual: "alleria"}
			root.DisableAutoGenTag = true // a date would make each build differ
			if dir != "" {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					return fmt.Errorf("manual pages: %w", err)
				}
				return doc.GenManTree(root, header, dir)
			}
			page := root
			if len(args) == 1 {
				found, _, err := root.Find(args)
				if err != nil || found == root { // Find answers with the root for what it does not know
					return usagef("no command %q", args[0])
				}
				page = found
			}
			return doc.GenMan(page, header, a.stdout)
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "write a page for each command into this `directory`")
	return c
}
