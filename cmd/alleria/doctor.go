package main

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"

	"alleria/internal/doctor"
)

// doctorCommand prints all findings also when one is bad: they often have one
// cause.
func (a *app) doctorCommand() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine allows, and what to do where it does not",
		Long: `doctor tries what recording needs: attaching to a child, executable memory files,
/proc, and room in the address space. It names the remedy for what is refused.
The exit status is 126 if recording cannot work here.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			findings := doctor.Examine()
			if asJSON {
				if err := a.printJSON(findings); err != nil {
					return err
				}
			} else {
				out := bufio.NewWriter(a.stdout)
				doctor.Print(out, findings)
				fmt.Fprintln(out, doctor.Summary(findings))
				if err := out.Flush(); err != nil {
					return err
				}
			}
			for _, f := range findings {
				if f.Verdict == doctor.Bad {
					return &statusError{statusNotTraced, fmt.Errorf("programs cannot be traced on this machine: %s", f.Found)}
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
