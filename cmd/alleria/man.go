package main

import "github.com/spf13/cobra"

// manCommand makes the manual pages out of the same texts as --help, so that
// there is no second place to keep up to date.
func (a *app) manCommand(root *cobra.Command) *cobra.Command {
	dir := ""
	c := &cobra.Command{
		Use:   "man [COMMAND]",
		Short: "Print a manual page, or write all of them into a directory",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if dir != "" {
				return manPages(dir, root)
			}
			page := root
			if len(args) == 1 {
				found, _, err := root.Find(args)
				if err != nil || found == root { // Find answers with the root for what it does not know
					return usagef("no command %q", args[0])
				}
				page = found
			}
			return manPage(a.stdout, page)
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "write a page for each command into this `directory`")
	return c
}
