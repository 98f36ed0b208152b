package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/spf13/cobra"

	"alleria/abp"
	"alleria/analysis/live"
)

// statusProblems is verify's status for a profile that is not as it should be,
// as grep's and diff's: the command worked, the answer is no.
const statusProblems = 1

// problemLine is a line of verify --json.
// Offset is where in the file the section or frame begins, 0 where the problem is
// the file's as a whole.
type problemLine struct {
	Profile string `json:"profile"`
	Path    string `json:"path"`
	Offset  uint64 `json:"offset"`
	CutOff  bool   `json:"cut_off"`
	Text    string `json:"text"`
}

// verifyCommand checks all profiles before it gives its verdict.
//
// A profile that was cut off (a killed tracer, a full disk) has problems by this
// command's measure although it can be read up to there: they are told apart by
// cut_off, and both give status 1.
func (a *app) verifyCommand() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "verify PROFILE...",
		Short: "Read everything in a profile and check that it is sound",
		Long: `verify reads every section and entry and reports what is damaged, and what is
missing because the recording was cut off. The exit status is 1 if there is
anything to report.`,
		Args: someProfiles,
		RunE: func(_ *cobra.Command, args []string) error {
			found := []problemLine{}
			for _, path := range args {
				// A misspelt name is a usage error and not a profile that is cut off.
				if _, err := os.Stat(path); err != nil {
					return &statusError{statusUsage, err}
				}
				// All paths are gone through: damage in one says nothing of the
				// next.
				report := func(p abp.Problem) {
					found = append(found, problemLine{path, p.Path, p.Offset, p.CutOff, p.Text})
				}
				if err := errors.Join(a.verify(path, report), live.Verify(path, report)); err != nil {
					return &statusError{statusUsage, err}
				}
			}
			// An empty list too: null would be another type to whoever parses it.
			if asJSON {
				if err := a.printJSON(found); err != nil {
					return err
				}
			} else {
				if err := a.printProblems(args, found); err != nil {
					return err
				}
			}
			if len(found) > 0 {
				return &statusError{status: statusProblems}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// verify verifies one path, with progress on a terminal.
func (a *app) verify(path string, report func(abp.Problem)) error {
	var done, total atomic.Uint64
	stop := a.showing("verifying", func() float64 { return float64(done.Load()) / float64(max(total.Load(), 1)) })
	defer stop()
	return abp.VerifyProgress(path, report, func(d, t uint64) {
		done.Store(d)
		total.Store(t)
	})
}

// printProblems writes a line for each problem, or that there is none.
// Problems are results and go to standard output, as a linter's do.
func (a *app) printProblems(paths []string, found []problemLine) error {
	out := bufio.NewWriter(a.stdout)
	for _, p := range found {
		kind := "damaged"
		if p.CutOff {
			kind = "cut off"
		}
		where := p.Path
		if p.Offset > 0 {
			where = fmt.Sprintf("%s at byte %d", p.Path, p.Offset)
		}
		fmt.Fprintf(out, "%s: %s: %s\n", where, kind, p.Text)
	}
	if len(found) == 0 && !a.quiet {
		for _, path := range paths {
			fmt.Fprintf(out, "%s is sound.\n", path)
		}
	}
	return out.Flush()
}
